// The order in which blocks of a kernel take the parts of samples, where each sample is gone through twice.
#pragma once

#ifdef __CUDACC__
#define HTFM_BOTH_SIDES __host__ __device__
#else
#define HTFM_BOTH_SIDES
#endif

namespace htfm {

/// The second pass over a sample comes `lag` samples behind the first: when the first is over, and while the sample
/// still lies in the L2 cache. 1 <= lag <= samples.
struct Turns {
  int samples, parts, lag;
  HTFM_BOTH_SIDES unsigned count() const { return 2u * static_cast<unsigned>(samples) * static_cast<unsigned>(parts); }
};

struct Turn {
  int sample, part;
  bool second;
};

/// First the first pass over `lag` samples; then a sample of each pass in turn; then what is left of the second pass.
HTFM_BOTH_SIDES inline Turn turn_at(const Turns& turns, unsigned number) {
  const auto samples = static_cast<unsigned>(turns.samples), parts = static_cast<unsigned>(turns.parts),
             lag = static_cast<unsigned>(turns.lag);
  const auto turn = [](unsigned sample, unsigned part, bool second) {
    return Turn{static_cast<int>(sample), static_cast<int>(part), second};
  };
  if (number < lag * parts) return turn(number / parts, number % parts, false);
  number -= lag * parts;
  const unsigned alternating = (samples - lag) * 2 * parts;
  if (number < alternating) {
    const unsigned sample = number / (2 * parts), part = number % (2 * parts);
    return part < parts ? turn(sample + lag, part, false) : turn(sample, part - parts, true);
  }
  number -= alternating;
  return turn(samples - lag + number / parts, number % parts, true);
}

}  // namespace htfm
