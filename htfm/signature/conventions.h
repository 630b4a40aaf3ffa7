// From samples to a path: what happens between two samples is a convention, and signatures depend on it.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/signature/limits.h"

namespace htfm HTFM_PUBLIC {

/// How the path runs from sample (t_i, x_i) to (t_(i+1), x_(i+1)). The increment of a cell is spread evenly (linear),
/// falls at the cell's end (jump), falls at its beginning (constant), or is shown twice, at once and with a delay
/// (leadlag).
enum class Convention {
  linear,    // one straight segment
  jump,      // along time with the value held, then a vertical segment: the path holds x_i on [t_i, t_(i+1))
  leadlag,   // channels (lead, lag): the lead moves first, the lag follows; a time channel stays single and moves with
             // the lead
  constant,  // a vertical segment, then along time: the path is constant on [t_i, t_(i+1)) at x_(i+1)
};

/// "linear", "jump", "leadlag" or "constant".
Convention convention_by_name(std::string_view name);
std::string_view convention_name(Convention convention);
std::vector<std::string_view> convention_names();

/// A convention as moves: where each channel of the path comes from and whether it waits for the second move of a step.
struct Moves {
  int count = 1;  // moves in a step
  int width = 0;  // channels of the path
  std::array<int, kMaxChannels> source{};
  std::array<bool, kMaxChannels> waits{};
};

/// The moves for samples of that many channels. `time_first`: channel 0 is time; jump and constant need it.
Moves convention_moves(Convention convention, int channels, bool time_first);

/// Puts time in front: n x points (x channels) becomes n x points x (1 + channels). Without `times` the grid is uniform
/// on [0, 1].
at::Tensor augment_time(const at::Tensor& paths, const at::Tensor& times = {});

/// The points of the path under a convention, n x points x channels to n x (1 + moves (points - 1)) x width. For
/// looking at paths and for tests: the signature functions walk the same points without storing them.
at::Tensor apply_convention(const at::Tensor& paths, Convention convention, bool time_first);

/// The time grid that augment_time uses, as double: i / (points - 1), or `times` after a check that it increases.
std::vector<double> time_grid(int64_t points, const at::Tensor& times = {});

}  // namespace htfm
