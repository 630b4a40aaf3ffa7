// Checks at the boundary of the signature functions.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <string>

namespace htfm {

/// "float32 4 x 201 x 2", for error messages.
std::string describe(const at::Tensor& tensor);

/// The paths as a contiguous CPU tensor n x points x channels, or an InputError. `flat`: n x points is taken as one
/// channel.
at::Tensor checked_paths(const char* where, const at::Tensor& paths, bool flat);

/// Calls work(T{}) with the type of a tensor's numbers, float or double: it must have been checked to be one of them.
template <class Work>
void with_float_type(const at::Tensor& tensor, const Work& work) {
  if (tensor.scalar_type() == at::kFloat)
    work(float{});
  else
    work(double{});
}

}  // namespace htfm
