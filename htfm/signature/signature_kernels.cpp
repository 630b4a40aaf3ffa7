#include "htfm/signature/signature_kernels.h"

#include "htfm/signature/limits.h"
#include "htfm/signature/path_lanes.h"

namespace htfm {
namespace {

constexpr int kChunk = 32;  // points transposed at a time; times any number of channels it fills whole squares

template <class T>
constexpr T kInverse[kMaxDepth] = {T(1), T(1) / 2, T(1) / 3, T(1) / 4, T(1) / 5, T(1) / 6};

constexpr int64_t power(int64_t base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }
// Words of length 1..depth.
constexpr int64_t words_up_to(int64_t channels, int depth) {
  return depth == 0 ? 0 : power(channels, depth) + words_up_to(channels, depth - 1);
}

// One segment of the path multiplies the signature S by exp(x). Level k of the product, in Horner's form, is
//   S_k + (S_(k-1) + ... (S_2 + (S_1 + x/k) x/(k-1)) x/(k-2) ...) x.
// We walk the tree of words and carry, at a word of length j, the factors of all levels k > j that pass through it:
// t[r] is the one of level j+1+r. Each coordinate is then read and written once. scaled[r] holds x/(r+1).

// Below the word number Word of length J in a tree of R levels that is kept in registers.
template <int D, int R, int J, int Word, class V>
HTFM_INLINE void visit_registers(V* tree, const V* t, const V (*scaled)[D]) {
  unroll<0, D>([&](auto letter) HTFM_INLINE_LAMBDA {
    constexpr int i = letter, child = Word * D + i, at = words_up_to(D, J) + child;
    const V s = tree[at];
    V u[R];
    unroll<0, R - J>([&](auto level) HTFM_INLINE_LAMBDA { u[level] = t[level] * scaled[level][i] + s; });
    tree[at] = u[0];
    if constexpr (J + 1 < R) visit_registers<D, R, J + 1, child>(tree, u + 1, scaled);
  });
}

// The same in memory; `below` is the level of the word's children, R levels are below the word.
template <int R, class V>
HTFM_INLINE void visit_memory(V* below, int64_t level_words, int64_t word, const V* t, const V (*scaled)[kMaxChannels],
                              int channels) {
  for (int i = 0; i < channels; ++i) {
    const int64_t child = word * channels + i;
    const V s = below[child];
    below[child] = t[0] * scaled[0][i] + s;
    if constexpr (R > 1) {
      V u[R - 1];
      for (int r = 1; r < R; ++r) u[r - 1] = t[r] * scaled[r][i] + s;
      visit_memory<R - 1>(below + level_words, level_words * channels, child, u, scaled, channels);
    }
  }
}

// The words below a prefix depend on the rest of the tree only through the beginnings of the prefix. So a large tree is
// done prefix by prefix, each part small enough for the registers or the cache. This walks along a prefix of Q letters.
template <class T, int Q>
struct Prefix {
  Vector<T> value[Q + 1];
  int letter[Q + 1];

  Prefix(const Vector<T>* state, int channels, int word) {
    for (int j = Q; j > 0; --j, word /= channels) {
      value[j - 1] = state[words_up_to(channels, j - 1) + word];
      letter[j - 1] = word % channels;
    }
  }

  // One segment: moves the prefix on and leaves in t the factors for the R levels below it.
  template <int R>
  HTFM_INLINE void advance(const Vector<T>* from, const Vector<T>* to, Vector<T>* t) {
    unroll<0, Q + R>([&](auto level) HTFM_INLINE_LAMBDA { t[level] = Vector<T>{} + T(1); });
    unroll<0, Q>([&](auto place) HTFM_INLINE_LAMBDA {
      constexpr int j = place;
      const Vector<T> x = to[letter[j]] - from[letter[j]], s = value[j];
      value[j] = t[0] * x + s;
      unroll<1, Q - j + R>([&](auto level) HTFM_INLINE_LAMBDA {
        constexpr int r = level;
        t[r - 1] = t[r] * (x * kInverse<T>[r]) + s;
      });
    });
  }
};

// R levels below a prefix of Q letters, over the segments of a chunk, in registers.
template <class T, int D, int Q, int R>
void advance_registers(Vector<T>* state, int prefix, const Vector<T>* points, int count) {
  using V = Vector<T>;
  Prefix<T, Q> path(state, D, prefix);
  V tree[words_up_to(D, R)], last[D];
  const auto each_word = [&](const auto& f) HTFM_INLINE_LAMBDA {
    unroll<0, R>([&](auto level) HTFM_INLINE_LAMBDA {
      constexpr int r = level, size = power(D, r + 1), inside = words_up_to(D, r), outside = words_up_to(D, Q + r);
      unroll<0, size>([&](auto w) HTFM_INLINE_LAMBDA { f(tree[inside + w], state[outside + prefix * size + w]); });
    });
  };
  each_word([](V& in, const V& out) HTFM_INLINE_LAMBDA { in = out; });
  unroll<0, D>([&](auto i) HTFM_INLINE_LAMBDA { last[i] = points[i]; });
  for (const V *from = points, *end = points + (count - 1) * D; from != end; from += D) {
    V scaled[R][D], t[Q + R];
    unroll<0, D>([&](auto letter) HTFM_INLINE_LAMBDA {
      constexpr int i = letter;
      const V next = from[D + i], x = next - last[i];
      last[i] = next;
      unroll<0, R>([&](auto r) HTFM_INLINE_LAMBDA { scaled[r][i] = x * kInverse<T>[r]; });
    });
    path.template advance<R>(from, from + D, t);
    visit_registers<D, R, 0, 0>(tree, t, scaled);
  }
  each_word([](const V& in, V& out) HTFM_INLINE_LAMBDA { out = in; });
}

// Below the word number Word of length J at the top of a tree: the factors for the R levels below a word of Q letters
// go to `factors`, kSide segments apart for each such word.
constexpr int kSide = 32;  // segments at a time
template <int D, int Q, int R, int J, int Word, class V>
HTFM_INLINE void visit_top(V* tree, const V* t, const V (*scaled)[D], V (*factors)[R]) {
  unroll<0, D>([&](auto letter) HTFM_INLINE_LAMBDA {
    constexpr int i = letter, child = Word * D + i, at = words_up_to(D, J) + child;
    const V s = tree[at];
    V u[Q + R];
    unroll<0, Q + R - J>([&](auto level) HTFM_INLINE_LAMBDA { u[level] = t[level] * scaled[level][i] + s; });
    tree[at] = u[0];
    if constexpr (J + 1 < Q) {
      visit_top<D, Q, R, J + 1, child>(tree, u + 1, scaled, factors);
    } else {
      unroll<0, R>([&](auto level) HTFM_INLINE_LAMBDA { factors[child * kSide][level] = u[level + 1]; });
    }
  });
}

// A tree of Q + R levels over at most kSide segments: the first Q once, with the factors for what is below them kept in
// memory, then R levels below each word of Q letters. Both fit into the registers.
template <class T, int D, int Q, int R>
void advance_halves(Vector<T>* state, const Vector<T>* points, int segments) {
  using V = Vector<T>;
  constexpr int prefixes = power(D, Q), words = words_up_to(D, Q);
  V scaled[kSide][R][D], factors[prefixes * kSide][R], top[words];
  unroll<0, words>([&](auto w) HTFM_INLINE_LAMBDA { top[w] = state[w]; });
  for (int p = 0; p < segments; ++p) {
    V own[Q + R][D], t[Q + R];
    unroll<0, D>([&](auto letter) HTFM_INLINE_LAMBDA {
      constexpr int i = letter;
      const V x = points[(p + 1) * D + i] - points[p * D + i];
      unroll<0, Q + R>([&](auto r) HTFM_INLINE_LAMBDA { own[r][i] = x * kInverse<T>[r]; });
      unroll<0, R>([&](auto r) HTFM_INLINE_LAMBDA { scaled[p][r][i] = own[r][i]; });
    });
    unroll<0, Q + R>([&](auto level) HTFM_INLINE_LAMBDA { t[level] = V{} + T(1); });
    visit_top<D, Q, R, 0, 0>(top, t, own, factors + p);
  }
  unroll<0, words>([&](auto w) HTFM_INLINE_LAMBDA { state[w] = top[w]; });
  for (int prefix = 0; prefix < prefixes; ++prefix) {
    V tree[words_up_to(D, R)];
    const auto each_word = [&](const auto& f) HTFM_INLINE_LAMBDA {
      unroll<0, R>([&](auto level) HTFM_INLINE_LAMBDA {
        constexpr int r = level, size = power(D, r + 1), inside = words_up_to(D, r), outside = words_up_to(D, Q + r);
        unroll<0, size>([&](auto w) HTFM_INLINE_LAMBDA { f(tree[inside + w], state[outside + prefix * size + w]); });
      });
    };
    each_word([](V& in, const V& out) HTFM_INLINE_LAMBDA { in = out; });
    for (int p = 0; p < segments; ++p) visit_registers<D, R, 0, 0>(tree, factors[prefix * kSide + p], scaled[p]);
    each_word([](const V& in, V& out) HTFM_INLINE_LAMBDA { out = in; });
  }
}

template <class T, int D, int Q, int R>
void advance_in_halves(Vector<T>* state, const Vector<T>* points, int count) {
  for (int left = count - 1; left > 0; left -= kSide, points += kSide * D)
    advance_halves<T, D, Q, R>(state, points, left < kSide ? left : kSide);
}

// The same with the words in memory, for any number of letters.
template <class T, int Q, int R>
void advance_memory(Vector<T>* state, int prefix, const Vector<T>* points, int count, int channels) {
  using V = Vector<T>;
  Prefix<T, Q> path(state, channels, prefix);
  V* below = state + words_up_to(channels, Q);
  for (int p = 1; p < count; ++p, points += channels) {
    V scaled[R][kMaxChannels], t[Q + R];
    for (int i = 0; i < channels; ++i) {
      const V x = points[channels + i] - points[i];
      for (int r = 0; r < R; ++r) scaled[r][i] = x * kInverse<T>[r];
    }
    path.template advance<R>(points, points + channels, t);
    visit_memory<R>(below, power(channels, Q + 1), prefix, t, scaled, channels);
  }
}

// A tree of M levels: at most R of them below each prefix, then the prefixes themselves. These come last since the
// words below start from their old values. D = 0 stands for any number of channels.
template <class T, int D, int M, int R>
void advance_tree(Vector<T>* state, const Vector<T>* points, int count, int channels) {
  constexpr int r = M < R ? M : R, q = M - r;
  for (int prefix = 0; prefix < power(channels, q); ++prefix) {
    if constexpr (D == 0) {
      advance_memory<T, q, r>(state, prefix, points, count, channels);
    } else {
      advance_registers<T, D, q, r>(state, prefix, points, count);
    }
  }
  if constexpr (q > 0) advance_tree<T, D, q, R>(state, points, count, channels);
}

template <class T, int D, int R>
void advance_depth(Vector<T>* state, const Vector<T>* points, int count, int channels, int depth) {
  switch (depth) {
    case 1: return advance_tree<T, D, 1, R>(state, points, count, channels);
    case 2: return advance_tree<T, D, 2, R>(state, points, count, channels);
    case 3: return advance_tree<T, D, 3, R>(state, points, count, channels);
    case 4: return advance_tree<T, D, 4, R>(state, points, count, channels);
    case 5: return advance_tree<T, D, 5, R>(state, points, count, channels);
    default: return advance_tree<T, D, 6, R>(state, points, count, channels);
  }
}

// Two letters, of which 14 words (three levels) fit into the registers beside the factors.
template <class T>
void advance_two(Vector<T>* state, const Vector<T>* points, int count, int depth) {
  switch (depth) {
    case 1: return advance_tree<T, 2, 1, 3>(state, points, count, 2);
    case 2: return advance_tree<T, 2, 2, 3>(state, points, count, 2);
    case 3: return advance_tree<T, 2, 3, 3>(state, points, count, 2);
    case 4: return advance_in_halves<T, 2, 1, 3>(state, points, count);
    case 5: return advance_in_halves<T, 2, 2, 3>(state, points, count);
    default: return advance_in_halves<T, 2, 3, 3>(state, points, count);
  }
}

// How many levels to take at a time: as many words as fit into the registers beside the factors.
template <class T>
void advance(Vector<T>* state, const Vector<T>* points, int count, int channels, int depth) {
  switch (channels) {
    case 1: return advance_depth<T, 1, 6>(state, points, count, channels, depth);
    case 2: return advance_two<T>(state, points, count, depth);
    case 3: return advance_depth<T, 3, 2>(state, points, count, channels, depth);
    case 4: return advance_depth<T, 4, 2>(state, points, count, channels, depth);
    default: return advance_depth<T, 0, 3>(state, points, count, channels, depth);
  }
}

// The points of the path that the convention makes of samples 0..count-1 of a chunk; the path has reached sample 0.
template <class T>
int follow(const SignatureJob<T>& job, const Vector<T>* samples, const T* times, int count, Vector<T>* points) {
  const int step = job.moves * job.width;
  for (int c = 0; c < job.width; ++c) {
    const int shift = times == nullptr ? 0 : 1;
    Vector<T>* to = points + c;
    if (job.source[c] < shift) {
      for (int i = 0; i < count; ++i) to[i * step] = Vector<T>{} + times[i];
    } else {
      const Vector<T>* from = samples + job.source[c] - shift;
      for (int i = 0; i < count; ++i) to[i * step] = from[i * job.channels];
    }
    if (job.moves == 2) {
      const int held = job.waits[c] ? 0 : step;
      for (int i = 1; i < count; ++i, to += step) to[job.width] = to[held];
    }
  }
  return 1 + job.moves * (count - 1);
}

template <class T>
void signature_lanes(const SignatureJob<T>& job, const T* const* rows, Vector<T>* state) {
  using V = Vector<T>;
  const int c = job.channels;
  const bool plain = job.times == nullptr && job.moves == 1;
  V samples[(kChunk + 1) * kMaxChannels], points[(2 * kChunk + 1) * kMaxChannels];
  const T* here[kLanesOf<T>];
  for (int64_t begin = 0, held = 0; begin < job.points; begin += kChunk) {
    // From the second chunk on, sample 0 is the last one of the chunk before.
    const int known = held > 0 ? 1 : 0;
    for (int i = 0; i < known * c; ++i) samples[i] = samples[(held - 1) * c + i];
    const int64_t fresh = begin + kChunk <= job.points ? kChunk : job.points - begin;
    for (int lane = 0; lane < kLanesOf<T>; ++lane) here[lane] = rows[lane] + begin * c;
    gather_lanes<T>(here, fresh * c, samples + known * c);
    held = fresh + known;
    if (plain) {
      advance<T>(state, samples, static_cast<int>(held), c, job.depth);
    } else {
      const T* times = job.times == nullptr ? nullptr : job.times + begin - known;
      advance<T>(state, points, follow(job, samples, times, static_cast<int>(held), points), job.width, job.depth);
    }
  }
}

// The coefficients of the Lyndon words in log S = S t_1, where t_n = 1/n - S t_(n+1) and S is without its 1. Only
// levels up to depth - n of t_n are needed, so this is cheap; t takes words_up_to(channels, depth - 1) + 1 vectors.
template <class T>
void log_words(const LogPlan& plan, const Vector<T>* state, int channels, int depth, Vector<T>* t, Vector<T>* words) {
  using V = Vector<T>;
  const V* s[kMaxDepth + 1];
  V* level[kMaxDepth + 1];
  int64_t size[kMaxDepth + 1];
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
    for (int32_t e = plan.row_begin[w]; e < plan.row_begin[w + 1]; ++e)
      words[w] -= T(plan.value[e]) * words[plan.column[e]];
  }
}

template <class T>
void block(const SignatureJob<T>& job, int64_t first, void* work) {
  constexpr int lanes = kLanesOf<T>;
  const int64_t size = words_up_to(job.width, job.depth);
  Vector<T>* state = static_cast<Vector<T>*>(work);
  const int count = job.n - first < lanes ? static_cast<int>(job.n - first) : lanes;
  const T* rows[lanes];
  for (int lane = 0; lane < lanes; ++lane) {
    rows[lane] = job.paths + (first + (lane < count ? lane : count - 1)) * job.points *
                                 job.channels;  // spare lanes repeat the last path
  }
  for (int64_t w = 0; w < size; ++w) state[w] = Vector<T>{};
  signature_lanes<T>(job, rows, state);
  if (job.plan == nullptr) {
    scatter_lanes<T>(state, size, count, job.out + first * job.columns);
  } else {
    Vector<T>* words = state + size;
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

HTFM_DEFINE_KERNELS(SignatureKernels, kLanesOf<float>, kLanesOf<double>, &work_bytes, &block<float>, &block<double>,
                    &chen<float>, &chen<double>)

}  // namespace htfm
