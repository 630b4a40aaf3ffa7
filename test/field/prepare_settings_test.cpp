// The settings of a prepared set by name, as the command line, TOML files and Python give them.
#include "htfm/field/prepare_settings.h"

#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

std::string refusal(const PrepareValues& values) {
  try {
    make_prepare_spec(values);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(PrepareSettings, ChangeARecipe) {
  const PrepareSpec plain = make_prepare_spec({{"recipe", {"mrms"}}});
  EXPECT_EQ(plain.recipe, "mrms");
  EXPECT_EQ(plain.tiles, 128);
  const PrepareSpec spec = make_prepare_spec({{"recipe", {"mrms"}},
                                              {"size", {"64"}},
                                              {"centre", {"48.5", "-11"}},
                                              {"train", {"2019,2020"}},
                                              {"threshold", {"0"}},
                                              {"interval", {"7.5"}},
                                              {"resume", {"true"}}});
  EXPECT_EQ(spec.height, 64);
  EXPECT_EQ(spec.width, 64);
  EXPECT_EQ(spec.tiles, 0) << "a window that is named takes the place of the recipe's";
  ASSERT_TRUE(spec.centre.has_value());
  EXPECT_EQ(spec.centre->latitude, 48.5);
  EXPECT_EQ(spec.centre->longitude, -11);
  EXPECT_EQ(spec.train, "2019,2020") << "a text with a comma stays one";
  EXPECT_FALSE(spec.transform.threshold.has_value());
  EXPECT_EQ(spec.interval, 450);
  EXPECT_TRUE(spec.resume);
  EXPECT_FALSE(spec.skip_damaged);
}

TEST(PrepareSettings, ListsMayStandInOneText) {
  const PrepareSpec spec = make_prepare_spec({{"variable", {"tp,2t"}}, {"size", {"8,16"}}, {"level", {"500"}}});
  ASSERT_EQ(spec.channels.size(), 2u);
  EXPECT_EQ(spec.channels[1].name, "2t");
  EXPECT_EQ(spec.channels[0].level, 500);
  EXPECT_EQ(spec.height, 8);
  EXPECT_EQ(spec.width, 16);
}

TEST(PrepareSettings, ScoresReachFarWhereNothingIsSaid) {
  const PrepareValues scores{{"recipe", {"mrms"}}, {"transform", {"scores"}}};
  EXPECT_EQ(make_prepare_spec(scores).transform.reach, 512);
  PrepareValues drawn = scores;
  drawn["dry-reach"] = {"0"};
  EXPECT_EQ(make_prepare_spec(drawn).transform.reach, 0);
}

TEST(PrepareSettings, RefuseWhatMakesNoSense) {
  EXPECT_EQ(refusal({{"size", {"0"}}}), "[size] expected a whole number above 0, got '0'");
  EXPECT_EQ(refusal({{"tiles", {"1.5"}}}), "[tiles] expected a whole number above 0, got '1.5'");
  EXPECT_EQ(refusal({{"box", {"1", "2", "3"}}}), "[box] expected 4 values, got 3");
  EXPECT_EQ(refusal({{"box", {"0", "0", "120", "20"}}}),
            "[box] expected latitudes from -90 to 90 before longitudes from -360 to 360, got 120, 20");
  EXPECT_EQ(refusal({{"centre", {"-100", "40"}}}),
            "[centre] expected latitudes from -90 to 90 before longitudes from -360 to 360, got -100, 40");
  EXPECT_EQ(refusal({{"size", {"1", "2", "3"}}}), "[size] expected 1 to 2 values, got 3");
  EXPECT_EQ(refusal({{"level", {"high"}}}), "[level] expected a number, got 'high'");
  EXPECT_EQ(refusal({{"dry-reach", {"40000"}}}), "[dry-reach] expected a number from 0 to 32767, got '40000'");
  EXPECT_EQ(refusal({{"score-law", {"gauss"}}}), "[score-law] expected one of normal, logistic; got 'gauss'");
  EXPECT_EQ(refusal({{"resume", {"yes"}}}), "[resume] expected true or false, got 'yes'");
  EXPECT_EQ(refusal({{"recipe", {"none"}}}), "[recipe] expected one of hrrr-vil, mrms; got 'none'");
  EXPECT_NE(refusal({{"code", {"1/2"}}}).find("[code] expected discipline/category/number"), std::string::npos);
  EXPECT_NE(refusal({{"colour", {"3"}}}).find("[prepare] expected one of recipe, variable"), std::string::npos);
}

TEST(PrepareSettings, ComeFromAFile) {
  const test::TemporaryFolder folder;
  test::spill(folder / "p.toml", "recipe = \"mrms\"\nsize = [8, 16]\nmask_below = 0\nskip_damaged = true\n");
  const PrepareValues values = read_prepare_values(folder / "p.toml");
  EXPECT_EQ(values.at("mask-below"), std::vector<std::string>{"0"});
  const PrepareSpec spec = make_prepare_spec(values);
  EXPECT_EQ(spec.width, 16);
  EXPECT_TRUE(spec.skip_damaged);
}

}  // namespace
}  // namespace htfm
