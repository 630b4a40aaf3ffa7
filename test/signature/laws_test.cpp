// What holds for every signature: the algebra of iterated integrals.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/random.h"
#include "htfm/signature/signature.h"

namespace htfm {
namespace {

at::Tensor random_paths(uint64_t seed, int64_t n, int64_t points, int64_t channels, at::ScalarType type = at::kDouble) {
  at::Tensor steps = at::empty({n, points, channels}, at::kDouble);
  fill_normal(Key(seed), 0, steps.numel(), steps.mutable_data_ptr<double>());
  return steps.cumsum(1).div(std::sqrt(static_cast<double>(points))).to(type);
}

double largest(const at::Tensor& x) { return x.numel() == 0 ? 0.0 : x.abs().max().item<double>(); }

// The error against the largest value: n products of depth m round by about n m 1e-16.
void expect_close(const at::Tensor& a, const at::Tensor& b, double bound = 1e-12) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_LE(largest(a.to(at::kDouble).sub(b.to(at::kDouble))), bound * std::max(1.0, largest(b.to(at::kDouble))));
}

// The truncated tensor algebra, written out: levels 0..depth.
using Series = std::vector<std::vector<double>>;

Series unit(int channels, int depth) {
  Series one(1, {1.0});
  for (int k = 1; k <= depth; ++k) one.emplace_back(one.back().size() * channels, 0.0);
  return one;
}

Series multiply(const Series& a, const Series& b) {
  Series c(a.size());
  for (size_t k = 0; k < a.size(); ++k) {
    c[k].assign(a[k].size(), 0.0);
    for (size_t i = 0; i <= k; ++i) {
      for (size_t u = 0; u < a[i].size(); ++u) {
        for (size_t v = 0; v < b[k - i].size(); ++v) c[k][u * b[k - i].size() + v] += a[i][u] * b[k - i][v];
      }
    }
  }
  return c;
}

// exp of a series without constant term, by 1 + x (1 + x/2 (1 + x/3 ...)).
Series exponential(const Series& x, int channels, int depth) {
  Series result = unit(channels, depth);
  for (int n = depth; n >= 1; --n) {
    result = multiply(x, result);
    for (auto& level : result) {
      for (double& value : level) value /= n;
    }
    result[0][0] += 1.0;
  }
  return result;
}

at::Tensor flatten(const Series& series) {
  std::vector<double> values;
  for (size_t k = 1; k < series.size(); ++k) values.insert(values.end(), series[k].begin(), series[k].end());
  at::Tensor row = at::empty({1, static_cast<int64_t>(values.size())}, at::kDouble);
  std::copy(values.begin(), values.end(), row.mutable_data_ptr<double>());
  return row;
}

// Product of the exponentials of the increments, from the definition.
at::Tensor reference_signature(const at::Tensor& path, int depth) {
  const int channels = static_cast<int>(path.size(1));
  Series result = unit(channels, depth);
  for (int64_t i = 1; i < path.size(0); ++i) {
    Series segment = unit(channels, depth);
    segment[0][0] = 0.0;
    for (int c = 0; c < channels; ++c) segment[1][c] = path[i][c].item<double>() - path[i - 1][c].item<double>();
    result = multiply(result, exponential(segment, channels, depth));
  }
  return flatten(result);
}

// A bracket like "[1,[1,2]]" as a tensor of its degree.
std::pair<int, std::vector<double>> expand(std::string_view text, int channels) {
  if (text.front() != '[') {
    std::vector<double> letter(channels, 0.0);
    letter[text.front() - '1'] = 1.0;
    return {1, letter};
  }
  size_t comma = 0;
  for (int open = 0; comma < text.size() && !(text[comma] == ',' && open == 1); ++comma)
    open += text[comma] == '[' ? 1 : text[comma] == ']' ? -1 : 0;
  const auto [da, a] = expand(text.substr(1, comma - 1), channels);
  const auto [db, b] = expand(text.substr(comma + 1, text.size() - comma - 2), channels);
  std::vector<double> result(a.size() * b.size(), 0.0);
  for (size_t u = 0; u < a.size(); ++u) {
    for (size_t v = 0; v < b.size(); ++v) {
      result[u * b.size() + v] += a[u] * b[v];
      result[v * a.size() + u] -= a[u] * b[v];
    }
  }
  return {da + db, result};
}

// The Lie series with these coordinates in the bracket basis.
Series lie_series(const at::Tensor& coordinates, int channels, int depth) {
  Series series = unit(channels, depth);
  series[0][0] = 0.0;
  const auto names = LyndonBasis::get(channels, depth).brackets();
  for (size_t l = 0; l < names.size(); ++l) {
    const auto [degree, tensor] = expand(names[l], channels);
    for (size_t w = 0; w < tensor.size(); ++w)
      series[degree][w] += coordinates[static_cast<int64_t>(l)].item<double>() * tensor[w];
  }
  return series;
}

// Place of a word in the levels laid out one after the other.
int64_t place(const std::vector<int>& word, int channels) {
  int64_t result = 0, shorter = 0;
  for (int letter : word) {
    result = result * channels + letter;
    shorter = shorter * channels + 1;
  }
  return result + shorter - 1;
}

void shuffle(const std::vector<int>& u, size_t i, const std::vector<int>& v, size_t j, std::vector<int>& word,
             std::vector<std::vector<int>>& out) {
  if (i == u.size() && j == v.size()) out.push_back(word);
  if (i < u.size()) {
    word.push_back(u[i]);
    shuffle(u, i + 1, v, j, word, out);
    word.pop_back();
  }
  if (j < v.size()) {
    word.push_back(v[j]);
    shuffle(u, i, v, j + 1, word, out);
    word.pop_back();
  }
}

std::vector<std::vector<int>> words_of_length(int channels, int length) {
  std::vector<std::vector<int>> result(1);
  for (int k = 0; k < length; ++k) {
    std::vector<std::vector<int>> longer;
    for (const auto& word : result) {
      for (int letter = 0; letter < channels; ++letter) {
        longer.push_back(word);
        longer.back().push_back(letter);
      }
    }
    result = longer;
  }
  return result;
}

TEST(SignatureSize, MoebiusFormula) {
  EXPECT_EQ(signature_size(2, 3), 14);
  EXPECT_EQ(logsignature_size(2, 3), 5);
  const std::vector<int64_t> two = {2, 3, 5, 8, 14, 23}, three = {3, 6, 14, 32, 80, 196},
                             five = {5, 15, 55, 205, 829, 3409};
  for (int m = 1; m <= 6; ++m) {
    EXPECT_EQ(logsignature_size(1, m), 1);
    EXPECT_EQ(logsignature_size(2, m), two[m - 1]);
    EXPECT_EQ(logsignature_size(3, m), three[m - 1]);
    EXPECT_EQ(logsignature_size(5, m), five[m - 1]);
  }
  for (int d = 1; d <= kMaxChannels; ++d) {
    for (int m = 1; m <= kMaxDepth; ++m)
      EXPECT_EQ(LyndonBasis::get(d, m).size(), logsignature_size(d, m)) << d << " " << m;
  }
}

TEST(LyndonBasis, NamesAsIisignatureHasThem) {
  const LyndonBasis& two = LyndonBasis::get(2, 5);
  EXPECT_EQ(two.words(), (std::vector<std::string>{"1", "2", "12", "112", "122", "1112", "1122", "1222", "11112",
                                                   "11122", "11212", "11222", "12122", "12222"}));
  EXPECT_EQ(two.brackets(),
            (std::vector<std::string>{"1", "2", "[1,2]", "[1,[1,2]]", "[[1,2],2]", "[1,[1,[1,2]]]", "[1,[[1,2],2]]",
                                      "[[[1,2],2],2]", "[1,[1,[1,[1,2]]]]", "[1,[1,[[1,2],2]]]", "[[1,[1,2]],[1,2]]",
                                      "[1,[[[1,2],2],2]]", "[[1,2],[[1,2],2]]", "[[[[1,2],2],2],2]"}));
  EXPECT_EQ(LyndonBasis::get(3, 3).brackets(),
            (std::vector<std::string>{"1", "2", "3", "[1,2]", "[1,3]", "[2,3]", "[1,[1,2]]", "[1,[1,3]]", "[[1,2],2]",
                                      "[1,[2,3]]", "[[1,3],2]", "[[1,3],3]", "[2,[2,3]]", "[[2,3],3]"}));
  EXPECT_EQ(LyndonBasis::get(2, 3).coordinates_with({1}), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(LyndonBasis::get(3, 2).coordinates_with({2}), (std::vector<int64_t>{2, 4, 5}));
}

TEST(LyndonBasis, WordsAreSmallerThanTheirRotations) {
  for (const std::string& word : LyndonBasis::get(4, 5).words()) {
    for (size_t i = 1; i < word.size(); ++i) EXPECT_LT(word, word.substr(i) + word.substr(0, i));
  }
}

// Every number of channels and depth with a way of its own through the kernels.
TEST(Signature, ProductOfExponentials) {
  for (int d = 1; d <= kMaxChannels; ++d) {
    for (int m = 1; m <= kMaxDepth; ++m) {
      if (signature_size(d, m) > 20000) continue;
      SCOPED_TRACE(fmt::format("channels {}, depth {}", d, m));
      const at::Tensor paths = random_paths(1, 3, 4, d);
      const at::Tensor ours = signature(paths, m);
      for (int64_t i = 0; i < 3; ++i) expect_close(ours.narrow(0, i, 1), reference_signature(paths[i], m));
    }
  }
}

// The largest case by a straight line, whose signature is x^k / k!.
TEST(Signature, StraightLineAtTheLargestSize) {
  const at::Tensor path = random_paths(2, 1, 2, kMaxChannels);
  Series segment = unit(kMaxChannels, kMaxDepth);
  segment[0][0] = 0.0;
  for (int c = 0; c < kMaxChannels; ++c) segment[1][c] = path[0][1][c].sub(path[0][0][c]).item<double>();
  expect_close(signature(path, kMaxDepth), flatten(exponential(segment, kMaxChannels, kMaxDepth)));
  const at::Tensor log = logsignature(path, kMaxDepth, LogBasis::brackets);
  expect_close(log.narrow(1, 0, kMaxChannels), path.select(1, 1).sub(path.select(1, 0)));
  EXPECT_LE(largest(log.narrow(1, kMaxChannels, log.size(1) - kMaxChannels)), 1e-14);
}

// Points are taken in chunks and paths in lanes: lengths and batches around their edges.
TEST(Signature, AnyNumberOfPointsAndPaths) {
  for (int64_t points : {1, 2, 5, 31, 32, 33, 34, 64, 65, 97}) {
    for (int64_t n : {0, 1, 3, 8, 17, 33}) {
      SCOPED_TRACE(fmt::format("{} paths of {} points", n, points));
      for (int d : {1, 2, 3, 5}) {
        const at::Tensor paths = random_paths(3, n, points, d);
        const at::Tensor ours = signature(paths, 3);
        ASSERT_EQ(ours.size(0), n);
        if (n > 0) expect_close(ours.narrow(0, n - 1, 1), reference_signature(paths[n - 1], 3));
        // A path's signature does not depend on its neighbours, to the last bit.
        for (int64_t i = 0; i < n; i += 5)
          EXPECT_TRUE(at::equal(ours.narrow(0, i, 1), signature(paths.narrow(0, i, 1), 3)));
      }
    }
  }
}

TEST(Signature, SameBitsForAnyNumberOfThreads) {
  for (at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor paths = random_paths(4, 500, 50, 3, type);
    const int threads = thread_count();
    set_thread_count(1);
    const at::Tensor one = logsignature(paths, 4, LogBasis::brackets);
    const at::Tensor one_chen = chen(signature(paths, 4), signature(paths.flip(1), 4), 3, 4);
    set_thread_count(3);
    const at::Tensor three = logsignature(paths, 4, LogBasis::brackets);
    const at::Tensor three_chen = chen(signature(paths, 4), signature(paths.flip(1), 4), 3, 4);
    set_thread_count(threads);
    EXPECT_TRUE(at::equal(one, three));
    EXPECT_TRUE(at::equal(one_chen, three_chen));
  }
}

// S^u S^v is the sum of S^w over all shuffles w of u and v.
TEST(Signature, ShuffleIdentity) {
  for (const auto& [d, m] : {std::pair{2, 6}, {3, 4}, {4, 3}}) {
    const at::Tensor all = signature(random_paths(5, 4, 20, d), m);
    for (int64_t row = 0; row < all.size(0); ++row) {
      const double* s = all.const_data_ptr<double>() + row * all.size(1);
      for (int k = 1; k < m; ++k) {
        for (int l = 1; k + l <= m; ++l) {
          for (const auto& u : words_of_length(d, k)) {
            for (const auto& v : words_of_length(d, l)) {
              std::vector<int> word;
              std::vector<std::vector<int>> shuffles;
              shuffle(u, 0, v, 0, word, shuffles);
              double sum = 0.0, size = 0.0;
              for (const auto& w : shuffles) {
                sum += s[place(w, d)];
                size += std::abs(s[place(w, d)]);
              }
              EXPECT_NEAR(s[place(u, d)] * s[place(v, d)], sum, 1e-12 * (1.0 + size));
            }
          }
        }
      }
    }
  }
}

TEST(Signature, ChensIdentity) {
  for (const auto& [d, m] : {std::pair{1, 6}, {2, 6}, {3, 5}, {5, 4}, {8, 3}}) {
    for (at::ScalarType type : {at::kDouble, at::kFloat}) {
      const at::Tensor paths = random_paths(6, 9, 40, d, type);
      const at::Tensor joined = chen(signature(paths.narrow(1, 0, 15), m), signature(paths.narrow(1, 14, 26), m), d, m);
      expect_close(joined, signature(paths, m), type == at::kFloat ? 1e-5 : 1e-12);
    }
  }
}

TEST(Signature, PathAndItsReversalCancel) {
  const at::Tensor paths = random_paths(7, 6, 30, 3);
  EXPECT_LE(largest(chen(signature(paths, 5), signature(paths.flip(1), 5), 3, 5)), 1e-12);
}

TEST(Signature, DoesNotDependOnParametrisationOrOrigin) {
  for (const auto& [d, m] : {std::pair{2, 5}, {5, 3}}) {
    const at::Tensor paths = random_paths(8, 5, 21, d);
    const at::Tensor before = paths.narrow(1, 0, 20), after = paths.narrow(1, 1, 20);
    // On every segment two points more, the second of them twice.
    const at::Tensor early = before.lerp(after, 0.2).unsqueeze(2), late = before.lerp(after, 0.7).unsqueeze(2);
    const at::Tensor fine = at::cat({before.unsqueeze(2), early, late, late}, 2).reshape({5, 80, d});
    const at::Tensor refined = at::cat({fine, paths.narrow(1, 20, 1)}, 1);
    expect_close(signature(refined, m), signature(paths, m));
    expect_close(logsignature(refined, m, LogBasis::brackets), logsignature(paths, m, LogBasis::brackets));
    expect_close(signature(paths.add(3.0), m), signature(paths, m), 1e-11);
  }
}

TEST(Signature, OneChannelGivesPowersOfTheIncrement) {
  const at::Tensor paths = random_paths(9, 4, 12, 1);
  const at::Tensor s = signature(paths, 6), increment = paths.select(1, 11).sub(paths.select(1, 0));
  double factorial = 1.0;
  for (int k = 1; k <= 6; ++k) {
    factorial *= k;
    expect_close(s.select(1, k - 1), increment.select(1, 0).pow(k).div(factorial));
  }
  expect_close(logsignature(paths, 6, LogBasis::words), increment);
}

// The triangle (0,0), (1,0), (1,1): area 1/2 to the left of its chord.
TEST(LogSignature, SecondLevelIsTheSignedArea) {
  at::Tensor path = at::zeros({1, 3, 2}, at::kDouble);
  path[0][1][0] = 1.0;
  path[0][2][0] = 1.0;
  path[0][2][1] = 1.0;
  EXPECT_DOUBLE_EQ(logsignature(path, 2, LogBasis::brackets)[0][2].item<double>(), 0.5);
  EXPECT_DOUBLE_EQ(logsignature(path, 2, LogBasis::words)[0][2].item<double>(), 0.5);
}

// The exponential of the Lie series with the bracket coordinates is the signature, and the words are its coefficients.
TEST(LogSignature, ExponentialGivesTheSignatureBack) {
  for (const auto& [d, m] : {std::pair{1, 6}, {2, 6}, {3, 5}, {4, 4}, {5, 3}, {8, 3}}) {
    SCOPED_TRACE(fmt::format("channels {}, depth {}", d, m));
    const at::Tensor paths = random_paths(10, 2, 15, d);
    const at::Tensor s = signature(paths, m), brackets = logsignature(paths, m, LogBasis::brackets),
                     words = logsignature(paths, m, LogBasis::words);
    for (int64_t row = 0; row < paths.size(0); ++row) {
      const Series log = lie_series(brackets[row], d, m);
      expect_close(flatten(exponential(log, d, m)), s.narrow(0, row, 1));
      const LyndonBasis& basis = LyndonBasis::get(d, m);
      for (int64_t w = 0; w < basis.size(); ++w) {
        EXPECT_NEAR(log[basis.lengths()[w]][basis.places()[w]], words[row][w].item<double>(), 1e-12);
      }
    }
  }
}

// 200 segments of a walk: float32 rounds each by 6e-8, and the errors add up to a few 1e-6 of the largest value.
TEST(Signature, FloatFollowsDouble) {
  const at::Tensor paths = random_paths(11, 64, 201, 2, at::kFloat);
  expect_close(signature(paths, 3), signature(paths.to(at::kDouble), 3), 1e-5);
  expect_close(logsignature(paths, 3, LogBasis::brackets), logsignature(paths.to(at::kDouble), 3, LogBasis::brackets),
               1e-5);
}

TEST(Signature, TakesViews) {
  const at::Tensor wide = random_paths(12, 6, 10, 4);
  const at::Tensor view = wide.narrow(2, 1, 2);
  EXPECT_TRUE(at::equal(signature(view, 4), signature(view.contiguous(), 4)));
}

TEST(Signature, BadInput) {
  const at::Tensor paths = random_paths(13, 2, 5, 2);
  EXPECT_THROW(signature(at::Tensor(), 2), InputError);
  EXPECT_THROW(signature(paths, 0), InputError);
  EXPECT_THROW(signature(paths, 7), InputError);
  EXPECT_THROW(logsignature(paths, 7, LogBasis::words), InputError);
  EXPECT_THROW(signature(paths[0], 2), InputError);
  EXPECT_THROW(signature(paths.to(at::kLong), 2), InputError);
  EXPECT_THROW(signature(paths.to(at::kHalf), 2), InputError);
  EXPECT_THROW(signature(at::zeros({2, 0, 2}, at::kDouble), 2), InputError);
  EXPECT_THROW(signature(at::zeros({2, 3, 0}, at::kDouble), 2), InputError);
  EXPECT_THROW(signature(at::zeros({2, 3, 9}, at::kDouble), 2), InputError);
  EXPECT_THROW(signature_size(0, 2), InputError);
  EXPECT_THROW(logsignature_size(2, 0), InputError);
  EXPECT_THROW(LyndonBasis::get(9, 1), InputError);
  EXPECT_THROW(LyndonBasis::get(2, 2).coordinates_with({2}), InputError);
  EXPECT_THROW(log_basis_by_name("lyndon"), InputError);
  const at::Tensor s = signature(paths, 3);
  EXPECT_THROW(chen(s, s, 2, 4), InputError);
  EXPECT_THROW(chen(s, s.narrow(0, 0, 1), 2, 3), InputError);
  EXPECT_THROW(chen(s, s.to(at::kFloat), 2, 3), InputError);
  try {
    signature(paths[0], 2);
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "[signature] expected float32 or float64 paths n x points x channels on the CPU, got float64 5 x 2 on cpu");
  }
}

}  // namespace
}  // namespace htfm
