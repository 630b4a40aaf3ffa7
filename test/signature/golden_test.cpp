// Signatures and logsignatures against iisignature (test/golden/make_signature.py).
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "htfm/base/error.h"
#include "htfm/signature/signature.h"
#include "test/data.h"

namespace htfm {
namespace {

constexpr int64_t kPoints = 24;

// A .npy file of format 1.0: little-endian float64, C order, two dimensions.
at::Tensor read_matrix(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char head[10];
  file.read(head, sizeof head);
  std::string text(static_cast<unsigned char>(head[8]) + 256u * static_cast<unsigned char>(head[9]), ' ');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  std::smatch shape;
  if (!std::regex_search(text, shape, std::regex("'<f8'.*False.*\\((\\d+), (\\d+)\\)")))
    throw Error("unexpected {}", path);
  at::Tensor result = at::empty({std::stoll(shape[1]), std::stoll(shape[2])}, at::kDouble);
  file.read(reinterpret_cast<char*>(result.data_ptr()), static_cast<std::streamsize>(result.nbytes()));
  if (!file) throw Error("truncated {}", path);
  return result;
}

struct Golden {
  int channels, depth;  // depth of the stored signatures; lower ones are their leading columns
  at::Tensor paths, signature, words, brackets;
};

Golden read_golden(int channels, int depth) {
  const at::Tensor all = read_matrix(test::golden_file(fmt::format("signature/d{}.npy", channels)));
  const int64_t inputs = kPoints * channels, full = signature_size(channels, depth),
                lie = logsignature_size(channels, depth);
  EXPECT_EQ(all.size(1), inputs + full + 2 * lie);
  return {channels,
          depth,
          all.narrow(1, 0, inputs).reshape({all.size(0), kPoints, channels}).contiguous(),
          all.narrow(1, inputs, full),
          all.narrow(1, inputs + full, lie),
          all.narrow(1, inputs + full + lie, lie)};
}

std::vector<Golden> goldens() { return {read_golden(2, 6), read_golden(3, 5), read_golden(5, 5), read_golden(8, 2)}; }

using Size = int64_t (*)(int channels, int depth);

// Largest magnitude in level k of one row; `size` counts the coordinates of the levels up to one.
double level_maximum(const at::Tensor& row, int channels, int k, Size size) {
  const int64_t begin = k == 1 ? 0 : size(channels, k - 1);
  return row.narrow(0, begin, size(channels, k) - begin).abs().max().item<double>();
}

// The largest error against the size of its level, over paths and levels. Coordinates of one level have one physical
// dimension, and single ones may vanish. The level is that of the values themselves, or that of the signature.
double worst_error(const Golden& golden, const at::Tensor& ours, const at::Tensor& theirs, int depth, Size size,
                   bool against_signature) {
  double worst = 0;
  const at::Tensor error = ours.to(at::kDouble).sub(theirs.narrow(1, 0, ours.size(1)));
  for (int64_t row = 0; row < error.size(0); ++row) {
    for (int k = 1; k <= depth; ++k) {
      const double scale = against_signature ? level_maximum(golden.signature[row], golden.channels, k, &signature_size)
                                             : level_maximum(theirs[row], golden.channels, k, size);
      const double level_error = level_maximum(error[row], golden.channels, k, size) / scale;
      if (std::isnan(level_error)) return level_error;
      worst = std::max(worst, level_error);
    }
  }
  return worst;
}

void compare(at::ScalarType type, bool against_signature, double bound, double log_bound, double log_bound_at_6) {
  for (const Golden& golden : goldens()) {
    for (int depth = 1; depth <= golden.depth; ++depth) {
      SCOPED_TRACE(fmt::format("channels {}, depth {}", golden.channels, depth));
      const at::Tensor paths = golden.paths.to(type);
      const auto check = [&](const at::Tensor& ours, const at::Tensor& theirs, Size size, double allowed) {
        EXPECT_EQ(ours.scalar_type(), type);
        ASSERT_EQ(ours.size(1), size(golden.channels, depth));
        EXPECT_LE(worst_error(golden, ours, theirs, depth, size, against_signature), allowed);
      };
      check(signature(paths, depth), golden.signature, &signature_size, bound);
      const double log_allowed = depth == 6 ? log_bound_at_6 : log_bound;
      check(logsignature(paths, depth, LogBasis::words), golden.words, &logsignature_size, log_allowed);
      check(logsignature(paths, depth, LogBasis::brackets), golden.brackets, &logsignature_size, log_allowed);
    }
  }
}

// At depth 6 the logarithm cancels up to three digits of the signature: exact rational arithmetic puts iisignature
// itself 1.5e-12 off the Lyndon words there, and the change to brackets adds up several of them.
TEST(SignatureGolden, EqualsIisignatureInDouble) { compare(at::kDouble, false, 1e-12, 1e-12, 2e-11); }

// In float32 each of 23 segments rounds by 6e-8 or so, and the logarithm inherits that error of the signature: terms up
// to hundreds of times as many go into a bracket's coordinate.
TEST(SignatureGolden, EqualsIisignatureInFloat) { compare(at::kFloat, true, 3e-6, 1e-4, 1e-4); }

}  // namespace
}  // namespace htfm
