// Group norm + scale/shift + SiLU of large images, both ways, in one kernel each: the first turn of a part of a sample
// adds up what the statistics need, the second applies them (norm_turns_cuda.h).
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "htfm/net/norm_part_cuda.h"
#include "htfm/net/norm_stream_cuda.h"
#include "htfm/net/norm_tiling_cuda.h"
#include "htfm/net/norm_turns_cuda.h"

namespace htfm::cuda {
namespace {

constexpr int64_t kPartBytes = 64 << 10;  // of a tensor, a turn

// Parts of sums, coefficients of samples, and counters, in the workspace of a norm.
struct TurnMemory {
  TurnMemory(float* workspace, const Turns& turns, int channels)
      : partial(workspace),
        input(partial + int64_t{2} * turns.samples * turns.parts * channels),
        coefficient(input + static_cast<int64_t>(turns.samples) * turns.parts * channels),
        counters(reinterpret_cast<unsigned*>(coefficient + int64_t{4} * turns.samples * channels), turns.samples) {}
  static int64_t floats(const Turns& turns, int channels) {
    return (int64_t{3} * turns.parts + 4) * turns.samples * channels + TurnCounters::size(turns.samples);
  }
  float *partial, *input, *coefficient;
  TurnCounters counters;
};

__device__ __forceinline__ void copy_ahead(uint4* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}

// Adds up what `parts` blocks have written, for all.
__device__ __forceinline__ void add_parts(const float* partial, int parts, int values, float* total) {
  for (int i = static_cast<int>(threadIdx.x); i < values; i += static_cast<int>(blockDim.x)) {
    float sum = 0;
#pragma unroll 8
    for (int s = 0; s < parts; ++s) sum += __ldcg(partial + static_cast<int64_t>(s) * values + i);
    total[i] = sum;
  }
  __syncthreads();
}

__device__ __forceinline__ void copy_values(const float* from, int values, float* to) {
  for (int i = static_cast<int>(threadIdx.x); i < values; i += static_cast<int>(blockDim.x)) to[i] = from[i];
}

__device__ __forceinline__ void load_shared_floats(const float* p, float (&out)[8]) {
  const float4 low = __ldcg(reinterpret_cast<const float4*>(p)), high = __ldcg(reinterpret_cast<const float4*>(p + 4));
  out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w, out[4] = high.x, out[5] = high.y, out[6] = high.z,
  out[7] = high.w;
}

// A thread's own vectors on their way: of `Stages` pixels, of up to `Tensors` tensors each, in shared memory. While it
// works on one pixel, the next ones are being fetched.
template <int Tensors, int Stages>
struct Ahead {
  static constexpr size_t kBytes = size_t{Tensors} * Stages * 16;  // a thread
  __device__ explicit Ahead(void* memory) : own(static_cast<uint4*>(memory) + threadIdx.x) {}
  __device__ __forceinline__ uint4* slot(int stage, int tensor) const {
    return own + (stage * Tensors + tensor) * static_cast<int>(blockDim.x);
  }
  // addresses(p, put) calls put(tensor, address) for what is to be fetched of pixel p.
  template <class Addresses>
  __device__ __forceinline__ void fetch(const Part& part, int p, int stage, const Addresses& addresses) const {
    if (p < part.end) addresses(p, [&](int tensor, const void* from) { copy_ahead(slot(stage, tensor), from); });
    asm volatile("cp.async.commit_group;" ::: "memory");  // also of nothing: groups are counted
  }
  template <class Addresses>
  __device__ __forceinline__ void begin(const Part& part, const Addresses& addresses) const {
#pragma unroll
    for (int s = 0; s < Stages; ++s) fetch(part, part.begin + s * part.rows, s, addresses);
  }
  // use(p, at) for the thread's pixels, where at(tensor) is what was fetched; begin() comes first.
  template <class Addresses, class Use>
  __device__ __forceinline__ void each_pixel(const Part& part, const Addresses& addresses, const Use& use) const {
    int stage = 0;
    for (int p = part.begin; p < part.end; p += part.rows) {
      asm volatile("cp.async.wait_group %0;" ::"n"(Stages - 1) : "memory");
      use(p, [&](int tensor) { return Vector<__nv_bfloat16>{*slot(stage, tensor)}; });
      fetch(part, p + Stages * part.rows, stage, addresses);
      stage = stage + 1 == Stages ? 0 : stage + 1;
    }
  }
  uint4* own;
};

// h = z / 2. The derivative of silu at z.
__device__ __forceinline__ float silu_slope(float h) {
  const float t = tanh_of(h), s = 0.5f * t + 0.5f;
  return s * (h - h * t) + s;
}

using B16 = __nv_bfloat16;
using AheadForward = Ahead<2, 4>;
using AheadBackward = Ahead<4, 4>;

__global__ void __launch_bounds__(kPartThreads, 3)
    forward_kernel(NormForwardArgs a, Turns turns, TurnMemory memory, int floats) {
  extern __shared__ __align__(16) float shared[];
  const int values = 2 * a.channels;
  float *total = shared, *coefficient = shared + values, *scratch = shared + 2 * values;
  const AheadForward ahead(shared + floats);
  const bool rounded = a.residual.data != nullptr || a.x.data != nullptr;
  const auto addresses_of = [](const Input<B16>& in) {
    return [&in](int p, const auto& put) {
      put(0, in.from + p * in.pixel);
      if (in.residual) put(1, in.residual + p * in.residual_pixel);
    };
  };
  const auto sum = [&](int n, int index) {
    const Part part(a.pixels, a.channels, n, index, turns.parts);
    const Input<B16> in(a, part, false);
    const auto addresses = addresses_of(in);
    ahead.begin(part, addresses);
    float sums[2][8] = {};
    ahead.each_pixel(part, addresses, [&](int p, const auto& at) {
      Pair<B16> raw{at(0), {}};
      if (in.residual) raw.second = at(1);
      const Vector<B16> v = in.value(raw);
      if (in.fresh && in.x) store_vector(in.x + p * in.x_pixel, v);
      float value[8];
      unpack(v, value);
#pragma unroll
      for (int j = 0; j < 8; ++j) sums[0][j] += value[j], sums[1][j] += value[j] * value[j];
    });
    block_sums<2>(sums, part.vectors, a.channels, scratch, total);
    float* of_sample = memory.partial + static_cast<int64_t>(n) * turns.parts * values;
    copy_values(total, values, of_sample + static_cast<int64_t>(index) * values);
    if (!is_last_part(memory.counters.summed + n, turns.parts)) return;
    add_parts(of_sample, turns.parts, values, total);
    forward_coefficients(a, n, 0, a.channels, rounded, true, true, total, coefficient);
    copy_values(coefficient, values, memory.coefficient + static_cast<int64_t>(n) * 2 * values);
    publish(memory.counters.known + n);
  };
  const auto apply = [&](int n, int index) {
    const Part part(a.pixels, a.channels, n, index, turns.parts);
    const bool stored = a.x.data != nullptr;
    const Input<B16> in(a, part, stored);
    const auto addresses = addresses_of(in);
    if (!stored) ahead.begin(part, addresses);
    wait_for(memory.counters.known + n);
    if (stored) ahead.begin(part, addresses);  // other blocks have stored it
    float slope[8], offset[8];
    const float* known = memory.coefficient + static_cast<int64_t>(n) * 2 * values + part.channel;
    load_shared_floats(known, slope);
    load_shared_floats(known + a.channels, offset);
    const int64_t out = part.n * a.pixels * static_cast<int64_t>(a.channels) + part.channel;
    ahead.each_pixel(part, addresses, [&](int p, const auto& at) {
      Pair<B16> raw{at(0), {}};
      if (in.residual) raw.second = at(1);
      float value[8];
      unpack(in.value(raw), value);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float z = value[j] * slope[j] + offset[j];
        value[j] = a.silu ? silu<B16>(z) : z;
      }
      store_result<B16>(a, out + static_cast<int64_t>(p) * a.channels, value);
    });
  };
  take_turns(turns, memory.counters.next, sum, apply);
}

// With z = A x + B the gradient of the input is A dz + C x + D, channel by channel.
__global__ void __launch_bounds__(kPartThreads, 2)
    backward_kernel(NormBackwardArgs a, Turns turns, TurnMemory memory, int floats) {
  extern __shared__ __align__(16) float shared[];
  const int values = 2 * a.channels;
  float *total = shared, *coefficient = shared + values, *scratch = shared + 2 * values;
  const AheadBackward ahead(shared + floats);
  const auto gradient_of_z = [&](float x, float dy, float A, float B) {
    return a.silu ? dy * silu_slope(0.5f * (A * x + B)) : dy;
  };
  const auto sum = [&](int n, int index) {
    const Part part(a.pixels, a.channels, n, index, turns.parts);
    const auto* x = static_cast<const B16*>(a.x.data) + part.n * a.x.sample + part.channel;
    const auto* dy =
        static_cast<const B16*>(a.gradient) + part.n * a.pixels * static_cast<int64_t>(a.channels) + part.channel;
    const auto addresses = [&](int p, const auto& put) {
      put(0, x + p * a.x.pixel);
      put(1, dy + static_cast<int64_t>(p) * a.channels);
    };
    ahead.begin(part, addresses);
    activation_coefficients(a, n, 0, a.channels, coefficient);
    float A[8], B[8], sums[2][8] = {};
    load_floats(coefficient + part.channel, A);
    load_floats(coefficient + a.channels + part.channel, B);
    ahead.each_pixel(part, addresses, [&](int, const auto& at) {
      float value[8], d[8];
      unpack(at(0), value);
      unpack(at(1), d);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float dz = gradient_of_z(value[j], d[j], A[j], B[j]);
        sums[0][j] += dz, sums[1][j] += dz * value[j];
      }
    });
    block_sums<2>(sums, part.vectors, a.channels, scratch, total);
    float* of_sample = memory.partial + static_cast<int64_t>(n) * turns.parts * values;
    copy_values(total, values, of_sample + static_cast<int64_t>(index) * values);
    if (!is_last_part(memory.counters.summed + n, turns.parts)) return;
    float* known = memory.coefficient + static_cast<int64_t>(n) * 2 * values;
    copy_values(coefficient, values, known);
    add_parts(of_sample, turns.parts, values, total);
    input_coefficients(a, n, 0, a.channels, true, total, coefficient);
    copy_values(coefficient, values, known + values);
    publish(memory.counters.known + n);
  };
  const auto apply = [&](int n, int index) {
    const Part part(a.pixels, a.channels, n, index, turns.parts);
    const auto* x = static_cast<const B16*>(a.x.data) + part.n * a.x.sample + part.channel;
    const auto* dy =
        static_cast<const B16*>(a.gradient) + part.n * a.pixels * static_cast<int64_t>(a.channels) + part.channel;
    const auto added = [&](const Strided& s) {
      return s.data ? static_cast<const B16*>(s.data) + part.n * s.sample + part.channel : nullptr;
    };
    const B16 *add0 = added(a.add[0]), *add1 = added(a.add[1]);
    const auto addresses = [&](int p, const auto& put) {
      put(0, x + p * a.x.pixel);
      put(1, dy + static_cast<int64_t>(p) * a.channels);
      if (add0) put(2, add0 + p * a.add[0].pixel);
      if (add1) put(3, add1 + p * a.add[1].pixel);
    };
    ahead.begin(part, addresses);
    const bool in_first = part.channel < a.split;
    const float out_scale = in_first ? a.scale : 1.0f;
    const int64_t out_channels = in_first ? a.split : a.channels - a.split;
    B16* out = (in_first ? static_cast<B16*>(a.first) + part.channel
                         : static_cast<B16*>(a.second) + (part.channel - a.split)) +
               part.n * a.pixels * out_channels;
    wait_for(memory.counters.known + n);
    float A[8], B[8], C[8], D[8], input[1][8] = {};
    const float* known = memory.coefficient + static_cast<int64_t>(n) * 2 * values + part.channel;
    load_shared_floats(known, A);
    load_shared_floats(known + a.channels, B);
    load_shared_floats(known + values, C);
    load_shared_floats(known + values + a.channels, D);
    ahead.each_pixel(part, addresses, [&](int p, const auto& at) {
      float value[8], d[8];
      unpack(at(0), value);
      unpack(at(1), d);
#pragma unroll
      for (int j = 0; j < 8; ++j) d[j] = A[j] * gradient_of_z(value[j], d[j], A[j], B[j]) + (C[j] * value[j] + D[j]);
      const auto plus = [&](int tensor) {
        float more[8];
        unpack(at(tensor), more);
#pragma unroll
        for (int j = 0; j < 8; ++j) d[j] += more[j];
      };
      if (add0) plus(2);
      if (add1) plus(3);
#pragma unroll
      for (int j = 0; j < 8; ++j) d[j] *= out_scale, input[0][j] += d[j];
      store_vector(out + p * out_channels, pack<B16>(d));
    });
    if (a.column_input < 0) return;
    block_sums<1>(input, part.vectors, a.channels, scratch, total);
    float* of_sample = memory.input + static_cast<int64_t>(n) * turns.parts * a.channels;
    copy_values(total, a.channels, of_sample + static_cast<int64_t>(index) * a.channels);
    if (!is_last_part(memory.counters.done + n, turns.parts)) return;
    add_parts(of_sample, turns.parts, a.channels, total);
    copy_values(total, a.split, a.sums + static_cast<int64_t>(n) * a.width + a.column_input);
  };
  take_turns(turns, memory.counters.next, sum, apply);
}

int parts_of(int pixels, int channels) {
  const int64_t bytes = int64_t{2} * pixels * channels;
  return static_cast<int>(std::clamp<int64_t>((bytes + kPartBytes / 2) / kPartBytes, 1, pixels / 16));
}

template <class Ahead, class Kernel, class Args>
void launch(Kernel kernel, const Args& a, cudaStream_t stream) {
  const PartShape shape(a.channels);
  const int floats = (4 + 2 * shape.scratch) * a.channels;  // a multiple of eight
  const size_t bytes = static_cast<size_t>(floats) * sizeof(float) + static_cast<size_t>(shape.threads) * Ahead::kBytes;
  if (!allow_shared(kernel, bytes)) throw std::runtime_error("[cuda] norm: the device is too small");
  int resident = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, shape.threads, bytes), "norm");
  static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  Turns turns{a.samples, parts_of(a.pixels, a.channels), 0};
  const int blocks = std::min(static_cast<int>(turns.count()), std::max(1, resident) * multiprocessors);
  // So far behind that the blocks at work, and what each has drawn ahead, lie between the two passes.
  turns.lag = std::min(a.samples, blocks / turns.parts + 2);
  const TurnMemory memory(a.workspace, turns, a.channels);
  check(cudaMemsetAsync(memory.counters.next, 0, static_cast<size_t>(TurnCounters::size(a.samples)) * sizeof(unsigned),
                        stream),
        "norm");
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(shape.threads), bytes, stream>>>(a, turns, memory,
                                                                                                 floats);
  check(cudaGetLastError(), "norm");
}

}  // namespace

// Not by default: these kernels have been emulated on a CPU, but have not been timed on a device.
bool takes_turns(Type type, int pixels, int channels) {
  static const char* wanted = std::getenv("HTFM_NORM_TURNS");
  return wanted && std::strcmp(wanted, "1") == 0 && type == Type::bfloat16 && pixels >= 1024 && channels % 8 == 0 &&
         channels <= 8 * kPartThreads;
}

int64_t turns_workspace(int samples, int pixels, int channels) {
  return TurnMemory::floats({samples, parts_of(pixels, channels), 0}, channels);
}

void turns_forward(const NormForwardArgs& a, cudaStream_t stream) { launch<AheadForward>(forward_kernel, a, stream); }
void turns_backward(const NormBackwardArgs& a, cudaStream_t stream) {
  launch<AheadBackward>(backward_kernel, a, stream);
}

}  // namespace htfm::cuda
