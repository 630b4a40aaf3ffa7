// What a file of fields holds, for the eye: short whatever the file says.
#include "htfm/page/field_list_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace htfm {
namespace {

std::vector<ListedFields> kinds(size_t count) {
  std::vector<ListedFields> out(count);
  for (size_t k = 0; k < count; ++k) out[k].name = "v" + std::to_string(k), out[k].count = 2;
  return out;
}

TEST(FieldListText, NamesEveryKindWhereTheyAreFew) {
  const std::string text = field_list_text(kinds(500), "a.nc", false);
  EXPECT_NE(text.find("a.nc: 1000 fields of 500 kinds\n"), text.npos);
  EXPECT_NE(text.find("v499"), text.npos);
  EXPECT_EQ(text.find("more kinds"), text.npos);
  EXPECT_TRUE(field_list_text(kinds(1), "a.nc", false).starts_with("a.nc: 2 fields of 1 kind\n"));
}

TEST(FieldListText, SaysHowManyKindsItLeavesOut) {
  const std::string text = field_list_text(kinds(100'000), "a.nc", false);
  EXPECT_NE(text.find("a.nc: 200000 fields of 100000 kinds\n"), text.npos);
  EXPECT_NE(text.find("and 99500 more kinds (--json lists all)\n"), text.npos);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 510);
}

TEST(FieldListText, SaysOneReasonOnce) {
  std::vector<ListedFields> list = kinds(300);
  for (size_t k = 0; k < 300; ++k) list[k].text = list[k].name + "(y 2, x 3)", list[k].problem = "a grid of no use";
  list[299].problem = "another";
  const std::string text = field_list_text(list, "a.nc", false);
  EXPECT_NE(text.find("v0(y 2, x 3) and 298 more: a grid of no use\nv299(y 2, x 3): another\n"), text.npos) << text;
}

}  // namespace
}  // namespace htfm
