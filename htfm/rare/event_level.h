// An event or a statistic of a model as a function of rows.
#pragma once

#include "htfm/rare/expression.h"
#include "htfm/rare/latents.h"
#include "htfm/rare/rare.h"

namespace htfm {

/// The level of a row for which an event holds.
inline constexpr double kHolds = std::numeric_limits<double>::infinity();

/// A number of a row that rises towards an event, kHolds where it holds; or a statistic.
using RowLevel = std::function<double(std::span<const double> row)>;

/// The level of each row, n x columns float64; the lowest of all where it is not a number.
std::vector<double> levels_of(const at::Tensor& rows, const RowLevel& level);

/// What names stand for in expressions for a model.
RowNames row_names(const Model& model);

/// The statistic's function; `where` stands in front of messages. `size` is measured by plain samples, some thousand
/// of a key of its own: it is the same for every seed.
RowLevel statistic_level(const Statistic& statistic, const RowNames& names, LatentSampler& sampler,
                         const std::string& where);
/// The event's: margins of comparisons in units of their spread over plain rows of the sampler.
RowLevel event_level(const Event& event, const RowNames& names, LatentSampler& sampler, const std::string& where);

}  // namespace htfm
