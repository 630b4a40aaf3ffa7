// Number types as files and messages name them.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

namespace htfm {

struct Dtype {
  at::ScalarType type;
  std::string_view name;         // as numpy and PyTorch say it: float32
  std::string_view npy;          // in an .npy header: <f4; empty where the format has no word for it
  std::string_view safetensors;  // in a safetensors header: F32
};

/// The row of a type in the table; nullptr for one that our files do not carry.
const Dtype* find_dtype(at::ScalarType type);
const Dtype* find_dtype_npy(std::string_view descr);
const Dtype* find_dtype_safetensors(std::string_view name);

/// The name of any type, for messages.
std::string dtype_name(at::ScalarType type);
/// A shape as Python writes it: (3, 4).
std::string shape_text(at::IntArrayRef shape);
/// What a tensor is, for messages: "float32 of shape (3, 4)", or none.
std::string tensor_text(const at::Tensor& tensor);

/// Multiplies the sizes of a shape and of one item; false where the product, or a stride, does not fit or a size is
/// negative.
bool byte_count(at::IntArrayRef shape, at::ScalarType type, uint64_t& bytes);

/// The tensor's numbers side by side in memory of the CPU.
at::Tensor packed(const at::Tensor& tensor);

}  // namespace htfm
