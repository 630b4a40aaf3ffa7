// Products of float64 matrices whose sums do not depend on the number of threads: the result is cut into tiles of fixed
// size, each made on one thread.
#pragma once

#include <ATen/core/Tensor.h>

namespace htfm {

enum class Part { all, lower };

/// out += a b, of the lower triangle alone where asked for (whole tiles of it). Views are welcome; on a CUDA device one
/// call of its library.
void add_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, Part part = Part::all);

/// l' s l for a symmetric s and a lower triangular l, with the zeros of l skipped; the lower triangle of the result is
/// right, the rest is not set. CPU.
at::Tensor congruence(const at::Tensor& l, const at::Tensor& s);

}  // namespace htfm
