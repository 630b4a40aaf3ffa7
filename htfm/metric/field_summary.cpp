#include "htfm/metric/field_summary.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/fft_rfft2.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/single_thread_guard.h"

namespace htfm {
namespace {

constexpr int64_t kPart = 32;  // fields in memory for each thread

struct Range {
  int64_t begin, end;
};

Range block_range(int64_t n, int64_t blocks, int64_t b) { return {n * b / blocks, n * (b + 1) / blocks}; }

bool finite(const float* x, int64_t size) {
  return std::all_of(x, x + size, [](float v) { return std::isfinite(v); });
}

void keep_tail(FieldBlock& block, int64_t& seen, const float* x, int64_t size, float floor) {
  for (int64_t k = 0; k < size; ++k) {
    if (!(x[k] > floor)) continue;
    if (seen++ % block.tail_stride != 0) continue;
    block.tail.push_back(x[k]);
    if (static_cast<int64_t>(block.tail.size()) < kMostTail) continue;
    size_t kept = 0;
    for (size_t i = 0; i < block.tail.size(); i += 2) block.tail[kept++] = block.tail[i];
    block.tail.resize(kept);
    block.tail_stride *= 2, seen = static_cast<int64_t>(kept) * block.tail_stride;
  }
}

void add_values(FieldBlock& block, const FieldSummaryOptions& o, const float* x, int64_t size) {
  std::array<double, 4> own{};
  float largest = x[0];
  int64_t wet = 0;
  for (int64_t k = 0; k < size; ++k) {
    const double v = static_cast<double>(x[k]) - o.centre, square = v * v;
    own[0] += v, own[1] += square, own[2] += square * v, own[3] += square * square;
    largest = std::max(largest, x[k]);
    wet += x[k] >= static_cast<float>(o.wet);
    ++block.histogram[static_cast<size_t>(field_bin(x[k]))];
  }
  for (size_t p = 0; p < 4; ++p) block.sums[p] += own[p];
  block.wet += wet, block.values += size;
  block.maxima.push_back(largest);
}

// Visits the fields of a block part by part.
template <class Body>
void visit_block(const FieldStream& s, Range range, const Body& body) {
  for (int64_t begin = range.begin; begin < range.end; begin += kPart) {
    const int64_t end = std::min(range.end, begin + kPart);
    const at::Tensor part = s.read(begin, end).contiguous();
    if (part.numel() != (end - begin) * s.height * s.width)
      throw Error("[fields] expected {} fields, got fewer", end - begin);
    body(part.view({end - begin, s.height, s.width}));
  }
}

}  // namespace

// Floats with their bits in the order of their values; the upper half of them: sign, exponent, 7 digits.
int64_t field_bin(float value) {
  const auto bits = std::bit_cast<uint32_t>(value == 0 ? 0.0F : value);
  return (bits & 0x80000000U ? ~bits : bits | 0x80000000U) >> 16;
}

float field_bin_edge(int64_t bin) {
  const auto ordered = static_cast<uint32_t>(bin) << 16;
  return std::bit_cast<float>(ordered & 0x80000000U ? ordered & 0x7fffffffU : ~ordered);
}

namespace {

int64_t total(const std::vector<FieldBlock>& blocks, int64_t FieldBlock::*count) {
  int64_t n = 0;
  for (const FieldBlock& b : blocks) n += b.*count;
  return n;
}

}  // namespace

int64_t FieldSummary::fields() const { return total(blocks, &FieldBlock::fields); }
int64_t FieldSummary::values() const { return total(blocks, &FieldBlock::values); }
int64_t FieldSummary::nonfinite() const { return total(blocks, &FieldBlock::nonfinite); }

double FieldSummary::mean() const {
  double sum = 0;
  for (const FieldBlock& b : blocks) sum += b.sums[0];
  return options.centre + sum / static_cast<double>(values());
}

float FieldSummary::floor_above(int64_t count) const {
  int64_t above = 0;
  for (int64_t bin = kFieldBins - 1; bin > 0; --bin) {
    for (const FieldBlock& b : blocks) above += b.histogram[static_cast<size_t>(bin)];
    // Values of the bin itself lie at its edge or above: the floor must be below them.
    if (above >= count && std::isfinite(field_bin_edge(bin - 1))) return field_bin_edge(bin - 1);
  }
  return -std::numeric_limits<float>::max();
}

at::Tensor radial_spectrum(const at::Tensor& fields) {
  const int64_t m = fields.size(0), h = fields.size(1), w = fields.size(2), side = std::min(h, w), rings = side / 2,
                half = w / 2 + 1;
  const auto hann = [](int64_t size) {
    at::Tensor out = at::empty({size}, at::kFloat);
    for (int64_t k = 0; k < size; ++k)
      out.mutable_data_ptr<float>()[k] = static_cast<float>(
          0.5 - 0.5 * std::cos(2 * std::numbers::pi * (static_cast<double>(k) + 0.5) / static_cast<double>(size)));
    return out;
  };
  const at::Tensor window = hann(h).unsqueeze(1).mul(hann(w).unsqueeze(0));
  const double weight = window.square().sum().item<double>();
  const SingleThreadGuard alone;
  const at::Tensor x = fields.to(at::kFloat),
                   power = at::abs(at::fft_rfft2(x.sub(x.mean({1, 2}, true)).mul(window))).square().contiguous();
  const float* p = power.const_data_ptr<float>();
  std::vector<int64_t> ring(static_cast<size_t>(h * half), -1);
  std::vector<double> modes(static_cast<size_t>(rings), 0);
  const auto share = [&](int64_t i) {
    return i == 0 || 2 * i == w ? 1.0 : 2.0;
  };  // modes that one of the half plane stands for
  for (int64_t j = 0; j < h; ++j)
    for (int64_t i = 0; i < half; ++i) {
      const double ky = static_cast<double>(std::min(j, h - j)) / static_cast<double>(h),
                   kx = static_cast<double>(i) / static_cast<double>(w);
      const int64_t k = std::llround(std::hypot(kx, ky) * static_cast<double>(side));
      if (k < 1 || k > rings) continue;
      ring[static_cast<size_t>(j * half + i)] = k - 1, modes[static_cast<size_t>(k - 1)] += share(i);
    }
  at::Tensor out = at::empty({m, rings}, at::kDouble);
  double* to = out.mutable_data_ptr<double>();
  std::fill_n(to, m * rings, 0.0);
  for (int64_t f = 0; f < m; ++f)
    for (int64_t j = 0; j < h; ++j)
      for (int64_t i = 0; i < half; ++i)
        if (const int64_t k = ring[static_cast<size_t>(j * half + i)]; k >= 0)
          to[f * rings + k] +=
              share(i) * static_cast<double>(p[(f * h + j) * half + i]) / (modes[static_cast<size_t>(k)] * weight);
  return out;
}

FieldSummary summarise_fields(const FieldStream& s, const FieldSummaryOptions& options, const float* floor) {
  if (s.n < 1 || s.height < 2 || s.width < 2)
    throw InputError("[fields] expected fields of at least 2 x 2, got {} of {} x {}", s.n, s.height, s.width);
  FieldSummary out{options, std::vector<FieldBlock>(static_cast<size_t>(std::min(s.n, options.blocks)))};
  const int64_t size = s.height * s.width, count = static_cast<int64_t>(out.blocks.size());
  parallel_for(count, [&](int64_t b) {
    FieldBlock& block = out.blocks[static_cast<size_t>(b)];
    block.histogram.assign(kFieldBins, 0);
    block.spectrum.assign(static_cast<size_t>(std::min(s.height, s.width) / 2), 0);
    int64_t seen = 0;
    visit_block(s, block_range(s.n, count, b), [&](const at::Tensor& part) {
      const at::Tensor spectra = radial_spectrum(part);
      for (int64_t i = 0; i < part.size(0); ++i) {
        const float* x = part.const_data_ptr<float>() + i * size;
        if (!finite(x, size)) {
          ++block.nonfinite;
          continue;
        }
        ++block.fields;
        add_values(block, options, x, size);
        if (floor) keep_tail(block, seen, x, size, *floor);
        for (size_t k = 0; k < block.spectrum.size(); ++k)
          block.spectrum[k] += spectra.const_data_ptr<double>()[i * spectra.size(1) + static_cast<int64_t>(k)];
      }
    });
  });
  return out;
}

void collect_tail(const FieldStream& s, float floor, FieldSummary& summary) {
  const int64_t size = s.height * s.width, count = static_cast<int64_t>(summary.blocks.size());
  parallel_for(count, [&](int64_t b) {
    FieldBlock& block = summary.blocks[static_cast<size_t>(b)];
    block.tail.clear(), block.tail_stride = 1;
    int64_t seen = 0;
    visit_block(s, block_range(s.n, count, b), [&](const at::Tensor& part) {
      for (int64_t i = 0; i < part.size(0); ++i)
        if (const float* x = part.const_data_ptr<float>() + i * size; finite(x, size))
          keep_tail(block, seen, x, size, floor);
    });
  });
}

}  // namespace htfm
