#include "htfm/signature/clock_feature.h"

#include <ATen/ops/cat.h>

#include "htfm/base/error.h"
#include "htfm/signature/input.h"

namespace htfm {

namespace {

const at::Tensor& checked_clock(const char* where, const at::Tensor& clock_paths) {
  if (!clock_paths.defined() || clock_paths.dim() != 2) {
    throw InputError("[{}] expected clock paths n x (N+1), got {}", where, describe(clock_paths));
  }
  return clock_paths;
}

PathOptions clock_options(Convention convention) {
  PathOptions options;
  options.convention = convention;
  options.augment_time = true;
  return options;
}

}  // namespace

at::Tensor clock_logsignature(const at::Tensor& clock_paths, int depth, LogBasis basis, Convention convention) {
  return logsignature(checked_clock("clock_logsignature", clock_paths), depth, basis, clock_options(convention));
}

at::Tensor clock_signature(const at::Tensor& clock_paths, int depth, Convention convention) {
  return signature(checked_clock("clock_signature", clock_paths), depth, clock_options(convention));
}

const LyndonBasis& clock_basis(int depth, Convention convention) {
  return LyndonBasis::get(clock_options(convention).moves(1).width, depth);
}

std::vector<int64_t> clock_coordinates(int depth, Convention convention) {
  const LyndonBasis& basis = clock_basis(depth, convention);
  std::vector<int> clock_channels;
  for (int c = 1; c < basis.channels(); ++c) clock_channels.push_back(c);
  return basis.coordinates_with(clock_channels);
}

}  // namespace htfm
