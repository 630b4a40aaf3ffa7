// Fitting a table from C++: what `htfm fit` does, without the program.
#include "htfm/fit/fit_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "htfm/base/error.h"
#include "htfm/io/csv.h"
#include "htfm/stat/student_t.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

Dataset student_table(int64_t rows = 300) {
  const StudentT law{.nu = 3, .location = {0, 1}, .root = {1, 0, 0.5, 1}};
  return {.rows = law.sample(Key(1), rows), .names = {"a", "b"}, .hash = "table", .origin = "draws"};
}

// A training of few steps, far from what the time would allow: its length is the same on every machine.
TableFitOptions quick(const std::string& folder = "") {
  TableFitOptions o;
  o.settings = {"train.epochs=2", "train.checkpoint_steps=5", "train.log_steps=4"};
  o.minutes = 0.3, o.samples = 500, o.folder = folder;
  return o;
}

std::vector<std::string> names(const TableFit& fit) {
  std::vector<std::string> out;
  for (const TableModel& m : fit.models) out.push_back(m.name);
  return out;
}

TEST(FitTable, ReadsTheTableOnce) {
  const test::TemporaryFolder folder;
  TableFitOptions o = quick(folder / "run");
  o.file.path = folder / "table.csv";
  const Dataset table = student_table();
  write_csv(o.file.path, table.rows, table.names);
  o.note = [&](const std::string&) {
    std::filesystem::remove(o.file.path);
  };  // what is told first comes after the reading
  o.page = [](const TableFit& fit) { return "a page of " + fit.plan.train.origin; };
  const TableFit fit = fit_table(o);
  EXPECT_FALSE(std::filesystem::exists(o.file.path));
  EXPECT_EQ(read_csv(fit.samples_file).values.size(0), 500);
  EXPECT_EQ(read_csv(fit.samples_file).names, table.names);
  EXPECT_EQ(test::slurp(fit.page_file), "a page of " + fit.plan.train.origin);
  EXPECT_EQ(test::slurp(fit.folder + "/fit.json"), fit_json(fit) + "\n");
  EXPECT_THROW(fit_table(table, o), InputError) << "a folder that holds a run, without resume";
}

TEST(FitTable, ThePlanIsTheConfigurationOfTheRun) {
  const test::TemporaryFolder folder;
  TableFitOptions o = quick(folder / "run");
  o.settings.insert(o.settings.end(), {"clock.family=stable", "clock.alpha=1.7", "net.width=32"});
  const TableFit fit = fit_table(student_table(), o);
  EXPECT_EQ(config_differences(fit.plan.model, load_config(RunFolder(o.folder).config())), std::vector<std::string>{});
  EXPECT_EQ(config_differences(fit.plan.model, fit.model.config()), std::vector<std::string>{});
  EXPECT_EQ(fit.plan.model.clock.family, "stable") << "settings go over what is planned";
  EXPECT_EQ(fit.plan.model.coupling.kind, "pool");
  EXPECT_EQ(fit.plan.gaussian.clock.family, "deterministic");
  EXPECT_EQ(fit.plan.gaussian.coupling.kind, "independent");
  EXPECT_EQ(fit.plan.gaussian.net.mlp.width, 32);
}

TEST(FitTable, AnInterruptedFitEndsWithTheSameModel) {
  const test::TemporaryFolder folder;
  const Dataset table = student_table();
  TableFitOptions o = quick(folder / "whole");
  o.compare = false;
  const TableFit whole = fit_table(table, o);
  o.folder = folder / "halves";
  o.trained = [](const std::string&, const TrainProgress& p) {
    if (p.step >= 8) throw std::runtime_error("interrupted");
  };
  EXPECT_THROW(fit_table(table, o), std::runtime_error);
  o.trained = {}, o.resume = true;
  const TableFit halves = fit_table(table, o);
  EXPECT_EQ(halves.model.weights_hash(), whole.model.weights_hash());
  EXPECT_EQ(halves.model.step, whole.model.step);
  EXPECT_EQ(halves.model.best_step, whole.model.best_step);
  EXPECT_TRUE(halves.samples.allclose(whole.samples, 1e-6));
  EXPECT_EQ(halves.losses.step, whole.losses.step) << "the log has the steps before the interruption too";
}

TEST(FitTable, ComparesWithSimplerModelsOnHeldOutRows) {
  const Dataset table = student_table();
  TableFitOptions o = quick();
  const TableFit fit = fit_table(table, o);
  EXPECT_EQ(names(fit), (std::vector<std::string>{"HTFM", "Gaussian FM", "Student-t", "resampling"}));
  EXPECT_EQ(comparison_sentences(fit).size(), 3u);
  for (const TableModel& m : fit.models) {
    EXPECT_TRUE(std::isfinite(m.score.error)) << m.name;
    EXPECT_EQ(m.quantiles, fit.yardstick->quantiles(m.rows)) << m.name;
  }
  EXPECT_EQ(fit.samples.size(0), 500);
  EXPECT_FALSE(fit.losses.step.empty()) << "also where nothing is written";
  EXPECT_EQ(fit.folder + fit.samples_file + fit.page_file, "");
  o.compare = false, o.holdout = 0;
  const TableFit alone = fit_table(table, o);
  EXPECT_EQ(names(alone), std::vector<std::string>{"HTFM"});
  EXPECT_FALSE(alone.yardstick);
  EXPECT_EQ(alone.plan.train.rows.size(0), 300);
}

// Held-out rows a thousand times as large change what the model is judged by, and not a bit of the model.
TEST(FitTable, HeldOutRowsAreNotTrainedOn) {
  Dataset table = student_table();
  TableFitOptions o = quick();
  o.compare = false;
  const TableFit fit = fit_table(table, o);
  EXPECT_EQ(fit.plan.held_out.rows.size(0), 90);
  at::Tensor changed = table.rows.clone();
  for (int64_t i = 0; i < changed.size(0); ++i)
    if (fit.plan.held_out.rows.eq(table.rows[i]).all(1).any().item<bool>()) changed[i].mul_(1000);
  table.rows = changed;
  const TableFit other = fit_table(table, o);
  EXPECT_TRUE(other.plan.held_out.rows.equal(fit.plan.held_out.rows.mul(1000)));
  EXPECT_EQ(other.model.weights_hash(), fit.model.weights_hash());
  EXPECT_TRUE(other.samples.equal(fit.samples));
  EXPECT_GT(other.models[0].score.error, fit.models[0].score.error + 1);
}

TEST(FitTable, RefusesWhatCannotBeFitted) {
  EXPECT_THROW(fit_table(student_table(50), quick()), InputError) << "too few rows";
  Dataset constant = student_table();
  constant.rows = constant.rows.mul(0).add(4);
  EXPECT_THROW(fit_table(constant, quick()), InputError) << "nothing varies";
  TableFitOptions o = quick();
  o.settings = {"train.speed=1"};
  EXPECT_THROW(fit_table(student_table(), o), InputError) << "no such key";
}

}  // namespace
}  // namespace htfm
