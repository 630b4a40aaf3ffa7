// Pairs and samples on a CUDA device against the host. Skipped where there is no device.
#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "htfm/data/synthetic.h"
#include "htfm/method/pair_device.h"
#include "htfm/model/flow_matcher.h"
#include "htfm/sample/sampler.h"
#include "htfm/stat/points.h"
#include "htfm/train/trainer.h"
#include "test/device.h"

namespace htfm {
namespace {

RunConfig config_of(const std::string& coupling, const std::string& family) {
  return with_settings({}, {"clock.family=" + family, family == "stable" ? "clock.alpha=1.7" : "clock.nu=3",
                            "coupling.kind=" + coupling, "data.n=600", "train.epochs=2", "coupling.pool=4096"});
}

// The clocks are the host's, so only the noise and the products round differently.
TEST(FlowMatcherDevice, PairsAreThoseOfTheHost) {
  HTFM_NEEDS_DEVICE();
  for (const char* coupling : {"independent", "pool", "radial", "clock", "ot"})
    for (const char* family : {"stable", "inverse-gamma"})
      for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
        const RunConfig config = config_of(coupling, family);
        const at::Tensor rows = load_dataset(config).rows.to(type);
        FlowMatcher here(config, rows), there(config, rows);
        for (int step = 0; step < 3; ++step) {
          const at::Tensor batch = rows.narrow(0, step * 200, 200).contiguous();
          const FlowMatcher::Pairs a = here.sample(batch), b = there.sample(batch.to(at::kCUDA));
          ASSERT_TRUE(b.x.is_cuda());
          ASSERT_EQ(b.x.scalar_type(), type);
          EXPECT_TRUE(at::equal(a.t, b.t.cpu())) << coupling << " " << family;
          if (a.feature.defined()) {
            EXPECT_TRUE(at::equal(a.feature, b.feature.cpu())) << coupling;
          }
          EXPECT_TRUE(b.x.cpu().allclose(a.x, 1e-5, 1e-6)) << coupling << " " << family;
          EXPECT_TRUE(b.target.cpu().allclose(a.target, 1e-5, 1e-6)) << coupling << " " << family;
        }
      }
}

TEST(FlowMatcherDevice, DistancesHaveTheBitsOfTheHost) {
  HTFM_NEEDS_DEVICE();
  for (const int64_t dim : {1, 2, 255, 256, 257, 3072}) {
    at::Tensor rows = at::empty({97, dim}, at::kFloat), centre = at::empty({dim}, at::kDouble);
    fill_normal(Key(1), 0, rows.numel(), rows.mutable_data_ptr<float>());
    fill_normal(Key(2), 0, dim, centre.mutable_data_ptr<double>());
    const at::Tensor found = pair_device().distances(rows.to(at::kCUDA), centre.to(at::kCUDA));
    const std::vector<double> c(centre.const_data_ptr<double>(), centre.const_data_ptr<double>() + dim);
    for (int64_t i = 0; i < 97; ++i)
      EXPECT_EQ(found.const_data_ptr<double>()[i], distance(rows.const_data_ptr<float>() + i * dim, c)) << dim;
  }
}

// A table's network runs there by torch's operations.
TEST(FlowMatcherDevice, AnMlpSamplesAsOnTheHost) {
  HTFM_NEEDS_DEVICE();
  const Model model = train(config_of("pool", "stable"));
  SampleOptions options = sample_options(model.config());
  options.n = 1100, options.solver = "ab2", options.solve.nfe = 8;
  const at::Tensor here = sample(model, options).samples;
  options.device = at::kCUDA;
  const at::Tensor there = sample(model, options).samples;
  EXPECT_LT(there.sub(here).abs().div(here.abs().add(1)).max().item<double>(), 1e-3);
}

}  // namespace
}  // namespace htfm
