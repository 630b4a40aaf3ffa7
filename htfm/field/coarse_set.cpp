#include "htfm/field/coarse_set.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "htfm/base/error.h"
#include "htfm/field/block_means.h"

namespace htfm {

namespace {

constexpr int64_t kCoarsenedAtOnce = 256;  // fields in memory twice
constexpr double kFewestBlocks = 2;        // that the reach has: the blocks beside the rain, and those further away
constexpr double kRounding = 1 - 1e-6;     // the mean of one wet point must not fall below the threshold in float32

}  // namespace

FieldTransform coarse_transform(const FieldTransform& fine, int64_t rows, int64_t columns) {
  FieldTransform out = fine;
  const auto points = static_cast<double>(rows * columns);
  if (fine.threshold) out.threshold = *fine.threshold / points * kRounding;
  out.quantum = fine.quantum / points;
  if (fine.reach > 0) out.reach = std::max(kFewestBlocks, fine.reach / static_cast<double>(std::max(rows, columns)));
  out.mean.clear(), out.deviation.clear(), out.laws.clear();
  return out;
}

FieldSet coarse_field_set(const FieldSet& fine, int64_t height, int64_t width, const std::string& where) {
  const int64_t n = fine.size(), channels = fine.fields.size(1), h = fine.fields.size(2), w = fine.fields.size(3);
  if (height < 1 || width < 1 || h % height != 0 || w % width != 0)
    throw InputError("[grid] {}: expected a grid whose sizes divide {} x {}, got {} x {}", where, h, w, height, width);
  FieldSet out = fine;
  out.fields = at::empty({n, channels, height, width}, at::kFloat);
  for (int64_t first = 0; first < n; first += kCoarsenedAtOnce) {
    const int64_t count = std::min(kCoarsenedAtOnce, n - first);
    out.fields.narrow(0, first, count).copy_(block_means(fine.fields.narrow(0, first, count), height, width));
  }
  // Coordinates and the rain outside are those of points, not of blocks.
  out.corners = at::full({n, 4}, std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  out.latitude.reset(), out.longitude.reset();
  out.outside = WetOutside(), out.period = 0;
  out.provenance = nlohmann::json{{"coarse", {{"grid", {height, width}}, {"set", fine.hash}}},
                                  {"of", nlohmann::json::parse(fine.provenance)}}
                       .dump();
  out.hash.clear();
  out.transform = fit_field_transform(coarse_transform(fine.transform, h / height, w / width), out.fields, out.held_out,
                                      out.channels, where);
  return out;
}

}  // namespace htfm
