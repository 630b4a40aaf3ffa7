// The kernels of a training step. All sums are taken in a fixed order: the same inputs give the same bits.
#include "htfm/base/random_cuda.h"
#include "htfm/device/step_kernels_cuda.h"
#include "htfm/net/vector_cuda.h"

namespace htfm::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kLossGroups = 64;  // of the median of means

// Sum over the block, to all threads.
__device__ double block_total(double value) {
  __shared__ double part[32];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
  __syncthreads();
  double total = 0;
  for (unsigned k = 0; k < blockDim.x / 32; ++k) total += part[k];
  __syncthreads();
  return total;
}

template <class T>
__device__ T to_type(float v);
template <>
__device__ float to_type<float>(float v) {
  return v;
}
template <>
__device__ __nv_bfloat16 to_type<__nv_bfloat16>(float v) {
  return __float2bfloat16(v);
}

// One thread a pixel.
template <class T>
__global__ void pair_kernel(PairArgs a) {
  const int pixels = a.height * a.width;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<int64_t>(a.rows) * pixels) return;
  const int64_t n = i / pixels, p = i % pixels, dim = static_cast<int64_t>(pixels) * a.channels;
  const StepRow row = a.row[n];
  if (p == 0) a.time[n] = row.time;
  const int64_t mirrored = p / a.width * a.width + (a.width - 1 - p % a.width), from = row.flip ? mirrored : p;
  T* input = static_cast<T*>(a.input) + i * a.padded;
  float* target = a.target + i * a.channels;
  for (int c = 0; c < a.channels; ++c) {
    float in = 0, out = 0;
    if (row.index >= 0) {
      const float x = a.data[row.index * dim + c * pixels + from];
      const int64_t element = n * dim + c * pixels + p;
      float z = a.noise ? a.noise[element]
                        : static_cast<float>(normal_draw(a.header->noise_key,
                                                         a.header->first_element + static_cast<uint64_t>(element)));
      z = fminf(fmaxf(z, -row.noise_bound), row.noise_bound);
      in = row.data_in * x + row.noise_in * z;
      out = row.data_target * x + row.noise_target * z;
    }
    input[c] = to_type<T>(in);
    target[c] = out;
  }
  for (int c = a.channels; c < a.padded; ++c) input[c] = to_type<T>(0.0f);
}

// Losses that are sums over elements.
template <class T>
__global__ void element_loss_kernel(LossArgs a) {
  const int64_t all = static_cast<int64_t>(a.rows) * a.pixels;
  const double inverse = a.header->inverse_count;
  double sum = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < all;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const bool there = a.row[i / a.pixels].index >= 0;
    T* gradient = static_cast<T*>(a.gradient) + i * a.padded;
    for (int c = 0; c < a.padded; ++c) {
      float g = 0;
      if (there && c < a.channels) {
        const float d = a.output[i * a.channels + c] - a.target[i * a.channels + c];
        if (a.loss == Loss::squared) {
          sum += static_cast<double>(d) * d;
          g = static_cast<float>(2 * inverse * d);
        } else {
          const float size = fabsf(d);
          sum += size < 1 ? 0.5 * static_cast<double>(d) * d : static_cast<double>(size) - 0.5;
          g = static_cast<float>(inverse * fminf(fmaxf(d, -1.0f), 1.0f));
        }
      }
      gradient[c] = to_type<T>(g);
    }
  }
  sum = block_total(sum);
  if (threadIdx.x == 0) a.partial[blockIdx.x] = sum * a.header->inverse_count;
}

// The sum of squared differences of one row, to all threads of the block.
__device__ double row_squares(const LossArgs& a, int64_t row) {
  const int64_t dim = static_cast<int64_t>(a.pixels) * a.channels;
  double sum = 0;
  for (int64_t k = row * dim + threadIdx.x; k < (row + 1) * dim; k += blockDim.x) {
    const double d = static_cast<double>(a.output[k]) - a.target[k];
    sum += d * d;
  }
  return block_total(sum);
}

// The gradient of one row: its differences times a factor.
template <class T>
__device__ void write_gradient(const LossArgs& a, int64_t row, double factor) {
  for (int64_t p = row * a.pixels + threadIdx.x; p < (row + 1) * a.pixels; p += blockDim.x) {
    T* gradient = static_cast<T*>(a.gradient) + p * a.padded;
    for (int c = 0; c < a.padded; ++c) {
      const bool there = factor != 0 && c < a.channels;
      const int64_t k = p * a.channels + c;
      gradient[c] =
          to_type<T>(there ? static_cast<float>(factor * (static_cast<double>(a.output[k]) - a.target[k])) : 0.0f);
    }
  }
}

// Losses that look at whole rows: a block takes one data row at a time.
template <class T>
__global__ void row_loss_kernel(LossArgs a) {
  const int each = a.outer * a.inner;
  const double dim = static_cast<double>(a.pixels) * a.channels, inverse = a.header->inverse_count;
  double total = 0;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * each; first < a.rows;
       first += static_cast<int64_t>(gridDim.x) * each) {
    if (a.row[first].index < 0) {
      for (int k = 0; k < each; ++k) write_gradient<T>(a, first + k, 0);
      continue;
    }
    if (a.loss == Loss::root) {
      const double root = sqrt(row_squares(a, first) / dim + 1e-12);  // its gradient would be infinite at zero
      total += root * dim * inverse;
      write_gradient<T>(a, first, inverse / root);
      continue;
    }
    // The group whose rank is the lower median: as many before it as (outer - 1) / 2, ties in their order.
    __shared__ double group[kLossGroups];
    for (int g = 0; g < a.outer; ++g) {
      double sum = 0;
      for (int k = 0; k < a.inner; ++k) sum += row_squares(a, first + g * a.inner + k);
      if (threadIdx.x == 0) group[g] = isnan(sum) ? INFINITY : sum;
    }
    __syncthreads();
    int chosen = 0;
    for (int g = 0; g < a.outer; ++g) {
      int before = 0;
      for (int h = 0; h < a.outer; ++h) before += group[h] < group[g] || (group[h] == group[g] && h < g);
      if (before == (a.outer - 1) / 2) chosen = g;
    }
    const double share = inverse * a.outer;  // one group of each counts
    total += group[chosen] * share;
    for (int k = 0; k < each; ++k) write_gradient<T>(a, first + k, k / a.inner == chosen ? 2 * share : 0);
    __syncthreads();
  }
  if (threadIdx.x == 0) a.partial[blockIdx.x] = total;
}

__global__ void totals_kernel(const float* x, int64_t rows, int64_t columns, float* out) {
  const int64_t c = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  float sum[4] = {};
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4)
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] += x[(r + k) * columns + c];
  for (; r < rows; ++r) sum[0] += x[r * columns + c];
  out[c] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Four gradients at a time.
__device__ float4 gradient_at(const Segment& s, int i) {
  if (s.bfloat16) {
    const auto* g = static_cast<const __nv_bfloat16*>(s.gradient) + i;
    if (i + 4 <= s.count && reinterpret_cast<uintptr_t>(g) % 8 == 0) {
      const uint2 w = *reinterpret_cast<const uint2*>(g);
      return make_float4(__uint_as_float(w.x << 16), __uint_as_float(w.x & 0xffff0000u), __uint_as_float(w.y << 16),
                         __uint_as_float(w.y & 0xffff0000u));
    }
    return make_float4(__bfloat162float(g[0]), i + 1 < s.count ? __bfloat162float(g[1]) : 0.0f,
                       i + 2 < s.count ? __bfloat162float(g[2]) : 0.0f,
                       i + 3 < s.count ? __bfloat162float(g[3]) : 0.0f);
  }
  const float* g = static_cast<const float*>(s.gradient) + i;
  return make_float4(g[0], i + 1 < s.count ? g[1] : 0.0f, i + 2 < s.count ? g[2] : 0.0f, i + 3 < s.count ? g[3] : 0.0f);
}

__global__ void norm_kernel(const Segment* segment, double* partial) {
  const Segment s = segment[blockIdx.x];
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x) * 4; i < s.count; i += static_cast<int>(blockDim.x) * 4) {
    const float4 g = gradient_at(s, i);
    sum += g.x * g.x + g.y * g.y + g.z * g.z + g.w * g.w;
  }
  const double total = block_total(static_cast<double>(sum));
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

// Whether the step counts, and its coefficients.
__global__ void decide_kernel(UpdateArgs a) {
  double loss = 0, square = 0;
  for (int i = static_cast<int>(threadIdx.x); i < kLossBlocks; i += static_cast<int>(blockDim.x))
    loss += a.loss_partial[i];
  for (int i = static_cast<int>(threadIdx.x); i < a.segments; i += static_cast<int>(blockDim.x))
    square += a.norm_partial[i];
  loss = block_total(loss);
  square = block_total(square);
  if (threadIdx.x != 0) return;
  StepState& s = *a.state;
  const OptimiserConstants& c = a.constants;
  const double norm = sqrt(square);
  s.loss = loss, s.norm = norm;
  s.good = isfinite(loss) && isfinite(norm) ? 1 : 0;
  if (!s.good) {
    ++s.skipped, ++s.bad_in_a_row;
    return;
  }
  s.bad_in_a_row = 0, ++s.updates, ++s.loss_count, s.loss_sum += loss;
  const auto count = static_cast<double>(s.updates);
  s.lr = a.header->lr;
  s.gradient_scale = c.clip > 0 && norm > c.clip ? static_cast<float>(c.clip / norm) : 1.0f;
  s.step_size = static_cast<float>(s.lr / (1 - pow(static_cast<double>(c.beta1), count)));
  s.root_correction = static_cast<float>(1 / sqrt(1 - pow(static_cast<double>(c.beta2), count)));
  s.ema = c.ema_warmup ? static_cast<float>(fmin(static_cast<double>(c.ema), (1 + count) / (10 + count))) : c.ema;
}

// Momentum of Muon's matrices, and where it will be one step ahead.
__global__ void momentum_kernel(UpdateArgs a) {
  const StepState s = *a.state;
  const Segment segment = a.segment[blockIdx.x];
  if (!s.good || !segment.direction) return;
  const float keep = a.constants.muon_momentum;
  for (int i = static_cast<int>(threadIdx.x) * 4; i < segment.count; i += static_cast<int>(blockDim.x) * 4) {
    const float4 g = gradient_at(segment, i);
    const float part[4] = {g.x, g.y, g.z, g.w};
    for (int k = 0; k < 4 && i + k < segment.count; ++k) {
      const float scaled = part[k] * s.gradient_scale;
      float& m = a.first[segment.offset + i + k];
      m = keep * m + (1 - keep) * scaled;
      segment.direction[i + k] = keep * m + (1 - keep) * scaled;
    }
  }
}

__device__ void move_one(const StepState& s, const Segment& segment, float direction, float& p, float& e) {
  p = p - s.lr * (segment.decay * p + segment.scale * direction);
  e = s.ema * e + (1 - s.ema) * p;
}

__device__ void step_one(const OptimiserConstants& c, const StepState& s, float decay, float g, float& p, float& m,
                         float& v, float& e) {
  g *= s.gradient_scale;
  m = c.beta1 * m + (1 - c.beta1) * g;
  v = c.beta2 * v + (1 - c.beta2) * g * g;
  p = p - s.lr * decay * p - s.step_size * m / (sqrtf(v) * s.root_correction + c.epsilon);
  e = s.ema * e + (1 - s.ema) * p;
}

__global__ void update_kernel(UpdateArgs a) {
  const StepState s = *a.state;
  if (!s.good) return;
  const Segment segment = a.segment[blockIdx.x];
  const OptimiserConstants c = a.constants;
  if (segment.direction) {
    for (int i = static_cast<int>(threadIdx.x); i < segment.count; i += static_cast<int>(blockDim.x)) {
      const int64_t at = segment.offset + i;
      move_one(s, segment, segment.direction[i], a.parameters[at], a.ema[at]);
      if (a.bf16_parameters) static_cast<__nv_bfloat16*>(a.bf16_parameters)[at] = __float2bfloat16(a.parameters[at]);
    }
    return;
  }
  for (int i = static_cast<int>(threadIdx.x) * 4; i < segment.count; i += static_cast<int>(blockDim.x) * 4) {
    const float4 g = gradient_at(segment, i);
    const int64_t at = segment.offset + i;
    if (i + 4 <= segment.count) {
      float4 p = *reinterpret_cast<float4*>(a.parameters + at), m = *reinterpret_cast<float4*>(a.first + at),
             v = *reinterpret_cast<float4*>(a.second + at), e = *reinterpret_cast<float4*>(a.ema + at);
      step_one(c, s, segment.decay, g.x, p.x, m.x, v.x, e.x);
      step_one(c, s, segment.decay, g.y, p.y, m.y, v.y, e.y);
      step_one(c, s, segment.decay, g.z, p.z, m.z, v.z, e.z);
      step_one(c, s, segment.decay, g.w, p.w, m.w, v.w, e.w);
      *reinterpret_cast<float4*>(a.parameters + at) = p;
      *reinterpret_cast<float4*>(a.first + at) = m;
      *reinterpret_cast<float4*>(a.second + at) = v;
      *reinterpret_cast<float4*>(a.ema + at) = e;
      if (a.bf16_parameters) {
        const __nv_bfloat162 low = __floats2bfloat162_rn(p.x, p.y), high = __floats2bfloat162_rn(p.z, p.w);
        uint2 w;
        w.x = *reinterpret_cast<const unsigned*>(&low), w.y = *reinterpret_cast<const unsigned*>(&high);
        *reinterpret_cast<uint2*>(static_cast<__nv_bfloat16*>(a.bf16_parameters) + at) = w;
      }
    } else {
      const float part[4] = {g.x, g.y, g.z, g.w};
      for (int k = 0; i + k < segment.count; ++k) {
        step_one(c, s, segment.decay, part[k], a.parameters[at + k], a.first[at + k], a.second[at + k], a.ema[at + k]);
        if (a.bf16_parameters)
          static_cast<__nv_bfloat16*>(a.bf16_parameters)[at + k] = __float2bfloat16(a.parameters[at + k]);
      }
    }
  }
}

__global__ void collect_kernel(const Segment* segments, float* flat) {
  const Segment s = segments[blockIdx.x];
  for (int i = static_cast<int>(threadIdx.x) * 4; i < s.count; i += static_cast<int>(blockDim.x) * 4) {
    const float4 g = gradient_at(s, i);
    float* to = flat + s.offset + i;
    to[0] = g.x;
    if (i + 1 < s.count) to[1] = g.y;
    if (i + 2 < s.count) to[2] = g.z;
    if (i + 3 < s.count) to[3] = g.w;
  }
}

}  // namespace

void collect_gradients(const Segment* segment, int segments, float* flat, cudaStream_t stream) {
  collect_kernel<<<static_cast<unsigned>(segments), kThreads, 0, stream>>>(segment, flat);
  check(cudaGetLastError(), "collect");
}

void make_pairs(const PairArgs& a, cudaStream_t stream) {
  const int64_t all = static_cast<int64_t>(a.rows) * a.height * a.width;
  const auto blocks = static_cast<unsigned>((all + kThreads - 1) / kThreads);
  if (a.type == Type::float32)
    pair_kernel<float><<<blocks, kThreads, 0, stream>>>(a);
  else
    pair_kernel<__nv_bfloat16><<<blocks, kThreads, 0, stream>>>(a);
  check(cudaGetLastError(), "pairs");
}

void loss_gradient(const LossArgs& a, cudaStream_t stream) {
  if (a.outer > kLossGroups)
    throw std::runtime_error("[baseline.outer] expected at most " + std::to_string(kLossGroups) +
                             " groups on a device");
  const bool elements = a.loss == Loss::squared || a.loss == Loss::smooth_l1;
  const auto kernel = a.type == Type::float32
                          ? (elements ? element_loss_kernel<float> : row_loss_kernel<float>)
                          : (elements ? element_loss_kernel<__nv_bfloat16> : row_loss_kernel<__nv_bfloat16>);
  kernel<<<kLossBlocks, kThreads, 0, stream>>>(a);
  check(cudaGetLastError(), "loss");
}

void column_totals(const float* x, int64_t rows, int64_t columns, float* out, cudaStream_t stream) {
  constexpr int threads = 64;
  totals_kernel<<<static_cast<unsigned>((columns + threads - 1) / threads), threads, 0, stream>>>(x, rows, columns,
                                                                                                  out);
  check(cudaGetLastError(), "column totals");
}

void begin_update(const UpdateArgs& a, cudaStream_t stream) {
  norm_kernel<<<static_cast<unsigned>(a.segments), kThreads, 0, stream>>>(a.segment, a.norm_partial);
  decide_kernel<<<1, 1024, 0, stream>>>(a);
  if (a.directions) momentum_kernel<<<static_cast<unsigned>(a.segments), kThreads, 0, stream>>>(a);
  check(cudaGetLastError(), "momentum");
}

void end_update(const UpdateArgs& a, cudaStream_t stream) {
  update_kernel<<<static_cast<unsigned>(a.segments), kThreads, 0, stream>>>(a);
  check(cudaGetLastError(), "update");
}

}  // namespace htfm::cuda
