#include "htfm/metric/feature_knn.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "htfm/base/error.h"
#include "htfm/metric/product.h"

namespace htfm {
namespace {

/// A set in float64 with the squares of its norms.
struct Set {
  explicit Set(const at::Tensor& features)
      : x(features.detach().to(at::kDouble).contiguous()), square(x.square().sum(1)) {}
  int64_t size() const { return x.size(0); }
  at::Tensor x, square;
};

/// Rows of a product at once: 64 MB.
int64_t rows_at_once(const Set& other) { return std::max<int64_t>(1, (int64_t{1} << 23) / other.size()); }

/// Squared distances of rows first .. of a to all of b. What is within rounding of 0 is 0, so that equal points are at
/// no distance.
at::Tensor squared_distances(const Set& a, int64_t first, int64_t count, const Set& b) {
  at::Tensor squares = a.square.narrow(0, first, count).unsqueeze(1).add(b.square.unsqueeze(0));
  at::Tensor d = at::zeros({count, b.size()}, a.x.options());
  add_product(d, a.x.narrow(0, first, count), b.x.t());
  d.mul_(-2).add_(squares);
  return d.masked_fill_(d.le(squares.mul_(1e-13)), 0);
}

template <class Body>
void for_blocks(const Set& a, const Set& b, const Body& body) {
  const int64_t step = rows_at_once(b);
  for (int64_t first = 0; first < a.size(); first += step) {
    const int64_t count = std::min(step, a.size() - first);
    body(first, count, squared_distances(a, first, count, b));
  }
}

/// Squared distance of each point to its k-th neighbour in its own set, itself left out.
at::Tensor squared_radii(const Set& set, int k) {
  std::vector<at::Tensor> parts;
  for_blocks(set, set, [&](int64_t first, int64_t count, const at::Tensor& d) {
    d.narrow(1, first, count).fill_diagonal_(std::numeric_limits<double>::infinity());
    parts.push_back(std::get<0>(d.topk(k, 1, /*largest=*/false)).select(1, k - 1));
  });
  return at::cat(parts);
}

void check(const at::Tensor& real, const at::Tensor& fake) {
  if (real.dim() != 2 || fake.dim() != 2 || real.size(1) != fake.size(1))
    throw InputError("[features] expected two sets of features of one dimension, got {} and {} dimensions",
                     real.dim() == 2 ? real.size(1) : 0, fake.dim() == 2 ? fake.size(1) : 0);
}

}  // namespace

FeatureNeighbours feature_neighbours(const at::Tensor& real, const at::Tensor& fake, int k) {
  check(real, fake);
  if (k < 1) throw InputError("[precision] expected k of at least 1, got {}", k);
  if (real.size(0) <= k || fake.size(0) <= k)
    throw InputError("[precision] expected more than k = {} images in each set, got {} (real) and {} (fake)", k,
                     real.size(0), fake.size(0));
  const Set a(real), b(fake);
  const at::Tensor real_radius = squared_radii(a, k), fake_radius = squared_radii(b, k);
  at::Tensor covered = at::zeros({a.size()}, a.x.options().dtype(at::kBool));
  std::vector<at::Tensor> inside, index, distance;
  for_blocks(b, a, [&](int64_t first, int64_t count, const at::Tensor& d) {
    inside.push_back(d.le(real_radius).any(1));
    covered.logical_or_(d.le(fake_radius.narrow(0, first, count).unsqueeze(1)).any(0));
    const auto [value, at] = d.min(1);
    index.push_back(at), distance.push_back(value);
  });
  FeatureNeighbours out;
  out.nearest = at::cat(index).cpu();
  out.distance = at::cat(distance).sqrt().cpu();
  out.covered = covered.cpu();
  out.score.precision = static_cast<double>(at::cat(inside).sum().item<int64_t>()) / static_cast<double>(b.size());
  out.score.recall = static_cast<double>(covered.sum().item<int64_t>()) / static_cast<double>(a.size());
  out.score.f1 = harmonic_mean(out.score.precision, out.score.recall);
  return out;
}

Nearest nearest_features(const at::Tensor& real, const at::Tensor& fake) {
  check(real, fake);
  const Set a(real), b(fake);
  std::vector<at::Tensor> index, distance;
  for_blocks(b, a, [&](int64_t, int64_t, const at::Tensor& d) {
    const auto [value, at] = d.min(1);
    index.push_back(at), distance.push_back(value);
  });
  return {at::cat(index).cpu(), at::cat(distance).sqrt().cpu()};
}

std::vector<ClassCoverage> class_coverage(const FeatureNeighbours& neighbours, const at::Tensor& labels,
                                          int64_t classes) {
  std::vector<ClassCoverage> out(static_cast<size_t>(classes));
  const int64_t* label = labels.const_data_ptr<int64_t>();
  const bool* covered = neighbours.covered.const_data_ptr<bool>();
  for (int64_t i = 0; i < labels.size(0); ++i) {
    ClassCoverage& own = out.at(label[i]);
    ++own.real;
    own.recall += covered[i];
  }
  const int64_t* nearest = neighbours.nearest.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < neighbours.nearest.size(0); ++i) ++out.at(label[nearest[i]]).fake;
  for (ClassCoverage& c : out)
    if (c.real > 0) c.recall /= static_cast<double>(c.real);
  return out;
}

}  // namespace htfm
