// Numbers for the places where a row has none, so that a flow may see whole rows: each is drawn given the others of its
// row, as a Gaussian copula has them. Which places were empty is known elsewhere, so what stands there need only be
// plausible: samples are emptied again.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "htfm/base/api.h"
#include "htfm/base/random.h"

namespace htfm HTFM_PUBLIC {

class HoleFill {
 public:
  /// From rows n x d (float32) with NaN in the holes; a column has at least two numbers.
  static HoleFill fit(const at::Tensor& rows, Key key);
  bool there() const { return knots_.defined(); }
  /// Fills the holes of rows; what is drawn is a function of the key and the row's number.
  void apply(at::Tensor& rows, Key key) const;

  void save_state(std::map<std::string, at::Tensor>& out) const;
  static HoleFill load_state(const std::map<std::string, at::Tensor>& in, const std::string& path, int64_t dim);

 private:
  void sweep(at::Tensor& scores, const at::Tensor& holes, Key key) const;
  at::Tensor knots_;    // d x kKnots, float64: quantiles of each column
  at::Tensor weights_;  // d x d: how the score of a column depends on those of the others
  at::Tensor spread_;   // d: and what is left
};

}  // namespace htfm
