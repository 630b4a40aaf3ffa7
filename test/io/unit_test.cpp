// Units that mean the same whatever program wrote them.
#include "htfm/io/unit.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace htfm {
namespace {

TEST(Unit, OneUnitIsWrittenInManyWays) {
  for (const auto& [a, b] : {std::pair<std::string, std::string>{"kg m**-2", "kg m-2"},
                             {"kg m-2 s-1", "kg/m2/s"},
                             {"kg m^-2 s^-1", "kg.m-2.s-1"},
                             {"kg*m**-2", "m-2 kg"},
                             {"mm/h", "mm hr-1"},
                             {"mm/hour", "mm h**-1 "},
                             {"K", "kelvin"},
                             {"degC", "Celsius"},
                             {"hPa", "millibars"},
                             {"1", "(0 - 1)"},
                             {"Weird unit #3", "Weird unit #3"}}) {
    EXPECT_TRUE(is_same_unit(a, b)) << a << ", " << b;
    EXPECT_TRUE(is_same_unit(b, a)) << a << ", " << b;
  }
}

TEST(Unit, OthersDiffer) {
  for (const auto& [a, b] : {std::pair<std::string, std::string>{"Pa", "hPa"},
                             {"m s-1", "mm h-1"},
                             {"m s-1", "m s-2"},
                             {"mm", "Mm"},
                             {"K", "degC"},
                             {"m/s", "s/m"},
                             {"m", ""},
                             {"Weird unit #3", "Weird unit #4"}}) {
    EXPECT_FALSE(is_same_unit(a, b)) << a << ", " << b;
    EXPECT_FALSE(is_same_unit(b, a)) << a << ", " << b;
  }
}

TEST(Unit, SomeSayNothing) {
  for (const char* unit : {"", "~", "unknown"}) EXPECT_TRUE(is_no_unit(unit));
  EXPECT_FALSE(is_no_unit("1"));
}

}  // namespace
}  // namespace htfm
