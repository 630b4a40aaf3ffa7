// The tails of fields whose law is known.
#include "htfm/evaluate/field_tail.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/random.h"

namespace htfm {
namespace {

// Fields of 4 x 4 whose maximum is 1 + (U^-shape - 1) / shape, the other values smaller.
FieldSet fields_of_shape(double shape, int64_t n) {
  FieldSet set;
  set.fields = at::zeros({n, 1, 4, 4}, at::kFloat), set.held_out = at::zeros({n}, at::kByte);
  std::vector<double> u(static_cast<size_t>(n));
  fill_uniform(Key(7), 0, n, u.data());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < 16; ++k)
      set.fields.mutable_data_ptr<float>()[16 * i + k] = static_cast<float>(
          (1 + (std::pow(u[static_cast<size_t>(i)], -shape) - 1) / shape) / static_cast<double>(k + 1));
  return set;
}

TEST(FieldTail, AnUpperEndPointIsFound) {
  const FieldTail t = diagnose_field_tail(fields_of_shape(-0.3, 20000), 0);  // it ends at 1 + 1 / 0.3
  EXPECT_LT(t.interval.lower, -0.3);
  EXPECT_GT(t.interval.upper, -0.3);
  ASSERT_TRUE(t.end_point.has_value());
  EXPECT_NEAR(*t.end_point, 1 + 1 / 0.3, 0.15);
  EXPECT_NE(t.text("mm/h").find("with an upper end at about 4."), std::string::npos) << t.text("mm/h");
}

TEST(FieldTail, APowerLawHasNone) {
  const FieldTail t = diagnose_field_tail(fields_of_shape(0.4, 20000), 0);
  EXPECT_FALSE(t.end_point.has_value());
  EXPECT_LT(t.interval.lower, 0.4);
  EXPECT_GT(t.interval.upper, 0.4);
  EXPECT_NE(t.text().find("heavy"), std::string::npos);
}

TEST(FieldTail, ACapOfTheProductIsNamed) {
  FieldSet set = fields_of_shape(0.2, 4000);
  const double cap = std::get<0>(set.fields.flatten().sort())[set.fields.numel() * 9993 / 10000].item<double>();
  for (int64_t k = 0; k < set.fields.numel(); k += 3)
    if (float& v = set.fields.mutable_data_ptr<float>()[k]; v > cap) v = static_cast<float>(cap);
  const FieldTail t = diagnose_field_tail(set, 0);
  EXPECT_FLOAT_EQ(static_cast<float>(t.repeated), static_cast<float>(cap));
  EXPECT_GT(t.repeated_share, 0.1);
  EXPECT_NE(t.text().find("are exactly"), std::string::npos);
  EXPECT_NE(diagnose_field_tail(fields_of_shape(0.2, 50), 0).text().find("too few"), std::string::npos);
}

}  // namespace
}  // namespace htfm
