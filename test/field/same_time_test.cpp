// Messages of one time that differ in something: what it is, and what chooses one of them.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "htfm/field/prepare.h"
#include "test/field/support.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using namespace test;

using Keys = std::vector<std::pair<const char*, long>>;

// What is said of a file with a message for each of these.
std::string refusal(std::initializer_list<Keys> messages, long edition = 2) {
  const TemporaryFolder folder;
  long k = 0;
  for (const Keys& keys : messages) {
    GribSpec s{.grid = "regular_ll", .width = 4, .height = 3, .edition = edition};
    s.more = keys;
    s.value = [k](long j, long i) { return static_cast<double>(j + i + 10 * k); };
    ++k;
    write_grib(folder / "f.grib", s);
  }
  PrepareSpec spec;
  spec.channels = {{}};
  return input_error([&] { prepare_fields({folder / "f.grib"}, spec, folder / "set"); });
}

TEST(SameTime, TheKeyAndTheCommandAreNamed) {
  const auto aerosol = [](long wavelength) -> Keys {
    return {{"productDefinitionTemplateNumber", 48},
            {"scaleFactorOfFirstWavelength", 9},
            {"scaledValueOfFirstWavelength", wavelength}};
  };
  EXPECT_MENTIONS(refusal({aerosol(355), aerosol(550)}),
                  "f.grib: expected one field for 'any field' at 2019-06-10 12:00, got several: ");
  EXPECT_MENTIONS(
      refusal({aerosol(355), aerosol(550)}),
      "(they differ in scaledValueOfFirstWavelength (355, 550): choose one with ecCodes first, grib_copy -w "
      "scaledValueOfFirstWavelength=355 ");
  const std::string constituents = refusal({{{"productDefinitionTemplateNumber", 40}, {"constituentType", 1}},
                                            {{"productDefinitionTemplateNumber", 40}, {"constituentType", 5}}});
  EXPECT_MENTIONS(constituents, "they differ in constituentType (");  // by the words of ecCodes' table
  EXPECT_MENTIONS(constituents, "): choose one with ecCodes first, grib_copy -w constituentType=");
  // The key that tells most of them apart goes first, and at most four of its values are listed.
  const auto probability = [](long scale, long limit) -> Keys {
    return {{"productDefinitionTemplateNumber", 5},
            {"probabilityType", 1},
            {"scaleFactorOfUpperLimit", scale},
            {"scaledValueOfUpperLimit", limit}};
  };
  EXPECT_MENTIONS(
      refusal({probability(0, 1), probability(0, 5), probability(1, 12), probability(1, 13), probability(1, 14)}),
      "they differ in scaledValueOfUpperLimit (1, 5, 12, 13, ...), scaleFactorOfUpperLimit (0, 1): choose one with "
      "ecCodes first, grib_copy -w scaledValueOfUpperLimit=1 ");
}

TEST(SameTime, AnOptionIsNamedWhereThereIsOne) {
  const auto level = [](long type, long value) -> Keys {
    return {{"typeOfFirstFixedSurface", type},
            {"scaleFactorOfFirstFixedSurface", 0},
            {"scaledValueOfFirstFixedSurface", value}};
  };
  EXPECT_MENTIONS(refusal({level(100, 50000), level(100, 85000)}),
                  "they differ in level (500, 850): --level 500 chooses one");
  EXPECT_MENTIONS(refusal({level(100, 50000), level(103, 2)}),
                  "they differ in type of level (isobaricInhPa, heightAboveGround): --level-type isobaricInhPa chooses "
                  "one");
  // Valid at one time, from two analyses.
  EXPECT_MENTIONS(refusal({{{"dataTime", 0}, {"forecastTime", 12}}, {{"dataTime", 600}, {"forecastTime", 6}}}),
                  "they differ in step (12, 6): --step 12 chooses one");
}

TEST(SameTime, EditionOneAndTheSameTwice) {
  EXPECT_MENTIONS(refusal({{{"generatingProcessIdentifier", 1}}, {{"generatingProcessIdentifier", 2}}}, 1),
                  "they differ in generatingProcessIdentifier (1, 2): choose one with ecCodes first, grib_copy -w "
                  "generatingProcessIdentifier=1 ");
  for (const long edition : {1L, 2L})
    EXPECT_MENTIONS(refusal({{}, {}}, edition),
                    "they say the same of themselves: if the file has this time twice, leave one out");
}

}  // namespace
}  // namespace htfm
