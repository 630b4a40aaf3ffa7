#include "htfm/schedule/schedule.h"

#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "test/schedule/affine_target.h"

namespace htfm {
namespace {

std::vector<std::pair<std::string, std::unique_ptr<Schedule>>> all() {
  std::vector<std::pair<std::string, std::unique_ptr<Schedule>>> out;
  for (const ScheduleInfo& s : schedules())
    if (auto made = make_schedule({.name = s.name}); !made->depends_on_clock())
      out.emplace_back(s.name, std::move(made));
  out.emplace_back("polynomial 1.5", make_schedule({.name = "polynomial", .gamma = 1.5}));
  out.emplace_back("ve 1000", make_schedule({.name = "ve", .ratio = 1000}));
  return out;
}

TEST(Schedule, EndpointsOfAnAffinePath) {
  for (const auto& [name, s] : all()) {
    const Coefficients a = s->at(0), b = s->at(1);
    EXPECT_NEAR(a.alpha, 0, 1e-14) << name;
    EXPECT_NEAR(a.beta, 1, 1e-14) << name;
    EXPECT_NEAR(b.alpha, 1, 1e-14) << name;
    EXPECT_NEAR(b.beta, 0, 1e-14) << name;
    for (double t = 0; t < 1; t += 0.01) EXPECT_GT(s->at(t).beta, 0) << name << " at " << t;
  }
}

// Central differences have an error of h^2 times the third derivative, here below 1e4, and rounding of 1e-16 / h.
TEST(Schedule, DerivativeEqualsFiniteDifference) {
  constexpr double h = 1e-5;
  for (const auto& [name, s] : all())
    for (double t = 0.01; t < 0.99; t += 0.0173) {
      const Coefficients c = s->at(t), up = s->at(t + h), down = s->at(t - h);
      EXPECT_NEAR(c.dalpha, (up.alpha - down.alpha) / (2 * h), 2e-6) << name << " at " << t;
      EXPECT_NEAR(c.dbeta, (up.beta - down.beta) / (2 * h), 2e-6) << name << " at " << t;
    }
}

TEST(Schedule, TargetIsThePathsDerivative) {
  const double x0 = -1.7, x1 = 0.4;
  for (const auto& [name, s] : all())
    for (double t = 0.05; t < 0.95; t += 0.09) {
      const Coefficients c = s->at(t);
      const double x = c.alpha * x1 + c.beta * x0;
      EXPECT_NEAR(test::affine_target(c, x, x1), c.dalpha * x1 + c.dbeta * x0, 1e-10) << name;
    }
}

TEST(Schedule, StraightLineTargetOfThePaper) {
  const auto s = make_schedule({.name = "straight"});
  EXPECT_NEAR(test::affine_target(s->at(0.25), 2.0, 5.0), (5.0 - 2.0) / 0.75, 1e-14);
  const auto p = make_schedule({.name = "polynomial", .gamma = 3});
  EXPECT_NEAR(test::affine_target(p->at(0.25), 2.0, 5.0), 3.0 / 0.75 * (5.0 - 2.0), 1e-12);
}

TEST(Schedule, UnknownNameAndParametersAreNamed) {
  try {
    make_schedule({.name = "straigth"});
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("path.schedule"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("straight"), std::string::npos);
  }
  EXPECT_THROW(make_schedule({.name = "polynomial", .gamma = 0.5}), InputError);
  EXPECT_THROW(make_schedule({.name = "ve", .ratio = 1}), InputError);
}

}  // namespace
}  // namespace htfm
