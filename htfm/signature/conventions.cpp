#include "htfm/signature/conventions.h"

#include <ATen/ops/empty.h>

#include <iterator>

#include "htfm/base/error.h"
#include "htfm/base/registry.h"
#include "htfm/signature/input.h"

namespace htfm {

namespace {

struct Entry {
  std::string_view name;
  Convention convention;
};
constexpr std::array<Entry, 4> kConventions = {{{"linear", Convention::linear},
                                                {"jump", Convention::jump},
                                                {"leadlag", Convention::leadlag},
                                                {"constant", Convention::constant}}};

}  // namespace

Convention convention_by_name(std::string_view name) { return find_named(kConventions, name, "convention").convention; }

std::string_view convention_name(Convention convention) {
  for (const Entry& entry : kConventions) {
    if (entry.convention == convention) return entry.name;
  }
  throw Error("[convention_name] unknown convention {}", static_cast<int>(convention));
}

std::vector<std::string_view> convention_names() {
  std::vector<std::string_view> names;
  names.reserve(std::size(kConventions));
  for (const Entry& entry : kConventions) names.push_back(entry.name);
  return names;
}

Moves convention_moves(Convention convention, int channels, bool time_first) {
  const bool needs_time = convention == Convention::jump || convention == Convention::constant;
  if (needs_time && (!time_first || channels < 2)) {
    throw InputError("[convention] expected a time channel and a value channel for '{}', got {} channel(s){}",
                     convention_name(convention), channels, time_first ? "" : " without time");
  }
  const int single = time_first ? 1 : 0;
  Moves moves;
  moves.count = convention == Convention::linear ? 1 : 2;
  moves.width = convention == Convention::leadlag ? 2 * channels - single : channels;
  if (channels < 1 || moves.width > kMaxChannels) {
    throw InputError("[convention] expected a path of 1 to {} channels, got {} under '{}'", kMaxChannels, moves.width,
                     convention_name(convention));
  }
  for (int c = 0; c < moves.width; ++c) {
    const bool lag = c >= channels;
    moves.source[c] = lag ? c - channels + single : c;
    moves.waits[c] = lag || (convention == Convention::jump && c > 0) || (convention == Convention::constant && c == 0);
  }
  return moves;
}

std::vector<double> time_grid(int64_t points, const at::Tensor& times) {
  std::vector<double> grid(points);
  if (!times.defined()) {
    for (int64_t i = 0; i < points; ++i)
      grid[i] = points > 1 ? static_cast<double>(i) / static_cast<double>(points - 1) : 0.0;
    return grid;
  }
  if (times.dim() != 1 || times.size(0) != points || !times.is_floating_point()) {
    throw InputError("[time grid] expected {} floating-point times, got {}", points, describe(times));
  }
  const at::Tensor values = times.to(at::kCPU, at::kDouble).contiguous();
  std::copy_n(values.const_data_ptr<double>(), points, grid.begin());
  for (int64_t i = 0; i < points; ++i) {
    if (!std::isfinite(grid[i]) || (i > 0 && grid[i] < grid[i - 1])) {
      throw InputError("[time grid] expected finite times in increasing order, got {} at place {}", grid[i], i);
    }
  }
  return grid;
}

at::Tensor augment_time(const at::Tensor& paths, const at::Tensor& times) {
  const at::Tensor input = checked_paths("augment_time", paths, true);
  const int64_t n = input.size(0), points = input.size(1), channels = input.size(2);
  const std::vector<double> grid = time_grid(points, times);
  at::Tensor result = at::empty({n, points, channels + 1}, input.options());
  with_float_type(input, [&](auto zero) {
    using Number = decltype(zero);
    const Number* from = input.const_data_ptr<Number>();
    Number* to = result.mutable_data_ptr<Number>();
    for (int64_t i = 0; i < n * points; ++i) {
      *to++ = static_cast<Number>(grid[i % points]);
      to = std::copy_n(from + i * channels, channels, to);
    }
  });
  return result;
}

at::Tensor apply_convention(const at::Tensor& paths, Convention convention, bool time_first) {
  const at::Tensor input = checked_paths("apply_convention", paths, false);
  const int64_t n = input.size(0), points = input.size(1), channels = input.size(2);
  const Moves moves = convention_moves(convention, static_cast<int>(channels), time_first);
  const int64_t length = 1 + moves.count * (points - 1);
  at::Tensor result = at::empty({n, length, moves.width}, input.options());
  with_float_type(input, [&](auto zero) {
    using Number = decltype(zero);
    const Number* from = input.const_data_ptr<Number>();
    Number* to = result.mutable_data_ptr<Number>();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < length; ++j) {
        // After the first of two moves, a channel that waits still has its last value.
        const int64_t next = (j + moves.count - 1) / moves.count;
        const bool halfway = j % moves.count != 0;
        for (int c = 0; c < moves.width; ++c) {
          const int64_t point = halfway && moves.waits[c] ? next - 1 : next;
          *to++ = from[(i * points + point) * channels + moves.source[c]];
        }
      }
    }
  });
  return result;
}

}  // namespace htfm
