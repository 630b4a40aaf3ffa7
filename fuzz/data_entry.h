// As entry.h, of what is read beside tables: batches of images, prepared sets, logs, conditions of rare events,
// portfolios, and the laws and conditions that a checkpoint holds as numbers.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support.h"
#include "htfm/condition/condition_groups.h"
#include "htfm/condition/condition_trend.h"
#include "htfm/condition/field_encoding.h"
#include "htfm/data/cifar.h"
#include "htfm/field/field_set.h"
#include "htfm/io/json_lines.h"
#include "htfm/rare/expression.h"
#include "htfm/risk/portfolio.h"
#include "htfm/stat/margin.h"
#include "htfm/stat/score_calibration.h"

namespace htfm::fuzz {

inline bool cifar(std::string_view bytes) {
  const MemoryFile file(bytes);
  return accepts([&] { read_cifar10(file.path()); });
}

inline bool field_set(std::string_view bytes) {
  const MemoryFile file(bytes);
  return accepts([&] { open_field_set(file.path()); });
}

/// A condition that is accepted is true or false of every row.
inline bool expression(std::string_view bytes) {
  return accepts([&] {
    RowNames names;
    names.columns = {"loss", "region_a", "b"}, names.count = 3;
    names.size = [](std::span<const double> row) { return row[0]; };
    const Expression read(std::string(bytes), names, "fuzz");
    const std::vector<double> row{1, -2, 3};
    if (read.is_condition())
      (void)read.truth(row);
    else
      (void)read.number(row);
  });
}

inline bool portfolio(std::string_view bytes) {
  return accepts([&] {
    const Portfolio read = parse_portfolio(bytes, "fuzz.csv");
    portfolio_weights(read, {"a", "b"});
  });
}

/// The numbers of a checkpoint: each is tried as every law, and what is accepted is used.
inline bool laws(std::string_view bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
  constexpr int64_t kGiven = 4;
  const double given[kGiven] = {0, 1, -2.5, 1e9};
  const auto use = [](double) {};
  bool accepted = accepts([&] {
    const ConditionTrend trend = ConditionTrend::from_numbers(numbers);
    if (trend.width() <= kGiven) use(trend.remove(0.5, given)), use(trend.restore(0.5, given));
  });
  accepted |= accepts([&] {
    const ConditionGroups groups = ConditionGroups::from_numbers(numbers);
    if (groups.width() <= kGiven) must_hold([&] { return groups.of(given) < groups.count(); });
  });
  accepted |= accepts([&] { FieldEncoding::from_numbers(numbers).describe(); });
  accepted |= accepts([&] {
    const Margin margin = Margin::from_numbers(numbers);
    for (const double v : given) use(margin.place(v, 0.3).p);
    for (const double p : {1e-9, 0.01, 0.5})
      for (const bool above : {false, true}) use(margin.value({p, above})), use(margin.mean_beyond(p, above));
  });
  accepted |= accepts([&] {
    const ScoreCalibration calibration = ScoreCalibration::from_numbers(numbers);
    for (const double v : given) use(calibration.place(v, ScoreLaw::named("normal")).p);
  });
  return accepted;
}

inline bool json_lines(std::string_view bytes) {
  const MemoryFile file(bytes);
  return accepts([&] {
    for (const auto& line : JsonLines::read(file.path())) must_hold([&] { return line.is_object(); });
  });
}

}  // namespace htfm::fuzz
