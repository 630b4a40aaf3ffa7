// What every family promises, whatever its law, and what the registry says to wrong specifications.
#include <gtest/gtest.h>

#include <set>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/clock/clock.h"

namespace htfm {
namespace {

// A specification with each parameter in the middle of its interval, or a little above its lower end.
ClockSpec some_spec(const ClockFamily& family, int grid) {
  ClockSpec spec{family.name, {}, grid};
  if (family.name == "fitted") spec.table = {0.9, 1, -1, 0.5, 0, 0.1, 2};
  for (const ClockParameter& p : family.parameters)
    spec.parameters[p.name] = std::isfinite(p.upper) ? p.lower + 0.75 * (p.upper - p.lower) : p.lower + 1.7;
  return spec;
}

void for_families(const std::function<void(const Clock&)>& body) {
  ASSERT_FALSE(clock_families().empty());
  for (const ClockFamily& family : clock_families())
    for (const int grid : {1, 7, 200}) {
      if (family.name == "auto") continue;  // stands for another family
      const ClockSpec spec = some_spec(family, grid);
      SCOPED_TRACE(spec.describe());
      const auto clock = make_clock(spec);
      EXPECT_EQ(clock->spec().describe(), spec.describe());
      body(*clock);
    }
}

bool same(const ClockSample& a, const ClockSample& b) {
  return a.area.equal(b.area) && a.end.equal(b.end) && a.paths.equal(b.paths);
}

TEST(EveryFamily, DrawsNondecreasingPathsFromZero) {
  for_families([](const Clock& clock) {
    const int64_t n = 500, points = clock.grid() + 1;
    const ClockSample sample = clock.sample(Key(1), {.count = n});
    ASSERT_EQ(sample.paths.sizes(), (std::vector{n, points}));
    ASSERT_EQ(sample.area.sizes(), std::vector{n});
    ASSERT_EQ(sample.end.sizes(), std::vector{n});
    for (int64_t i = 0; i < n; ++i) {
      const double* path = sample.paths.const_data_ptr<double>() + i * points;
      ASSERT_EQ(path[0], 0);
      ASSERT_TRUE(std::is_sorted(path, path + points));
      ASSERT_EQ(path[points - 1], sample.end.const_data_ptr<double>()[i]);
      ASSERT_TRUE(std::isfinite(path[points - 1]));
      const double area = sample.area.const_data_ptr<double>()[i];
      ASSERT_TRUE(area > 0 && std::isfinite(area));
    }
  });
}

TEST(EveryFamily, DrawsTheSameAreaWithoutPaths) {
  for_families([](const Clock& clock) {
    const ClockSample with = clock.sample(Key(2), {.count = 300}),
                      without = clock.sample(Key(2), {.count = 300, .paths = false});
    EXPECT_FALSE(without.paths.defined());
    EXPECT_TRUE(with.area.equal(without.area));
    EXPECT_TRUE(with.end.equal(without.end));
  });
}

TEST(EveryFamily, DrawsPartsThatAgreeWithTheWhole) {
  for_families([](const Clock& clock) {
    const ClockSample whole = clock.sample(Key(3), {.count = 300});
    for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {1, 5}, {63, 130}, {299, 1}, {17, 0}}) {
      const ClockSample part = clock.sample(Key(3), {.count = count, .first = first});
      EXPECT_TRUE(same(part, {whole.area.slice(0, first, first + count), whole.end.slice(0, first, first + count),
                              whole.paths.slice(0, first, first + count)}))
          << first << ' ' << count;
    }
  });
}

TEST(EveryFamily, DrawsTheSameWithAnyNumberOfThreads) {
  for_families([](const Clock& clock) {
    set_thread_count(1);
    const ClockSample one = clock.sample(Key(4), {.count = 3000});
    for (const int threads : {2, 5}) {
      set_thread_count(threads);
      EXPECT_TRUE(same(one, clock.sample(Key(4), {.count = 3000}))) << threads;
    }
    set_thread_count(0);
  });
}

// Given the clock the source is normal with variance 2A, so E cos(xi X) = E exp(-xi^2 A).
TEST(EveryFamily, GivesTheSourceItsArea) {
  constexpr int64_t n = 200'000;
  for_families([](const Clock& clock) {
    const at::Tensor area = clock.sample(Key(5).child("clock"), {.count = n, .paths = false}).area;
    const at::Tensor x = sample_source(Key(5).child("source"), area, 1);
    for (const double xi : {0.5, 1.0, 3.0}) {
      double sum = 0, square = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double difference =
            std::cos(xi * x.const_data_ptr<double>()[i]) - std::exp(-xi * xi * area.const_data_ptr<double>()[i]);
        sum += difference, square += difference * difference;
      }
      EXPECT_NEAR(sum / n, 0, 4 * std::sqrt(square) / n) << xi;
    }
  });
}

TEST(EveryFamily, HasADistinctNameAndASummary) {
  std::set<std::string> names;
  for (const ClockFamily& family : clock_families()) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_FALSE(family.summary.empty()) << family.name;
    for (const ClockParameter& p : family.parameters) EXPECT_LT(p.lower, p.upper) << family.name << ' ' << p.name;
  }
}

std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no InputError";
}

TEST(EveryFamily, NamesTheParameterThatIsMissingOrOutOfRange) {
  for (const ClockFamily& family : clock_families())
    for (const ClockParameter& p : family.parameters) {
      const std::string key = "[clock." + p.name + "]";
      ClockSpec spec = some_spec(family, 10);
      for (const double wrong : {p.lower, p.lower - 1, p.upper, p.upper + 1, std::nan(""), -HUGE_VAL, HUGE_VAL}) {
        spec.parameters[p.name] = wrong;
        const std::string got = message([&] { make_clock(spec); });
        EXPECT_TRUE(got.starts_with(key)) << got;
        EXPECT_TRUE(got.ends_with(fmt::format("got {}", wrong))) << got;
      }
      spec.parameters.erase(p.name);
      const std::string got = message([&] { make_clock(spec); });
      EXPECT_TRUE(got.starts_with(key) && got.find(family.name) != std::string::npos && got.ends_with("got none"))
          << got;
    }
}

TEST(Registry, KnowsTheThreeFamiliesOfThePaper) {
  std::set<std::string> names;
  for (const ClockFamily& family : clock_families()) names.insert(family.name);
  for (const char* name : {"deterministic", "stable", "inverse-gamma"}) EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Registry, RefusesAFamilyThatNeedsData) {
  for (const ClockFamily& family : clock_families())
    if (family.from_data) {
      EXPECT_TRUE(message([&] { make_clock({family.name, {}, 10}); }).starts_with("[clock.family]")) << family.name;
    }
  EXPECT_THROW(make_clock({"fitted", {}, 10, {1, 1, 0, 2, 1}}), InputError);
}

TEST(Registry, NamesAnUnknownFamilyAndListsTheKnown) {
  const std::string got = message([] { make_clock({"gaussian", {}, 10}); });
  EXPECT_TRUE(got.starts_with("[clock.family]")) << got;
  EXPECT_NE(got.find("'gaussian'"), std::string::npos) << got;
  for (const ClockFamily& family : clock_families()) EXPECT_NE(got.find(family.name), std::string::npos) << got;
}

TEST(Registry, NamesAParameterOfAnotherFamily) {
  EXPECT_TRUE(message([] { make_clock({"deterministic", {{"alpha", 1.5}}, 10}); }).starts_with("[clock.alpha]"));
  EXPECT_TRUE(message([] { make_clock({"stable", {{"alpha", 1.5}, {"nu", 2}}, 10}); }).starts_with("[clock.nu]"));
  EXPECT_TRUE(message([] {
                make_clock({"inverse-gamma", {{"nu", 2}, {"alhpa", 1}}, 10});
              }).starts_with("[clock.alhpa]"));
}

TEST(Registry, NamesAGridOutOfRange) {
  for (const int grid : {0, -1, 1'000'001})
    EXPECT_TRUE(message([&] { make_clock({"deterministic", {}, grid}); }).starts_with("[clock.grid]"));
}

TEST(Registry, RefusesAnAlphaWhoseIncrementsUnderflow) {
  EXPECT_TRUE(message([] { make_clock({"stable", {{"alpha", 0.01}}, 200}); }).starts_with("[clock.alpha]"));
  EXPECT_NO_THROW(make_clock({"stable", {{"alpha", 0.02}}, 200}));
}

TEST(Registry, DescribesALawInOneLine) {
  EXPECT_EQ((ClockSpec{"stable", {{"alpha", 1.7}}, 200}).describe(), "stable(alpha=1.7), grid 200");
  EXPECT_EQ((ClockSpec{"deterministic", {}, 7}).describe(), "deterministic, grid 7");
  EXPECT_EQ((ClockSpec{"fitted", {}, 7, {1.15, 1, 0, 0.5, 1}}).describe(), "fitted(index 2.3), grid 7");
  EXPECT_EQ((ClockSpec{"fitted", {}, 7, {0, 1, 0, 0, 1}}).describe(), "fitted(light), grid 7");
}

TEST(Request, ChecksItsNumbers) {
  const auto clock = make_clock({});
  EXPECT_EQ(clock->sample(Key(1), {.count = 0}).paths.size(0), 0);
  EXPECT_THROW(clock->sample(Key(1), {.count = -1}), InputError);
  EXPECT_THROW(clock->sample(Key(1), {.count = 1, .first = -1}), InputError);
  EXPECT_THROW(clock->sample(Key(1), {.count = 1, .device = at::kMeta}), InputError);
}

}  // namespace
}  // namespace htfm
