#include <gtest/gtest.h>

#include "htfm/base/random.h"
#include "htfm/net/mlp.h"

namespace htfm {
namespace {

// A time for each row must give what each row gives at its time.
TEST(Evaluator, TimesOfTheirOwn) {
  for (const int64_t feature : {int64_t{0}, int64_t{2}}) {
    const auto net = make_mlp({.dim = 3, .feature = feature, .film = feature > 0});
    std::vector<float> p(static_cast<size_t>(net->layout().size()));
    net->layout().initialise(Key(1), p.data());
    const int64_t rows = 150;
    std::vector<float> x(3 * rows), f(2 * rows), t(rows), all(3 * rows), one(3 * rows);
    fill_normal(Key(2), 0, 3 * rows, x.data());
    fill_normal(Key(3), 0, 2 * rows, f.data());
    for (int64_t i = 0; i < rows; ++i) t[i] = static_cast<float>(i % 5) / 4;
    const auto evaluator = net->evaluator(p.data(), rows, feature ? f.data() : nullptr);
    (*evaluator)(x.data(), t.data(), all.data());
    for (int k = 0; k < 5; ++k) {
      (*evaluator)(x.data(), k / 4.0, one.data());
      for (int64_t i = k; i < rows; i += 5)
        for (int64_t c = 0; c < 3; ++c)
          EXPECT_NEAR(all[3 * i + c], one[3 * i + c], 2e-5 * (1 + std::abs(one[3 * i + c])));
    }
  }
}

}  // namespace
}  // namespace htfm
