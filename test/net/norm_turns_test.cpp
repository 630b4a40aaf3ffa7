// The order of two passes over the samples of a batch.
#include "htfm/net/norm_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace htfm {
namespace {

// The number of the turn of every part in either pass; each comes once.
struct Numbers {
  explicit Numbers(const Turns& t) : first(t.samples * t.parts, -1), second(first) {
    for (unsigned k = 0; k < t.count(); ++k) {
      const Turn turn = turn_at(t, k);
      int& number = (turn.second ? second : first)[static_cast<size_t>(turn.sample * t.parts + turn.part)];
      EXPECT_EQ(number, -1) << "turn " << k;
      number = static_cast<int>(k);
    }
  }
  std::vector<int> first, second;
};

TEST(NormTurns, EachPartComesOnceInEitherPassAndTheFirstPassIsOverBefore) {
  for (const int samples : {1, 2, 7, 100})
    for (const int parts : {1, 3, 16})
      for (int lag = 1; lag <= samples; ++lag) {
        const Turns turns{samples, parts, lag};
        const Numbers n(turns);
        for (int s = 0; s < samples; ++s) {
          const auto from = s * parts, to = from + parts;
          const int last = *std::max_element(n.first.begin() + from, n.first.begin() + to),
                    next = *std::min_element(n.second.begin() + from, n.second.begin() + to);
          ASSERT_GE(*std::min_element(n.first.begin() + from, n.first.begin() + to), 0);
          ASSERT_GT(next, last) << samples << " samples, " << parts << " parts, lag " << lag << ", sample " << s;
          // So many turns lie between that as many blocks do not wait for each other.
          if (s + lag < samples) {
            ASSERT_GT(next - last, lag * parts);
          }
        }
      }
}

}  // namespace
}  // namespace htfm
