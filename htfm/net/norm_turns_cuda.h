// Two passes over the samples of a batch in one kernel. Blocks take parts of samples in turn: the second pass over a
// sample comes some samples behind the first, when the sums are known and the sample still lies in the L2 cache. So
// every tensor crosses the device's memory once. For .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "htfm/net/norm_turns.h"

namespace htfm::cuda {

/// Counters in memory, zero at the start: the next turn; of each sample, how many parts have been summed, whether the
/// sums are known, and how many parts are done.
struct TurnCounters {
  static int64_t size(int64_t samples) { return 1 + 3 * samples; }
  unsigned *next, *summed, *known, *done;
  TurnCounters(unsigned* memory, int samples)
      : next(memory), summed(memory + 1), known(summed + samples), done(known + samples) {}
};

/// Whether this block is the last of `parts` to come here. What all of them have written before is seen after.
__device__ __forceinline__ bool is_last_part(unsigned* count, int parts) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(count, 1u) == static_cast<unsigned>(parts) - 1;
    __threadfence();
  }
  __syncthreads();
  return last;
}

/// What this block has written is seen by those that wait for `flag`.
__device__ __forceinline__ void publish(unsigned* flag) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicExch(flag, 1u);
  }
}
__device__ __forceinline__ void wait_for(const unsigned* flag) {
  if (threadIdx.x == 0) {
    unsigned value = 0;
    while (true) {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
      if (value != 0) break;
      __nanosleep(40);
    }
  }
  __syncthreads();
}

/// Runs first(sample, part) and second(sample, part) for the turns of this block. The turn with the lowest number that
/// is not done never waits for one that has not begun, so the blocks get on however many of them run.
template <class First, class Second>
__device__ __forceinline__ void take_turns(const Turns& turns, unsigned* next, const First& first,
                                           const Second& second) {
  __shared__ unsigned drawn;
  unsigned ahead = 0;
  if (threadIdx.x == 0) drawn = atomicAdd(next, 1u);
  __syncthreads();
  for (unsigned number = drawn; number < turns.count(); number = drawn) {
    if (threadIdx.x == 0) ahead = atomicAdd(next, 1u);  // on its way during this turn
    const Turn turn = turn_at(turns, number);
    if (turn.second)
      second(turn.sample, turn.part);
    else
      first(turn.sample, turn.part);
    __syncthreads();
    if (threadIdx.x == 0) drawn = ahead;
    __syncthreads();
  }
}

}  // namespace htfm::cuda
