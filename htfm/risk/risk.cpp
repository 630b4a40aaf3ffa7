#include "htfm/risk/risk.h"

#include <ATen/ops/empty.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/base/nearest.h"
#include "htfm/base/parallel.h"
#include "htfm/base/split.h"
#include "htfm/fit/calibrated_sample.h"
#include "htfm/risk/far_portfolio.h"
#include "htfm/risk/loss_model.h"
#include "htfm/risk/risk_layout.h"
#include "htfm/risk/spread.h"
#include "htfm/train/trainer.h"

namespace htfm {

namespace {

constexpr int kPortfolioDigits = 9;

void check(const RiskOptions& o) {
  for (const double p : o.levels)
    if (!(p >= 0.5 && p < 1)) throw InputError("[levels] expected levels from 0.5 to below 1, got {}", p);
  if (!(o.rows_per_period > 0))
    throw InputError("[rows per period] expected a positive number, got {}", o.rows_per_period);
  for (const double period : o.return_periods)
    if (!(period * o.rows_per_period >= 2))
      throw InputError("[return periods] expected periods of at least 2 rows, got {} times {}", period,
                       o.rows_per_period);
  if (!(o.stress_level >= 0.5 && o.stress_level < 1))
    throw InputError("[stress level] expected a level from 0.5 to below 1, got {}", o.stress_level);
  for (const double q : o.stress_quantiles)
    if (!(q >= 0 && q <= 1)) throw InputError("[stress quantiles] expected levels from 0 to 1, got {}", q);
  if (!(o.interval > 0 && o.interval < 1))
    throw InputError("[interval] expected a level between 0 and 1, got {}", o.interval);
  if (o.n != 0 && o.n < 1000) throw InputError("[n] expected at least 1000 samples, got {}", o.n);
  if (o.rounds != 0 && o.rounds < 20) throw InputError("[rounds] expected 0, or at least 20, got {}", o.rounds);
  if (o.refits != 0 && o.refits < 2) throw InputError("[refits] expected 0, or at least 2, got {}", o.refits);
  if (o.refits > 0 && o.rounds == 0) throw InputError("[refits] expected bootstrap rounds with refits, got 0");
}

// The rows that the model was trained on; nothing, and a note, where they cannot be had.
std::optional<Dataset> training_rows(const Model& model, const RiskOptions& o, std::string& note) {
  if (o.rows) {
    if (o.rows->hash != model.data_hash())
      throw InputError(
          "[risk] expected the rows that the model was trained on, {} ({}), got {} ({}): give the same table, or none",
          model.data_origin(), model.data_hash(), o.rows->origin, o.rows->hash);
    return *o.rows;
  }
  RunConfig config = model.config();
  if (!o.data.empty()) config.data.path = o.data;
  const std::string& path = config.data.path;
  if (o.data.empty() && !path.empty() && !std::filesystem::exists(path)) {
    note = fmt::format("The training table {} is not there (--data names another place).", path);
    return std::nullopt;
  }
  Dataset data = load_dataset(config);
  if (data.hash == model.data_hash()) return data;
  if (!o.data.empty())
    throw InputError(
        "[--data] {}: expected the table that the model was trained on, got one with other rows or columns", path);
  note = fmt::format("{} has changed since training.", path);
  return std::nullopt;
}

std::vector<double> column_of(const at::Tensor& rows, int64_t k) {
  const at::Tensor values = rows.select(1, k).to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

void add_rows_to_pairs(RiskReport& r, const at::Tensor& rows, const std::vector<int64_t>& columns) {
  parallel_for(static_cast<int64_t>(r.pairs.size()), [&](int64_t i) {
    JointRisks& pair = r.pairs[static_cast<size_t>(i)];
    const auto a = static_cast<size_t>(pair.first), b = static_cast<size_t>(pair.second);
    const std::vector<double> all_first = column_of(rows, columns[a]), all_second = column_of(rows, columns[b]);
    std::vector<double> first, second;
    for (size_t k = 0; k < all_first.size(); ++k)
      if (std::isfinite(all_first[k]) && std::isfinite(all_second[k]))
        first.push_back(all_first[k]), second.push_back(all_second[k]);
    for (JointRisk& j : pair.levels)
      j.rows = conditional_of_rows(first, r.losses[a].high, second, r.losses[b].high, j.p, r.options.interval);
  });
}

std::vector<double> values_of(RiskReport& r) {
  std::vector<double> out;
  for (const Scored* s : figures_of(r)) out.push_back(s->value);
  return out;
}

// A model trained anew on rows drawn with replacement, and its figures.
std::vector<double> refit(const Model& model, const Dataset& data, const RowRounds& rows, int64_t k,
                          const std::vector<double>& weights, RiskReport layout) {
  const std::vector<int64_t> drawn = rows.drawn(k);
  at::Tensor index = at::empty({static_cast<int64_t>(drawn.size())}, at::kLong);
  std::copy(drawn.begin(), drawn.end(), index.mutable_data_ptr<int64_t>());
  Dataset again = data;
  again.rows = data.rows.index_select(0, index);
  RunConfig config = model.config();
  config.seed += k + 1;
  Model own = run_training(config, again).model;
  if (needs_calibration(own)) {
    SampleOptions options = sample_options(config);
    options.n = layout.options.n;
    calibrated_sample(own, options);
  }
  LossModel losses(own, loss_columns(own), weights, layout.options.n,
                   *layout.options.seed + static_cast<uint64_t>(k) + 1);
  measure(layout, losses.point());
  return values_of(layout);
}

std::string what_intervals_hold(const RiskReport& r, bool from_rows) {
  const double percent = 100 * r.options.interval;
  if (r.options.rounds == 0) return "No intervals: the number of rounds is 0.";
  const std::string samples = fmt::format("the noise of {} samples", r.samples.size(0));
  if (r.uncertainty == RiskUncertainty::samples)
    return fmt::format(
        "{:g} % intervals include only {}, not the uncertainty of the fit: the training rows are not known.", percent,
        samples);
  const std::string tails = fmt::format(
      "the uncertainty of the columns' distributions ({} rounds: {} drawn with replacement, tails by their likelihood) "
      "and {}",
      r.options.rounds, from_rows ? "training rows" : "rows of the model", samples);
  if (r.uncertainty == RiskUncertainty::tail_fit)
    return fmt::format(
        "{:g} % intervals include {}; not that of the dependence that the network learned, which --refits K adds.",
        percent, tails);
  return fmt::format(
      "{:g} % intervals include {}, and the differences between {} models trained again on rows drawn with "
      "replacement.",
      percent, tails, r.options.refits);
}

// The furthest level that so many plain samples show.
double plain_end(int64_t samples) { return 1 - kFewestBeyond / static_cast<double>(samples); }

void add_notes(RiskReport& r, const LossModel& losses, const std::string& about_rows, bool from_rows) {
  r.notes.push_back(what_intervals_hold(r, from_rows));
  if (r.uncertainty == RiskUncertainty::tail_fit && !r.pairs.empty() && r.options.rounds > 0 && from_rows)
    r.notes.push_back(
        "Probabilities of joint exceedances depend only on the learned dependence: their intervals include only the "
        "noise of samples, and the share among the training rows is given beside them.");
  if (!about_rows.empty())
    r.notes.push_back(about_rows +
                      (r.uncertainty == RiskUncertainty::tail_fit
                           ? " Rounds draw rows of the model instead, transformed to its columns' distributions."
                           : ""));
  if (losses.left_out() > 0)
    r.notes.push_back(
        fmt::format("{} samples are not finite, or have a missing value, and are left out.", losses.left_out()));
  const double furthest = plain_end(losses.samples());
  bool rare = false, missing = false;
  for (const RiskLoss& l : r.losses)
    for (const auto* list : {&l.measures, &l.return_levels})
      for (const RiskMeasure& m : *list)
        if (!l.exact && m.p > furthest) (std::isnan(m.quantile.value) ? missing : rare) = true;
  if (rare)
    r.notes.push_back(
        fmt::format("Levels of the portfolio beyond {:.6g} come from rare samples with weights.", furthest));
  if (missing)
    r.notes.push_back(
        fmt::format("{} samples show levels up to {:.6g}; levels beyond, except those from a column's own "
                    "distribution, are left out (-n draws more).",
                    losses.samples(), furthest));
}

}  // namespace

const char* uncertainty_name(RiskUncertainty uncertainty) {
  return uncertainty == RiskUncertainty::samples    ? "samples"
         : uncertainty == RiskUncertainty::tail_fit ? "tail fit"
                                                    : "refits";
}

int64_t RiskReport::find(const std::string& name) const {
  std::vector<std::string> names;
  for (size_t k = 0; k < losses.size(); ++k) {
    if (losses[k].name == name) return static_cast<int64_t>(k);
    names.push_back(losses[k].name);
  }
  const std::string like = nearest_name(name, names, 2);
  throw InputError("[risk] expected one of {}; got '{}'{}", fmt::join(names, ", "), name,
                   like.empty() ? "" : fmt::format(": did you mean {}?", like));
}

std::vector<Scored*> figures_of(RiskReport& r) {
  std::vector<Scored*> out;
  for (RiskLoss& l : r.losses)
    for (auto* list : {&l.measures, &l.return_levels})
      for (RiskMeasure& m : *list) out.insert(out.end(), {&m.quantile, &m.sfall});
  for (JointRisks& pair : r.pairs)
    for (JointRisk& j : pair.levels)
      out.insert(out.end(), {&j.both, &j.second_given_first, &j.first_given_second, &j.mean_second, &j.mean_first});
  for (StressTable& t : r.stress)
    for (StressRow& row : t.rows) {
      out.push_back(&row.mean);
      for (Scored& q : row.quantiles) out.push_back(&q);
    }
  return out;
}

RiskReport risk(const Model& model, const RiskOptions& o) {
  const auto started = std::chrono::steady_clock::now();
  check(o);
  if (model.image() || model.field())
    throw InputError("[risk] expected a model of a table, got one of {}", model.field() ? "fields" : "images");
  RiskReport r = laid_out_report(model, o);
  const std::vector<double> weights =
      r.with_portfolio ? portfolio_weights(o.portfolio, loss_names(model)) : std::vector<double>();
  std::string about_rows;
  const std::optional<Dataset> data = training_rows(model, o, about_rows);
  if (o.refits > 0 && !data) throw InputError("[refits] expected the training rows, got none: {}", about_rows);
  const auto stage = [&](const char* name) {
    return [&o, name](int64_t done, int64_t n) {
      if (o.report) o.report(name, done, n);
    };
  };

  LossModel losses(model, loss_columns(model), weights, r.options.n, *r.options.seed, stage("sampling"));
  const Key key = Key(*r.options.seed).child("risk");
  r.uncertainty = losses.prepare_rounds(data ? data->rows : at::Tensor(), o.rounds, key);
  const LossSamples point = losses.point();
  for (size_t k = 0; k < r.losses.size(); ++k) r.losses[k].exact = losses.exact(k);
  for (const auto& [a, b] :
       strongest_pairs(r, point, static_cast<int64_t>(r.losses.size()) - r.with_portfolio, o.most_pairs)) {
    JointRisks pair{.first = a, .second = b};
    for (const double p : o.levels) pair.levels.emplace_back().p = p;
    r.pairs.push_back(std::move(pair));
  }
  const std::vector<int> digits = model.transform().digits();
  for (const int64_t k : loss_columns(model)) r.digits.push_back(digits[static_cast<size_t>(k)]);
  r.digits.resize(r.losses.size(), kPortfolioDigits);
  measure(r, point);
  if (data) r.training_rows = data->rows.size(0), add_rows_to_pairs(r, data->rows, loss_columns(model));
  const auto n = static_cast<int64_t>(point.values[0].size()), count = static_cast<int64_t>(r.losses.size());
  r.samples = at::empty({n, count}, at::kDouble);
  double* x = r.samples.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < count; ++k) x[i * count + k] = point.values[static_cast<size_t>(k)][static_cast<size_t>(i)];

  // The portfolio's levels that plain samples do not show.
  struct Far {
    bool of_period;
    size_t place;
    FarPortfolio samples;
  };
  std::vector<Far> far;
  const auto measures = [](RiskReport& report, bool of_period) -> std::vector<RiskMeasure>& {
    return of_period ? report.losses.back().return_levels : report.losses.back().measures;
  };
  if (r.with_portfolio && losses.portfolio_of_laws())
    for (const bool of_period : {false, true})
      for (size_t i = 0; i < measures(r, of_period).size(); ++i) {
        RiskMeasure& m = measures(r, of_period)[i];
        if (m.p <= plain_end(losses.samples())) continue;
        far.push_back({of_period, i,
                       FarPortfolio(model, loss_columns(model), weights, r.losses.back().high, m.p, *r.options.seed,
                                    [&](int64_t done) { stage("rare samples")(done, 0); })});
        far.back().samples.measure(m);
      }

  if (o.rounds > 0) {
    std::vector<std::vector<double>> rounds(static_cast<size_t>(o.rounds)), refits;
    const auto report = stage("bootstrap");
    constexpr int64_t kAtATime = 32;
    for (int64_t first = 0; first < o.rounds; first += kAtATime) {
      const int64_t last = std::min(first + kAtATime, o.rounds);
      parallel_for(last - first, [&](int64_t i) {
        RiskReport own = r;
        measure(own, losses.round(first + i));
        if (!far.empty()) {
          const std::vector<Margin> laws = losses.laws(first + i);
          for (const Far& f : far)
            f.samples.measure(measures(own, f.of_period)[f.place], laws,
                              key.child("half").child(static_cast<uint64_t>(first + i)));
        }
        rounds[static_cast<size_t>(first + i)] = values_of(own);
      });
      report(last, o.rounds);
    }
    for (int64_t k = 0; k < o.refits; ++k) {
      if (k == 0) stage("refitting")(0, o.refits);
      const RowRounds rows{data->rows.size(0), o.refits, key.child("refits")};
      refits.push_back(refit(model, *data, rows, k, weights, r));
      stage("refitting")(k + 1, o.refits);
    }
    set_intervals(figures_of(r), rounds, refits, o.interval);
    if (o.refits > 0) r.uncertainty = RiskUncertainty::refits;
  }
  add_notes(r, losses, about_rows, data.has_value());
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return r;
}

at::Tensor scenarios(const RiskReport& r, const std::string& loss, double p) {
  if (!(p >= 0.5 && p < 1)) throw InputError("[scenarios] expected a level from 0.5 to below 1, got {}", p);
  const int64_t k = r.find(loss), n = r.samples.size(0), count = r.samples.size(1);
  const double* x = r.samples.const_data_ptr<double>();
  const double sign = r.losses[static_cast<size_t>(k)].high ? 1 : -1;
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return sign * x[a * count + k] > sign * x[b * count + k]; });
  const auto kept = std::max<int64_t>(1, std::llround((1 - p) * static_cast<double>(n)));
  at::Tensor index = at::empty({kept}, at::kLong);
  std::copy_n(order.begin(), kept, index.mutable_data_ptr<int64_t>());
  return r.samples.index_select(0, index);
}

}  // namespace htfm
