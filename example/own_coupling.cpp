// A coupling of one's own: within a batch, the source with the k-th smallest angle goes to the data with the k-th
// smallest angle, so that paths in the plane cross less.
#include <htfm/coupling/coupling.h>
#include <htfm/sample/sampler.h>
#include <htfm/train/trainer.h>

#include <cmath>
#include <cstdio>

namespace {

std::vector<double> angles(const at::Tensor& points) {
  const at::Tensor xy = points.to(at::kDouble).contiguous();
  const double* p = xy.const_data_ptr<double>();
  std::vector<double> out;
  for (int64_t i = 0; i < xy.size(0); ++i) out.push_back(std::atan2(p[i * xy.size(1) + 1], p[i * xy.size(1)]));
  return out;
}

class ByAngle final : public htfm::Coupling {
 public:
  explicit ByAngle(const htfm::CouplingContext& c) : source_(c.source), dim_(c.dim) {
    if (dim_ < 2) throw htfm::InputError("[coupling.kind] expected at least 2 columns for angle, got {}", dim_);
  }
  // A permutation within the batch keeps the law of the source and that of the data: all that a coupling must do.
  htfm::SourceBatch pair(htfm::Key key, const htfm::DataBatch& data, const std::vector<double>&, bool) const override {
    htfm::SourceBatch batch = source_.draw(key, data.rows.size(0), dim_);
    const std::vector<int64_t> ours = htfm::ascending_order(angles(batch.source)),
                               theirs = htfm::ascending_order(angles(data.rows));
    std::vector<int64_t> order(ours.size());
    for (size_t k = 0; k < ours.size(); ++k) order[static_cast<size_t>(theirs[k])] = ours[k];
    batch.reorder(order);
    return batch;
  }

 private:
  const htfm::SourceSampler& source_;
  int64_t dim_;
};

}  // namespace

int main() try {
  htfm::register_coupling({"angle", "within the batch, by the angle in the plane",
                           [](const htfm::CouplingContext& c) { return std::make_unique<ByAngle>(c); }});

  const htfm::RunConfig config = htfm::parse_config(R"(
    data = {n = 500}
    clock = {family = "stable", alpha = 1.7, grid = 20}
    coupling = {kind = "angle"}
    net = {width = 16, blocks = 1}
    train = {batch = 100, epochs = 4}
    sample = {n = 200, nfe = 6}
  )",
                                                    "own_coupling");
  htfm::TrainingData seen;
  const htfm::Model untrained(config, htfm::load_dataset(config), &seen);
  htfm::RunningStandardiser statistics = untrained.standardiser;
  const at::Tensor rows = seen.rows.narrow(0, 0, 100).contiguous();
  std::vector<int64_t> index(100);
  for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int64_t>(i);
  const htfm::PairPlan plan = untrained.method().plan_pairs(htfm::Key(3), {rows, index, 0}, statistics);
  if (htfm::ascending_order(angles(plan.source.source)) != htfm::ascending_order(angles(rows)))
    throw htfm::Error("expected source and data in the same order of angles");

  const htfm::Model model = htfm::train(config);
  const htfm::SampleResult result = htfm::sample(model, htfm::sample_options(config));
  std::printf("angles in order, %d samples, %d not finite\n", static_cast<int>(config.sample.n),
              static_cast<int>(result.diverged));
  return result.diverged == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
