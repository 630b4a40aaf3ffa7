// Fitting a table from C++: what `htfm fit` does, without the program.
#include "htfm/fit/fit_table.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "htfm/base/error.h"
#include "htfm/base/random.h"
#include "htfm/io/csv.h"
#include "htfm/stat/student_t.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

Dataset student_table(int64_t rows = 300) {
  const StudentT law{.nu = 3, .location = {0, 1}, .root = {1, 0, 0.5, 1}};
  return {.rows = law.sample(Key(1), rows), .names = {"a", "b"}, .hash = "table", .origin = "draws"};
}

// A training of few steps.
TableFitOptions quick(const std::string& folder = "") {
  TableFitOptions o;
  o.settings = {"train.epochs=4", "train.checkpoint_steps=5", "train.log_steps=4"};
  o.samples = 500, o.judged = 2000, o.folder = folder;
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
  EXPECT_EQ(config_differences(fit.plan.model, load_config(RunFolder(o.folder + "/judged").config())),
            std::vector<std::string>{});
  EXPECT_EQ(config_differences(fit.model.config(), load_config(RunFolder(o.folder).config())),
            std::vector<std::string>{});
  for (const std::string& key : config_differences(fit.plan.model, fit.model.config()))
    EXPECT_TRUE(key == "data.holdout" || key == "train.validation" || key == "train.epochs") << key;
  EXPECT_EQ(fit.plan.model.clock.family, "stable") << "settings go over what is planned";
  EXPECT_EQ(fit.plan.model.coupling.kind, "pool");
  EXPECT_EQ(fit.plan.gaussian.clock.family, "deterministic");
  EXPECT_EQ(fit.plan.gaussian.coupling.kind, "independent");
  EXPECT_EQ(fit.plan.gaussian.net.mlp.width, 32);
}

TEST(PlanTable, NamesValuesThatMayBeErrors) {
  const auto told = [](const Dataset& table) {
    std::string out;
    for (const std::string& sentence : plan_sentences(plan_table(RunConfig{}, table)))
      if (sentence.find("Errors?") != sentence.npos) out += sentence + "\n";
    return out;
  };
  Dataset table = student_table(2000);
  EXPECT_EQ(told(table), "");
  table.rows[17][0] = 1e7, table.rows[19][1] = -3e7;
  const std::string text = told(table);
  EXPECT_NE(text.find("a: far above all others: 1e+07 (the next is "), text.npos) << text;
  EXPECT_NE(text.find("b: far below all others: -3e+07 (the next is -"), text.npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
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
  o.compare = false, o.refit = false;
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

// The model that is given has seen every row, as often as the judged one until it was best.
TEST(FitTable, EndsWithAModelOfAllRows) {
  const test::TemporaryFolder folder;
  const Dataset table = student_table();
  TableFitOptions o = quick(folder / "run");
  o.compare = false;
  const TableFit fit = fit_table(table, o);
  EXPECT_TRUE(fit.refitted);
  EXPECT_EQ(fit.model.data_hash(), table.hash);
  EXPECT_EQ(fit.model.config().data.holdout, 0);
  EXPECT_EQ(fit.model.best_step, 0) << "no stopping";
  const int64_t per_epoch = total_steps(fit.model.config(), 300) / fit.model.config().train.epochs;
  EXPECT_NEAR(static_cast<double>(fit.model.step), static_cast<double>(fit.judged_step),
              static_cast<double>(per_epoch));
  EXPECT_EQ(Model::load(RunFolder(o.folder).newest().path).weights_hash(), fit.model.weights_hash());
  o.folder = {}, o.refit = false;
  const TableFit judged = fit_table(table, o);
  EXPECT_EQ(judged.models[0].quantiles, fit.models[0].quantiles) << "what is judged has not seen the held-out rows";
  EXPECT_NE(judged.model.weights_hash(), fit.model.weights_hash());
}

// Steps are what is planned, however slow the machine; only --minutes takes some away, and says so.
TEST(FitTable, OnlyMinutesShortenATraining) {
  const Dataset table = student_table();
  TableFitOptions o = quick();
  o.compare = false, o.refit = false;
  o.settings = {"train.epochs=5", "train.validation=0"};
  std::vector<std::string> notes;
  o.note = [&](const std::string& sentence) { notes.push_back(sentence); };
  EXPECT_EQ(fit_table(table, o).model.step,
            total_steps(with_settings(RunConfig(), {"train.epochs=5", "train.batch=64"}), 210));
  for (const std::string& n : notes) EXPECT_EQ(n.find("fit into the time"), std::string::npos) << n;
  o.minutes = 1e-4, o.settings = {"train.epochs=500"};
  EXPECT_LT(fit_table(table, o).model.step, 1000);
  const auto shortened = [](const std::string& n) { return n.find("fit into the time") != std::string::npos; };
  EXPECT_EQ(std::ranges::count_if(notes, shortened), 1);
}

// Of more rows than there is time for some are drawn, which the run remembers.
TEST(FitTableSlow, MinutesTakeRowsAwayWhereAPassTakesLonger) {
  const test::TemporaryFolder folder;
  const Dataset table = student_table(60000);
  TableFitOptions o = quick(folder / "run");
  o.compare = false, o.refit = false, o.minutes = 1e-4;
  o.settings = {"net.width=8", "net.blocks=1", "sample.solver=euler", "sample.nfe=2", "train.checkpoint_steps=5"};
  std::vector<std::string> notes;
  o.note = [&](const std::string& sentence) { notes.push_back(sentence); };
  o.trained = [](const std::string&, const TrainProgress& p) {
    if (p.step >= 5) throw std::runtime_error("interrupted");
  };
  EXPECT_THROW(fit_table(table, o), std::runtime_error);
  EXPECT_EQ(std::ranges::count(notes, "20000 of 60000 rows, drawn at random, fit into the time limit."), 1);
  o.trained = {}, o.resume = true, o.minutes = 100;
  const TableFit fit = fit_table(table, o);
  EXPECT_EQ(fit.plan.model.data.rows, 20000);
  EXPECT_EQ(fit.plan.train.rows.size(0) + fit.plan.held_out.rows.size(0), 20000);
  EXPECT_TRUE(split_dataset(fit.plan.model, table).first.rows.equal(fit.plan.train.rows))
      << "as another command has them";
}

// Two columns with unlike tails and zeros inside one of them: each keeps its own law, whatever the flow makes of it.
TEST(FitTable, ScoresKeepMarginsAtomsAndSettings) {
  constexpr int64_t n = 1500;
  Dataset table{.rows = at::empty({n, 2}, at::kDouble), .names = {"a", "b"}, .hash = "unlike", .origin = "draws"};
  double* x = table.rows.mutable_data_ptr<double>();
  fill_normal(Key(5), 0, 2 * n, x);
  for (int64_t i = 0; i < n; ++i) {
    x[2 * i] = std::copysign(std::expm1(1.2 * std::abs(x[2 * i])), x[2 * i]);
    if (Key(6).uniform(static_cast<uint64_t>(i)) < 0.2) x[2 * i + 1] = 0;  // exactly, in the middle of the column
  }
  const test::TemporaryFolder folder;
  TableFitOptions o = quick(folder / "run");
  o.compare = false, o.samples = 20000, o.judged = 20000;
  const TableFit fit = fit_table(table, o);
  EXPECT_EQ(fit.plan.model.data.normalise, "scores");
  EXPECT_EQ(fit.plan.model.data.scores, "normal") << fit.plan.joint.sentence;
  EXPECT_EQ(fit.plan.model.clock.family, "deterministic");
  EXPECT_TRUE(fit.model.transform().calibrated());
  const auto zeros = [](const at::Tensor& rows) {
    return rows.select(1, 1).eq(0).to(at::kDouble).mean().item<double>();
  };
  // The share itself is the table's; what is drawn scatters by 0.003.
  EXPECT_NEAR(zeros(fit.samples), zeros(table.rows), 0.012);
  const auto level = [](const at::Tensor& rows, double q) { return rows.select(1, 0).quantile(q).item<double>(); };
  for (const double q : {0.01, 0.1, 0.5, 0.9, 0.99})
    EXPECT_NEAR(fit.samples.select(1, 0).lt(level(table.rows, q)).to(at::kDouble).mean().item<double>(), q, 0.012) << q;
  const Model loaded = Model::load(RunFolder(o.folder).newest().path);
  const at::Tensor drawn = at::zeros({3, 2}, at::kDouble).add(at::ones({3, 2}, at::kDouble));
  EXPECT_TRUE(loaded.to_data(drawn).equal(fit.model.to_data(drawn))) << "margins are part of the checkpoint";
  o.settings.push_back("data.normalise=table"), o.folder = {};
  EXPECT_EQ(fit_table(table, o).plan.model.coupling.kind, "pool") << "one clock for all, where it is asked for";
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
