// Pages about runs, fields and images.
#include "htfm/page/run_page.h"

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/page/class_grid.h"
#include "htfm/page/field_page.h"
#include "htfm/train/trainer.h"
#include "test/data.h"
#include "test/evaluate/support.h"
#include "test/report/support.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

using report::XmlChecker;

TEST(RunPage, ShowsEveryRunAndWhereItComesFrom) {
  RunConfig config = test::small_run();
  const RunReference reference = make_run_reference(config, 300, true);
  std::vector<ScoredRun> runs;
  runs.push_back(score_run(train(config), sample_options(config), reference));
  config.clock = {.family = "deterministic", .parameters = {}, .grid = 10};
  runs.push_back(score_run(train(config), sample_options(config), reference));
  const std::string html = run_page({"Title <&>", "Lead", {{"command", "none at all"}}}, runs, reference);
  EXPECT_EQ(XmlChecker::problem(html), "");
  for (const std::string& part :
       {std::string("HTFM-α 1.7"), std::string("HTFM-G"), std::string("none at all"), reference.data.hash,
        runs[0].model.weights_hash(), runs[1].model.weights_hash(), std::string("HTFM-G: what differs")})
    EXPECT_NE(html.find(part), std::string::npos) << part;
}

TEST(RunPage, ShowsWhatLiesBeyondTheData) {
  const RunConfig config = test::small_run();
  const RunReference reference = make_run_reference(config, 300, false);
  std::vector<ScoredRun> runs;
  runs.push_back(score_run(train(config), sample_options(config), reference));
  const std::vector<double> origin{0, 0};
  FarQuantiles far = far_quantiles_of_law(config, origin, {10, 100, 20'000}, 100'000);
  add_far_quantiles(far, runs[0], origin, 2'000);
  EXPECT_TRUE(std::isnan(far.training[2])) << "too few points to know";
  EXPECT_TRUE(std::isnan(far.models[0].quantile[2]));
  // The law's own quantiles, of other draws.
  const Dataset fresh = held_out(config, 200'000, 7);
  for (const size_t k : {0, 1}) {
    const double share = (fresh.rows.square().sum(1).sqrt() > far.law[k]).to(at::kDouble).mean().item<double>();
    EXPECT_NEAR(share * far.one_in[k], 1, k == 0 ? 0.05 : 0.2);
  }
  const std::string html = run_page({"Title", "Lead"}, runs, reference, &far);
  EXPECT_EQ(XmlChecker::problem(html), "");
  EXPECT_NE(html.find("1 in 20,000"), std::string::npos);
  RunConfig table = config;
  table.data.path = "x.csv";
  EXPECT_THROW(far_quantiles_of_law(table, origin, {10}, 100), InputError);
}

TEST(FieldPage, ShowsMapsScoresAndCurves) {
  const test::TemporaryFolder folder;
  const std::string set = folder / "rain.fields";
  write_field_set(set, test::small_field_set());
  FieldEvaluationOptions options;
  options.shown = 3;
  const FieldEvaluation e = evaluate_fields(set, set, options);
  EXPECT_EQ(field_example_maps(e).size(0), 3) << "colours";
  const std::string html = field_page("Rain", e, {{"command", "none at all"}});
  EXPECT_EQ(XmlChecker::problem(html), "");
  for (const std::string& part : {std::string("data:image/png"), std::string("value in mm/h"),
                                  std::string("Radial power spectrum"), std::string("none at all"), e.data_hash})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  EXPECT_EQ(html.find("nan<"), std::string::npos) << "the level of 1 field in 1,000 of fewer fields is none";
}

TEST(ClassGrid, HasOneColumnAClassAndNeedsLabels) {
  ImageReference real = make_image_reference(test::small_images(), {.network = test::golden_file("metric/patches.pt")});
  const SampledImages samples = sampled_images(real.images.pixels, "real");
  const Nearest nearest = nearest_images(real, samples);
  const at::Tensor grid = class_grid(real, samples, nearest, 2, {.gap = 0});
  EXPECT_EQ(grid.sizes(), at::IntArrayRef({3, 64, 96}));
  // The classes are brighter from the first to the last.
  const at::Tensor mean = grid.to(at::kFloat).mean(at::IntArrayRef{0, 1}).view({3, 32}).mean(1);
  EXPECT_LT(mean[0].item<float>(), mean[1].item<float>());
  EXPECT_LT(mean[1].item<float>(), mean[2].item<float>());
  real.images.labels = at::Tensor();
  EXPECT_THROW(class_grid(real, samples, nearest, 2), InputError);
}

}  // namespace
}  // namespace htfm
