// Clocks that the data choose: what is chosen, and that a model keeps it.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "htfm/train/trainer.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

at::Tensor source_rows(const ClockSpec& clock, int64_t n, int64_t dim, Key key) {
  const ClockSample s = make_clock(clock)->sample(key.child("clock"), {.count = n, .paths = false});
  return sample_source(key.child("source"), s.area, dim);
}

const ClockSpec kStudent{"inverse-gamma", {{"nu", 2.0}}, 10};

TEST(ChooseClock, LightDataGetAGaussianSource) {
  const ChosenClock chosen = choose_clock({"auto", {}, 20}, source_rows({}, 20000, 2, Key(1)).to(at::kFloat));
  EXPECT_EQ(chosen.spec.family, "deterministic");
  EXPECT_EQ(chosen.spec.grid, 20);
  EXPECT_NE(chosen.explanation.find("light"), std::string::npos) << chosen.explanation;
}

TEST(ChooseClock, HeavyDataGetASourceOfTheirIndex) {
  const ChosenClock chosen = choose_clock({"auto", {}, 20}, source_rows(kStudent, 32000, 2, Key(2)).to(at::kFloat));
  EXPECT_EQ(chosen.spec.family, "inverse-gamma");
  // The estimate of gamma from 3,000 exceedances has a standard error of 0.02 to 0.03: 4 of them on nu = 1 / gamma.
  EXPECT_NEAR(chosen.spec.parameters.at("nu"), 2, 0.45);
  EXPECT_NE(chosen.explanation.find("Student-t source"), std::string::npos) << chosen.explanation;
  EXPECT_NO_THROW(make_clock(chosen.spec));
}

// All rows know the tail better than the largest alone, where a Student-t law fits them; where none does, they are not
// heard. The test of fit rejects its own law in one table of nine.
TEST(ChooseClock, RowsThatFollowAStudentLawGetThatLaw) {
  int by_rows = 0;
  for (uint64_t k = 0; k < 8; ++k) {
    const at::Tensor rows = source_rows(kStudent, 2000, 2, Key(6).child(k));
    const Diagnosis heavy = diagnose(rows);
    const ChosenClock chosen = suggest_clock(heavy, 20, rows), by_tail = suggest_clock(heavy, 20);
    EXPECT_EQ(chosen.spec.family, "inverse-gamma");
    EXPECT_EQ(chosen.spec.grid, 20);
    EXPECT_EQ(by_tail.explanation.find("this uses all rows"), std::string::npos) << by_tail.explanation;
    if (chosen.explanation.find("this uses all rows") == std::string::npos) {
      EXPECT_EQ(chosen.explanation, by_tail.explanation);
      continue;
    }
    ++by_rows;
    EXPECT_NEAR(chosen.spec.parameters.at("nu"), 2, 0.5);  // five standard errors of the likelihood's estimate
  }
  EXPECT_GE(by_rows, 5);  // fewer in one of a hundred such tests
  const at::Tensor light = source_rows({}, 2000, 2, Key(6));
  const Diagnosis normal = diagnose(light);
  EXPECT_EQ(suggest_clock(normal, 20, light).explanation, suggest_clock(normal, 20).explanation);
}

TEST(ChooseClock, NamedLawsStay) {
  const ChosenClock chosen = choose_clock(kStudent, source_rows({}, 100, 2, Key(3)));
  EXPECT_EQ(chosen.spec.describe(), kStudent.describe());
  EXPECT_TRUE(chosen.explanation.empty());
}

std::vector<double> sorted_radii(const at::Tensor& x) {
  const at::Tensor r = x.to(at::kDouble).square().sum(1).sqrt();
  std::vector<double> out(r.const_data_ptr<double>(), r.const_data_ptr<double>() + r.numel());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(ChooseClock, AFittedClockHasTheRadiiOfTheData) {
  const int64_t n = 32000;
  const at::Tensor rows = source_rows(kStudent, n, 3, Key(4)).mul(5);
  const ChosenClock chosen = choose_clock({"fitted", {}, 10}, rows);
  EXPECT_NE(chosen.explanation.find("Pareto tail"), std::string::npos) << chosen.explanation;
  const std::vector<double> data = sorted_radii(rows), drawn = sorted_radii(source_rows(chosen.spec, n, 3, Key(5)));
  // Quantiles of two samples of n differ by sqrt(2 p (1-p) / n) / (r density); for this law at most 0.012 relative up
  // to 0.9, 0.07 at 0.99.
  for (const auto& [p, bound] :
       std::vector<std::pair<double, double>>{{0.1, 0.05}, {0.5, 0.05}, {0.9, 0.06}, {0.99, 0.28}}) {
    const auto at = static_cast<size_t>(p * static_cast<double>(n));
    EXPECT_NEAR(std::log(drawn[at] / data[at]), 0, bound) << p;
  }
  const double index = make_clock(chosen.spec)->tail_exponent();
  EXPECT_NEAR(index, 2, 0.45);
}

RunConfig tiny(const std::string& family) {
  return parse_config(
      "[data]\nn = 4000\n[train]\nbatch = 256\nepochs = 1\ncheckpoint_steps = 8\n", "test",
      {"clock.family=" + family, "coupling.kind=pool", "precondition.scale=clock", "coupling.pool=4096"});
}

TEST(ModelClock, IsKeptInTheCheckpoint) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model.safetensors";
  for (const char* family : {"auto", "fitted", "deterministic"}) {
    const RunConfig config = tiny(family);
    const Model model(config, load_dataset(config));
    EXPECT_EQ(model.config().clock.family, family);
    // The rows are those of nine clusters of a stable law.
    EXPECT_EQ(model.clock().family, family == std::string("auto") ? "stable" : family);
    EXPECT_EQ(model.flow().clock().spec().describe(), model.clock().describe());
    EXPECT_EQ(model.clock_explanation().empty(), family == std::string("deterministic"));
    model.save(path);
    const Model again = Model::load(path);
    EXPECT_EQ(again.clock().describe(), model.clock().describe());
    EXPECT_EQ(again.clock().table, model.clock().table);
    EXPECT_EQ(again.clock_explanation(), model.clock_explanation());
    EXPECT_TRUE(config_differences(again.config(), config).empty());
  }
}

TEST(ModelClock, ARunWithAChosenClockIsResumed) {
  const test::TemporaryFolder place;
  for (const char* family : {"auto", "fitted"}) {
    const std::string folder = place / family;
    RunConfig config = tiny(family);
    const Model whole = train(config);
    train(config, {.folder = folder});
    // Take the run back to its first checkpoint.
    const RunFolder run(folder);
    ASSERT_EQ(run.list().size(), 2u);
    std::filesystem::remove(run.list().back().path);
    std::string told;
    const Model resumed = train(
        config, {.folder = folder, .resume = true, .started = [&](const Model& m) { told = m.clock_explanation(); }});
    EXPECT_EQ(resumed.weights_hash(), whole.weights_hash()) << family;
    EXPECT_FALSE(told.empty());
  }
}

}  // namespace
}  // namespace htfm
