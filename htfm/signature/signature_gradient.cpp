#include "htfm/signature/signature_gradient.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/signature/input.h"

namespace htfm {

namespace {

using Levels = std::vector<double>;  // of an element of the tensor algebra: level 0, then 1, ... each alphabetically

// The tensor algebra over `width` letters up to a depth.
class Algebra {
 public:
  Algebra(int width, int depth) : width_(width), depth_(depth) {
    int64_t power = 1;
    for (int k = 0; k <= depth; ++k, power *= width) {
      begin_.push_back(size_), power_.push_back(power);
      size_ += power;
    }
  }
  int width() const { return width_; }
  int depth() const { return depth_; }
  int64_t size() const { return size_; }
  int64_t begin(int level) const { return begin_[static_cast<size_t>(level)]; }

  Levels one() const {
    Levels out(static_cast<size_t>(size_), 0.0);
    out[0] = 1;
    return out;
  }

  // exp(dx): dx^k / k! at level k.
  void exponential(const double* dx, Levels& out) const {
    out.assign(static_cast<size_t>(size_), 0.0);
    out[0] = 1;
    for (int k = 1; k <= depth_; ++k)
      for (int64_t u = 0; u < power_[k - 1]; ++u)
        for (int c = 0; c < width_; ++c) out[begin_[k] + u * width_ + c] = out[begin_[k - 1] + u] * dx[c] / k;
  }
  // The gradient in dx, where `gradient`, which is overwritten, is that in exp(dx).
  void exponential_gradient(const double* dx, const Levels& value, Levels& gradient, double* out) const {
    for (int k = depth_; k >= 1; --k)
      for (int64_t u = 0; u < power_[k - 1]; ++u)
        for (int c = 0; c < width_; ++c) {
          const double g = gradient[begin_[k] + u * width_ + c] / k;
          gradient[begin_[k - 1] + u] += g * dx[c];
          out[c] += g * value[begin_[k - 1] + u];
        }
  }

  // a b.
  void multiply(const Levels& a, const Levels& b, Levels& out) const {
    out.assign(static_cast<size_t>(size_), 0.0);
    each_pair([&](int64_t left, int64_t right, int64_t both) { out[both] += a[left] * b[right]; });
  }
  // Where `gradient` is that in a b: the gradient in a (times factor, added to `of_a`) and in b.
  void multiply_gradient(const Levels& a, const Levels& b, const Levels& gradient, double factor, Levels& of_a,
                         Levels& of_b) const {
    of_b.assign(static_cast<size_t>(size_), 0.0);
    each_pair([&](int64_t left, int64_t right, int64_t both) {
      of_a[left] += factor * gradient[both] * b[right];
      of_b[right] += factor * gradient[both] * a[left];
    });
  }

  // The gradient in x of log(x), x with 1 at level 0, by Horner's rule: log(1 + y) = y h_1, h_k = 1/k - y h_(k+1).
  Levels logarithm_gradient(const Levels& x, const Levels& gradient) const {
    Levels y = x, product;
    y[0] = 0;
    std::vector<Levels> h(static_cast<size_t>(depth_) + 2);
    h[depth_ + 1].assign(static_cast<size_t>(size_), 0.0);
    for (int k = depth_; k >= 1; --k) {
      multiply(y, h[k + 1], product);
      for (double& v : product) v = -v;
      product[0] += 1.0 / k;
      h[k] = product;
    }
    Levels of_y(static_cast<size_t>(size_), 0.0), of_h, next;
    multiply_gradient(y, h[1], gradient, 1, of_y, of_h);
    for (int k = 1; k < depth_; ++k) {
      multiply_gradient(y, h[k + 1], of_h, -1, of_y, next);
      of_h.swap(next);
    }
    return of_y;
  }

 private:
  // Calls visit(u, v, uv) for all words u, v whose lengths add up to at most the depth.
  template <class Visit>
  void each_pair(const Visit& visit) const {
    for (int i = 0; i <= depth_; ++i)
      for (int j = 0; i + j <= depth_; ++j)
        for (int64_t u = 0; u < power_[i]; ++u)
          for (int64_t v = 0; v < power_[j]; ++v)
            visit(begin_[i] + u, begin_[j] + v, begin_[i + j] + u * power_[j] + v);
  }

  int width_, depth_;
  int64_t size_ = 0;
  std::vector<int64_t> begin_, power_;
};

// The gradient in the signature of one path, given that in its logsignature.
Levels from_logsignature(const Algebra& algebra, const LyndonBasis& lyndon, LogBasis basis, const Levels& signature,
                         Levels gradient) {
  if (basis == LogBasis::brackets) {  // the transposed solution of the triangular system of words and brackets
    const LyndonBasis::Rows& rows = lyndon.bracket_rows();
    for (int64_t w = lyndon.size() - 1; w >= 0; --w)
      for (int32_t e = rows.begin[w]; e < rows.begin[w + 1]; ++e)
        gradient[rows.column[e]] -= rows.value[e] * gradient[w];
  }
  Levels of_log(static_cast<size_t>(algebra.size()), 0.0);
  for (int64_t w = 0; w < lyndon.size(); ++w)
    of_log[algebra.begin(lyndon.lengths()[w]) + lyndon.places()[w]] = gradient[w];
  return algebra.logarithm_gradient(signature, of_log);
}

// One path and what moves along it.
struct PathWalk {
  const Algebra& algebra;
  const double* points;  // length x width
  int64_t length;

  std::vector<double> segment(int64_t i) const {
    const int width = algebra.width();
    std::vector<double> dx(static_cast<size_t>(width));
    for (int c = 0; c < width; ++c) dx[c] = points[(i + 1) * width + c] - points[i * width + c];
    return dx;
  }
  void advance(Levels& state, int64_t i) const {
    Levels step, product;
    algebra.exponential(segment(i).data(), step);
    algebra.multiply(state, step, product);
    state.swap(product);
  }

  // The gradient in the points. Signatures of the path's beginnings are kept at some points and found again between
  // them: going back by division would lose digits on paths with large jumps.
  void gradient(Levels of_state, double* out) const {
    const int width = algebra.width();
    const int64_t segments = length - 1,
                  part = std::max<int64_t>(1, std::llround(std::sqrt(static_cast<double>(segments))));
    std::vector<Levels> kept;
    Levels state = algebra.one(), step, of_step;
    for (int64_t i = 0; i < segments; ++i) {
      if (i % part == 0) kept.push_back(state);
      advance(state, i);
    }
    for (auto k = static_cast<int64_t>(kept.size()) - 1; k >= 0; --k) {
      const int64_t first = k * part, last = std::min(segments, first + part);
      std::vector<Levels> inside{kept[k]};
      for (int64_t i = first; i + 1 < last; ++i) {
        inside.push_back(inside.back());
        advance(inside.back(), i);
      }
      for (int64_t i = last - 1; i >= first; --i) {
        const std::vector<double> dx = segment(i);
        std::vector<double> of_dx(dx.size(), 0.0);
        Levels before(of_state.size(), 0.0);
        algebra.exponential(dx.data(), step);
        algebra.multiply_gradient(inside[i - first], step, of_state, 1, before, of_step);
        algebra.exponential_gradient(dx.data(), step, of_step, of_dx.data());
        for (int c = 0; c < width; ++c) out[(i + 1) * width + c] += of_dx[c], out[i * width + c] -= of_dx[c];
        of_state.swap(before);
      }
    }
  }
};

at::Tensor compute_gradient(const char* where, const at::Tensor& paths, int depth, const LogBasis* basis,
                            const at::Tensor& gradient, const PathOptions& options) {
  // The value's own checks come first.
  const at::Tensor value = basis ? logsignature(paths, depth, *basis, options) : signature(paths, depth, options);
  if (!gradient.defined() || gradient.sizes() != value.sizes() || !gradient.device().is_cpu())
    throw InputError("[{}] expected a gradient {} on the CPU, got {}", where, describe(value), describe(gradient));
  const at::Tensor input = checked_paths(where, paths, options.augment_time).to(at::kDouble),
                   given = gradient.to(at::kDouble).contiguous();
  const Moves moves = options.moves(static_cast<int>(input.size(2)));
  const int64_t n = input.size(0), points = input.size(1), channels = input.size(2);
  const at::Tensor samples = options.augment_time ? augment_time(input, options.times) : input;
  const bool has_time = options.augment_time || options.time_first || options.convention == Convention::jump ||
                        options.convention == Convention::constant;
  const at::Tensor walked = apply_convention(samples, options.convention, has_time);
  const int64_t length = walked.size(1), width = moves.width, shift = options.augment_time ? 1 : 0;
  const Algebra algebra(moves.width, depth);
  const LyndonBasis* lyndon = basis ? &LyndonBasis::get(moves.width, depth) : nullptr;
  at::Tensor out = at::zeros({n, points, channels}, at::kDouble);
  const double *x = walked.const_data_ptr<double>(), *g = given.const_data_ptr<double>();
  double* to = out.mutable_data_ptr<double>();
  const int64_t columns = given.size(1);
  parallel_for(n, [&](int64_t i) {
    const PathWalk path{algebra, x + i * length * width, length};
    const double* own = g + i * columns;
    Levels of_signature(static_cast<size_t>(algebra.size()), 0.0);
    if (basis) {
      Levels whole = algebra.one();
      for (int64_t s = 0; s + 1 < length; ++s) path.advance(whole, s);
      of_signature = from_logsignature(algebra, *lyndon, *basis, whole, Levels(own, own + columns));
    } else {
      std::copy_n(own, columns, of_signature.begin() + 1);
    }
    std::vector<double> of_points(static_cast<size_t>(length * width), 0.0);
    path.gradient(std::move(of_signature), of_points.data());
    // As apply_convention places the samples: after the first of two moves, a channel that waits has its last value.
    for (int64_t j = 0; j < length; ++j) {
      const int64_t next = (j + moves.count - 1) / moves.count;
      for (int c = 0; c < moves.width; ++c) {
        const int64_t point = j % moves.count != 0 && moves.waits[c] ? next - 1 : next,
                      channel = moves.source[c] - shift;
        if (channel >= 0) to[(i * points + point) * channels + channel] += of_points[j * width + c];
      }
    }
  });
  return out.reshape(paths.sizes()).to(paths.scalar_type());
}

}  // namespace

at::Tensor signature_gradient(const at::Tensor& paths, int depth, const at::Tensor& gradient,
                              const PathOptions& options) {
  return compute_gradient("signature_gradient", paths, depth, nullptr, gradient, options);
}

at::Tensor logsignature_gradient(const at::Tensor& paths, int depth, LogBasis basis, const at::Tensor& gradient,
                                 const PathOptions& options) {
  return compute_gradient("logsignature_gradient", paths, depth, &basis, gradient, options);
}

}  // namespace htfm
