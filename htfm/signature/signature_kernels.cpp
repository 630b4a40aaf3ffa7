#include "htfm/signature/signature_kernels.h"

#include "htfm/signature/lanes.h"

namespace htfm {
namespace {

constexpr int kChannels = 8, kDepth = 6;
constexpr int kChunk = 32;               // points transposed at a time; times any number of channels it fills whole squares
constexpr int64_t kSubtreeVectors = 600;  // words that a pass over a chunk may touch: half of a level-1 cache with AVX-512

template <class T>
constexpr T kInverse[kDepth] = {T(1), T(1) / 2, T(1) / 3, T(1) / 4, T(1) / 5, T(1) / 6};

constexpr int64_t power(int64_t base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }
// Words of length 1..depth.
constexpr int64_t words_up_to(int64_t channels, int depth) { return depth == 0 ? 0 : power(channels, depth) + words_up_to(channels, depth - 1); }

// One segment of the path multiplies the signature S by exp(x). Level k of the product, in Horner's form, is
//   S_k + (S_(k-1) + ... (S_2 + (S_1 + x/k) x/(k-1)) x/(k-2) ...) x.
// We walk the tree of words and carry, at a word of length j, the factors of all levels k > j that pass through it: t[r] is the
// one of level j+1+r. Each coordinate is then read and written once. scaled[r] holds x/(r+1).
template <int D, int M, int J, int Word, class V>
HTFM_INLINE void visit_fixed(V* state, const V* t, const V (*scaled)[D]) {
  unroll<0, D>([&](auto letter) HTFM_INLINE_LAMBDA {
    constexpr int i = decltype(letter)::value, child = Word * D + i, at = words_up_to(D, J) + child;
    const V s = state[at];
    V u[M];
    unroll<0, M - J>([&](auto level) HTFM_INLINE_LAMBDA {
      constexpr int r = decltype(level)::value;
      u[r] = J == 0 ? scaled[r][i] + s : t[r] * scaled[r][i] + s;
    });
    state[at] = u[0];
    if constexpr (J + 1 < M) visit_fixed<D, M, J + 1, child>(state, u + 1, scaled);
  });
}

// Few words: the whole signature stays in registers over the chunk.
template <class T, int D, int M>
void advance_fixed(Vec<T>* state, const Vec<T>* points, int count, int, int) {
  using V = Vec<T>;
  constexpr int size = words_up_to(D, M);
  V local[size], last[D];
  unroll<0, size>([&](auto i) HTFM_INLINE_LAMBDA { local[decltype(i)::value] = state[decltype(i)::value]; });
  unroll<0, D>([&](auto i) HTFM_INLINE_LAMBDA { last[decltype(i)::value] = points[decltype(i)::value]; });
  for (int p = 1; p < count; ++p) {
    V scaled[M][D];
    unroll<0, D>([&](auto letter) HTFM_INLINE_LAMBDA {
      constexpr int i = decltype(letter)::value;
      const V next = points[p * D + i], x = next - last[i];
      last[i] = next;
      unroll<0, M>([&](auto level) HTFM_INLINE_LAMBDA { scaled[decltype(level)::value][i] = x * (T(1) / T(decltype(level)::value + 1)); });
    });
    visit_fixed<D, M, 0, 0>(local, scaled[0], scaled);
  }
  unroll<0, size>([&](auto i) HTFM_INLINE_LAMBDA { state[decltype(i)::value] = local[decltype(i)::value]; });
}

// The same walk for any number of letters, with R levels below the word; `below` is the level of its children.
template <int R, class V>
HTFM_INLINE void visit(V* below, int64_t level_words, int64_t word, const V* t, const V (*scaled)[kChannels], int channels) {
  for (int i = 0; i < channels; ++i) {
    const int64_t child = word * channels + i;
    const V s = below[child];
    below[child] = t[0] * scaled[0][i] + s;
    if constexpr (R > 1) {
      V u[R - 1];
      for (int r = 1; r < R; ++r) u[r - 1] = t[r] * scaled[r][i] + s;
      visit<R - 1>(below + level_words, level_words * channels, child, u, scaled, channels);
    }
  }
}

// All words below one prefix, over the segments of a chunk. They depend on the rest of the tree only through the beginnings of the
// prefix, so a large tree is done prefix by prefix, each part small enough for the cache.
template <class T, int R>
void advance_below(Vec<T>* state, int prefix_length, int prefix, const Vec<T>* points, int count, int channels) {
  using V = Vec<T>;
  const int depth = prefix_length + R;
  V ancestor[kDepth];
  int letter[kDepth];
  for (int j = prefix_length, word = prefix; j > 0; --j, word /= channels) {
    ancestor[j - 1] = state[words_up_to(channels, j - 1) + word];
    letter[j - 1] = word % channels;
  }
  for (int p = 1; p < count; ++p) {
    V scaled[kDepth][kChannels], t[kDepth];
    for (int i = 0; i < channels; ++i) {
      const V x = points[p * channels + i] - points[(p - 1) * channels + i];
      for (int r = 0; r < depth; ++r) scaled[r][i] = x * kInverse<T>[r];
    }
    for (int r = 0; r < depth; ++r) t[r] = V{} + T(1);
    for (int j = 0; j < prefix_length; ++j) {
      const V s = ancestor[j];
      ancestor[j] = t[0] * scaled[0][letter[j]] + s;
      for (int r = 1; r < depth - j; ++r) t[r - 1] = t[r] * scaled[r][letter[j]] + s;
    }
    visit<R>(state + words_up_to(channels, prefix_length), power(channels, prefix_length + 1), prefix, t, scaled, channels);
  }
}

template <class T>
void advance_any(Vec<T>* state, const Vec<T>* points, int count, int channels, int depth) {
  int prefix_length = 0;
  while (words_up_to(channels, depth - prefix_length) > kSubtreeVectors) ++prefix_length;
  const int prefixes = static_cast<int>(power(channels, prefix_length));
  for (int prefix = 0; prefix < prefixes; ++prefix) {
    switch (depth - prefix_length) {
      case 1: advance_below<T, 1>(state, prefix_length, prefix, points, count, channels); break;
      case 2: advance_below<T, 2>(state, prefix_length, prefix, points, count, channels); break;
      case 3: advance_below<T, 3>(state, prefix_length, prefix, points, count, channels); break;
      case 4: advance_below<T, 4>(state, prefix_length, prefix, points, count, channels); break;
      case 5: advance_below<T, 5>(state, prefix_length, prefix, points, count, channels); break;
      default: advance_below<T, 6>(state, prefix_length, prefix, points, count, channels);
    }
  }
  // The prefixes themselves come last: the passes above start from their values at the beginning of the chunk.
  if (prefix_length > 0) advance_any<T>(state, points, count, channels, prefix_length);
}

template <class T>
using Advance = void (*)(Vec<T>* state, const Vec<T>* points, int count, int channels, int depth);

template <class T>
Advance<T> choose_advance(int channels, int depth) {
  switch (10 * channels + depth) {
    case 21: return &advance_fixed<T, 2, 1>;
    case 22: return &advance_fixed<T, 2, 2>;
    case 23: return &advance_fixed<T, 2, 3>;
    case 24: return &advance_fixed<T, 2, 4>;
    case 25: return &advance_fixed<T, 2, 5>;
    case 31: return &advance_fixed<T, 3, 1>;
    case 32: return &advance_fixed<T, 3, 2>;
    case 33: return &advance_fixed<T, 3, 3>;
    default: return &advance_any<T>;
  }
}

// The points of the path that the convention makes of samples 0..count-1 of a chunk; the path has reached sample 0.
template <class T>
int follow(const SignatureJob<T>& job, const Vec<T>* samples, const T* times, int count, Vec<T>* points) {
  const auto value = [&](int sample, int source) HTFM_INLINE_LAMBDA {
    if (times == nullptr) return samples[sample * job.channels + source];
    return source == 0 ? Vec<T>{} + times[sample] : samples[sample * job.channels + source - 1];
  };
  for (int c = 0; c < job.width; ++c) *points++ = value(0, job.source[c]);
  for (int sample = 1; sample < count; ++sample) {
    if (job.moves == 2) {
      for (int c = 0; c < job.width; ++c) *points++ = value(job.waits[c] ? sample - 1 : sample, job.source[c]);
    }
    for (int c = 0; c < job.width; ++c) *points++ = value(sample, job.source[c]);
  }
  return 1 + job.moves * (count - 1);
}

template <class T>
void signature_lanes(const SignatureJob<T>& job, const T* const* rows, Vec<T>* state) {
  using V = Vec<T>;
  const int c = job.channels;
  const bool plain = job.times == nullptr && job.moves == 1;
  const Advance<T> advance = choose_advance<T>(job.width, job.depth);
  V samples[(kChunk + 1) * kChannels], points[(2 * kChunk + 1) * kChannels];
  const T* here[Lanes<T>::count];
  for (int64_t begin = 0, held = 0; begin < job.points; begin += kChunk) {
    // From the second chunk on, sample 0 is the last one of the chunk before.
    const int known = held > 0 ? 1 : 0;
    for (int i = 0; i < known * c; ++i) samples[i] = samples[(held - 1) * c + i];
    const int64_t fresh = begin + kChunk <= job.points ? kChunk : job.points - begin;
    for (int lane = 0; lane < Lanes<T>::count; ++lane) here[lane] = rows[lane] + begin * c;
    gather_lanes<T>(here, fresh * c, samples + known * c);
    held = fresh + known;
    if (plain) {
      advance(state, samples, static_cast<int>(held), c, job.depth);
    } else {
      const T* times = job.times == nullptr ? nullptr : job.times + begin - known;
      advance(state, points, follow(job, samples, times, static_cast<int>(held), points), job.width, job.depth);
    }
  }
}

// The coefficients of the Lyndon words in log S = S t_1, where t_n = 1/n - S t_(n+1) and S is without its 1. Only levels up to
// depth - n of t_n are needed, so this is cheap; t takes words_up_to(channels, depth - 1) + 1 vectors.
template <class T>
void log_words(const LogPlan& plan, const Vec<T>* state, int channels, int depth, Vec<T>* t, Vec<T>* words) {
  using V = Vec<T>;
  const V* s[kDepth + 1];
  V* level[kDepth + 1];
  int64_t size[kDepth + 1];
  for (int k = 0; k <= depth; ++k) {
    size[k] = power(channels, k);
    s[k] = k == 0 ? nullptr : state + words_up_to(channels, k - 1);
    level[k] = k == 0 ? t : t + 1 + words_up_to(channels, k - 1);
  }
  t[0] = V{} + T(1) / T(depth);
  for (int n = depth - 1; n >= 1; --n) {
    for (int k = depth - n; k >= 1; --k) {
      for (int64_t w = 0; w < size[k]; ++w) level[k][w] = -s[k][w] * t[0];
      for (int i = 1; i < k; ++i) {
        for (int64_t u = 0; u < size[i]; ++u) {
          const V factor = s[i][u];
          V* to = level[k] + u * size[k - i];
          for (int64_t v = 0; v < size[k - i]; ++v) to[v] -= factor * level[k - i][v];
        }
      }
    }
    t[0] = V{} + T(1) / T(n);
  }
  for (int64_t w = 0; w < plan.words; ++w) {
    const int k = plan.length[w];
    V sum = s[k][plan.place[w]];
    for (int i = 1; i < k; ++i) {
      const auto tail = static_cast<int32_t>(size[k - i]);
      sum += s[i][plan.place[w] / tail] * level[k - i][plan.place[w] % tail];
    }
    words[w] = sum;
  }
  if (plan.row_begin == nullptr) return;
  for (int64_t w = 0; w < plan.words; ++w) {
    for (int32_t e = plan.row_begin[w]; e < plan.row_begin[w + 1]; ++e) words[w] -= T(plan.value[e]) * words[plan.column[e]];
  }
}

template <class T>
void block(const SignatureJob<T>& job, int64_t first, void* work) {
  constexpr int lanes = Lanes<T>::count;
  const int64_t size = words_up_to(job.width, job.depth);
  Vec<T>* state = static_cast<Vec<T>*>(work);
  const int count = job.n - first < lanes ? static_cast<int>(job.n - first) : lanes;
  const T* rows[lanes];
  for (int lane = 0; lane < lanes; ++lane) {
    rows[lane] = job.paths + (first + (lane < count ? lane : count - 1)) * job.points * job.channels;  // spare lanes repeat the last path
  }
  for (int64_t w = 0; w < size; ++w) state[w] = Vec<T>{};
  signature_lanes<T>(job, rows, state);
  if (job.plan == nullptr) {
    scatter_lanes<T>(state, size, count, job.out + first * job.columns);
  } else {
    Vec<T>* words = state + size;
    log_words<T>(*job.plan, state, job.width, job.depth, words + job.plan->words, words);
    scatter_lanes<T>(words, job.plan->words, count, job.out + first * job.columns);
  }
}

int64_t work_bytes(int width, int depth, int64_t plan_words) {
  const int64_t log_vectors = plan_words == 0 ? 0 : plan_words + words_up_to(width, depth - 1) + 1;
  return (words_up_to(width, depth) + log_vectors) * kVectorBytes;
}

template <class T>
void chen(const ChenJob<T>& job, int64_t begin, int64_t end) {
  const int64_t size = words_up_to(job.channels, job.depth);
  for (int64_t row = begin; row < end; ++row) {
    const T *left = job.left + row * size, *right = job.right + row * size;
    T* out = job.out + row * size;
    for (int64_t w = 0; w < size; ++w) out[w] = left[w] + right[w];
    for (int i = 1; i < job.depth; ++i) {
      for (int j = 1; i + j <= job.depth; ++j) {
        const int64_t heads = power(job.channels, i), tails = power(job.channels, j);
        const T *head = left + words_up_to(job.channels, i - 1), *tail = right + words_up_to(job.channels, j - 1);
        T* to = out + words_up_to(job.channels, i + j - 1);
        for (int64_t u = 0; u < heads; ++u) {
          for (int64_t v = 0; v < tails; ++v) to[u * tails + v] += head[u] * tail[v];
        }
      }
    }
  }
}

}  // namespace

HTFM_DEFINE_KERNELS(SignatureKernels, Lanes<float>::count, Lanes<double>::count, &work_bytes, &block<float>, &block<double>, &chen<float>,
                    &chen<double>)

}  // namespace htfm
