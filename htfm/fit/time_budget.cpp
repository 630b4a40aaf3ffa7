#include "htfm/fit/time_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "htfm/base/error.h"
#include "htfm/base/seconds.h"
#include "htfm/data/state_net.h"
#include "htfm/fit/plan_table.h"
#include "htfm/model/model.h"
#include "htfm/train/trainer.h"

namespace htfm {

namespace {

constexpr int64_t kTriedRows = 20000;  // of a larger table, to find out how fast the machine is
// What a row takes beside training, in steps of training: finding tails, scores, copies, quantiles and the report take
// 17 s for 10^6 rows of 2 columns where 370 steps take a second.
constexpr double kStepsPerValue = 0.0032;
constexpr double kPasses = 2.2;      // over all rows: 0.6 of them are trained on to be judged, all, and 0.6 to compare
constexpr double kRowsShare = 0.75;  // of the time; the rest is for sampling

Dataset tried_rows(const Dataset& data) { return some_rows(data, kTriedRows, Key(0).child("tried")); }

// Steps a second, from a short training that is thrown away. Its first third, in which memory is touched and threads
// start, does not count, nor its end, where the rest is written.
double training_rate(RunConfig config, const Dataset& data) {
  constexpr int64_t kTried = 48;
  const int64_t per_epoch = std::max<int64_t>(1, total_steps(config, data.rows.size(0)) / config.train.epochs);
  config.train.epochs = std::max<int64_t>(1, kTried / per_epoch);
  const int64_t steps = config.train.epochs * per_epoch, third = std::max<int64_t>(1, std::min(steps, kTried) / 3);
  config.train.validate_steps = steps, config.train.log_steps = third;
  using Clock = std::chrono::steady_clock;
  std::vector<Clock::time_point> times;
  double whole = 0;
  const auto report = [&](const TrainProgress& p) { times.push_back(Clock::now()), whole = p.steps_per_second; };
  const auto stop = [&] { return times.size() >= 3; };
  try {
    train(config, data, {.discrete = false, .report = report, .stop = stop});
  } catch (const Interrupted&) {  // enough is known
  }
  if (times.size() < 3) return whole;
  return static_cast<double>(third) / std::chrono::duration<double>(times[1] - times[0]).count();
}

// Seconds that the networks of the discrete columns take for so many steps each.
double seconds_of_states(RunConfig config, const Dataset& data, int64_t steps) {
  config.train.state_steps = steps;
  Model model(config, data);
  const auto started = std::chrono::steady_clock::now();
  model.learn_discrete(data);
  return seconds_since(started);
}

}  // namespace

int64_t rows_in_time(const RunConfig& base, const Dataset& table, const std::vector<std::string>& settings,
                     double seconds) {
  const int64_t rows = table.rows.size(0);
  if (rows <= 2 * kTriedRows) return rows;
  const TablePlan plan = plan_table(base, tried_rows(table), settings);
  const double columns = static_cast<double>(table.rows.size(1)), batch = static_cast<double>(plan.model.train.batch);
  const double steps_per_row = kPasses / batch + kStepsPerValue * columns;
  const double possible = kRowsShare * std::max(0.0, seconds) * training_rate(plan.model, plan.train) / steps_per_row;
  if (possible >= static_cast<double>(rows)) return rows;
  constexpr int64_t kRound = 10000;  // as people say it
  return std::max(kTriedRows, static_cast<int64_t>(possible) / kRound * kRound);
}

std::string fit_to_time(RunConfig& config, const Dataset& data, double seconds) {
  const int64_t rows = data.rows.size(0);
  const auto steps = static_cast<double>(total_steps(config, rows)), epochs = static_cast<double>(config.train.epochs);
  const double possible = seconds * training_rate(config, tried_rows(data));
  if (possible >= steps) return {};
  config.train.epochs = std::max<int64_t>(1, static_cast<int64_t>(epochs * possible / steps));
  const auto left = static_cast<double>(total_steps(config, rows));
  // An average over the last tenth, not from the start; in four digits, as people write it.
  config.train.ema = std::min(config.train.ema, std::max(0.0, std::round(1e4 * (1 - 10 / left)) / 1e4));
  return fmt::format("{:.0f} of {:.0f} steps fit into the time limit", left, steps);
}

std::string fit_states_to_time(RunConfig& config, const Dataset& data, double seconds) {
  constexpr int64_t kFew = 4, kMore = 24, kFewest = 20, kEnough = 100;
  const Dataset tried = tried_rows(data);
  const double few = seconds_of_states(config, tried, kFew), more = seconds_of_states(config, tried, kMore);
  const double a_step = std::max(1e-6, (more - few) / (kMore - kFew));
  const auto possible = static_cast<int64_t>((seconds - few) / a_step);
  if (possible >= StateNet::kMostSteps) return {};
  config.train.state_steps = std::max(kFewest, possible);
  return fmt::format(
      "at most {} of up to {} steps of each network fit into the time limit{}", config.train.state_steps,
      StateNet::kMostSteps,
      config.train.state_steps < kEnough ? ": too few to learn well how these columns go with the others" : "");
}

}  // namespace htfm
