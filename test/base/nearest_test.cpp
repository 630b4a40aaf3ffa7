// Distances between words against the plain table, and the name that is meant.
#include "htfm/base/nearest.h"

#include <gtest/gtest.h>

#include "htfm/base/random.h"

namespace htfm {
namespace {

size_t plain_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0)
        d[i][j] = i + j;
      else
        d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
    }
  return d[a.size()][b.size()];
}

TEST(Nearest, DistanceEqualsThePlainOneUpToItsLimit) {
  const Key key(1);
  uint64_t drawn = 0;
  const auto word = [&] {
    std::string w(key.below(9, drawn++), ' ');
    for (char& c : w) c = "abc"[key.below(3, drawn++)];
    return w;
  };
  for (int k = 0; k < 20000; ++k) {
    const std::string a = word(), b = word();
    const size_t most = key.below(7, drawn++);
    ASSERT_EQ(edit_distance(a, b, most), std::min(plain_distance(a, b), most + 1)) << a << " " << b << " " << most;
  }
}

TEST(Nearest, NoNearerNameIsPassedOver) {
  const Key key(2);
  uint64_t drawn = 0;
  const auto word = [&] {
    std::string w(1 + key.below(7, drawn++), ' ');
    for (char& c : w) c = "abcdefghAz.-"[key.below(12, drawn++)];
    return w;
  };
  for (int k = 0; k < 5000; ++k) {
    const std::string asked = word();
    const std::vector<std::string> names{word(), word(), word(), word()};
    const size_t most = key.below(6, drawn++);
    size_t least = most + 1;
    for (const std::string& name : names) least = std::min(least, plain_distance(asked, name));
    const std::string found = nearest_name(asked, names, most);
    ASSERT_EQ(found.empty(), least > most) << asked;
    if (found.empty()) continue;
    ASSERT_EQ(plain_distance(asked, found), least) << asked << " " << found;
  }
}

TEST(Nearest, NameIsTheNearestWithinTheLimit) {
  const std::vector<std::string> names{"train", "tails", "trail"};
  EXPECT_EQ(nearest_name("trian", names, 3), "train");
  EXPECT_EQ(nearest_name("trail", names, 3), "trail");
  EXPECT_EQ(nearest_name("prepare", names, 3), "");
}

}  // namespace
}  // namespace htfm
