#include <gtest/gtest.h>

#include "htfm/clock/feature.h"

namespace htfm {
namespace {

std::unique_ptr<Clock> stable() { return make_clock({.family = "stable", .parameters = {{"alpha", 1.6}}, .grid = 30}); }

// Every combination gives finite features of the size it promises.
TEST(PathFeature, EveryCombinationHasItsSize) {
  const auto clock = stable();
  const ClockSample clocks = clock->sample(Key(1), {.count = 70});
  for (const char* kind : {"auto", "none", "log_slope", "logsignature", "signature"})
    for (const char* transform : {"log1p", "raw", "per-path"})
      for (const std::string_view convention : convention_names())
        for (const char* basis : {"words", "brackets"})
          for (int order = 0; order <= 3; ++order)
            for (const bool extra : {false, true}) {
              const PathFeature f(*clock, {.kind = kind,
                                           .order = order,
                                           .basis = basis,
                                           .transform = transform,
                                           .convention = std::string(convention),
                                           .end = extra,
                                           .area = extra});
              const at::Tensor x = f(clocks);
              ASSERT_EQ(x.size(0), 70);
              ASSERT_EQ(x.size(1), f.size()) << kind << " " << transform << " " << convention << " " << order;
              for (int64_t i = 0; i < x.numel(); ++i)
                ASSERT_TRUE(std::isfinite(x.const_data_ptr<double>()[i])) << kind << " " << transform;
            }
}

}  // namespace
}  // namespace htfm
