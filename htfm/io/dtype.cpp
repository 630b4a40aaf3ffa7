#include "htfm/io/dtype.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace htfm {
namespace {

// In the order of the safetensors package, which puts wide items first in a file so that all stay aligned.
constexpr std::array<Dtype, 6> kDtypes = {{
    {at::kLong, "int64", "<i8", "I64"},
    {at::kDouble, "float64", "<f8", "F64"},
    {at::kFloat, "float32", "<f4", "F32"},
    {at::kBFloat16, "bfloat16", "", "BF16"},
    {at::kHalf, "float16", "<f2", "F16"},
    {at::kByte, "uint8", "|u1", "U8"},
}};

template <class Test>
const Dtype* find(Test test) {
  const auto* row = std::find_if(kDtypes.begin(), kDtypes.end(), test);
  return row == kDtypes.end() ? nullptr : row;
}

}  // namespace

const Dtype* find_dtype(at::ScalarType type) {
  return find([&](const Dtype& row) { return row.type == type; });
}

const Dtype* find_dtype_npy(std::string_view descr) {
  return find([&](const Dtype& row) { return !descr.empty() && row.npy == descr; });
}

const Dtype* find_dtype_safetensors(std::string_view name) {
  return find([&](const Dtype& row) { return row.safetensors == name; });
}

std::string dtype_name(at::ScalarType type) {
  const Dtype* row = find_dtype(type);
  return row ? std::string(row->name) : c10::toString(type);
}

std::string shape_text(at::IntArrayRef shape) {
  return fmt::format("({}{})", fmt::join(shape.begin(), shape.end(), ", "), shape.size() == 1 ? "," : "");
}

std::string tensor_text(const at::Tensor& tensor) {
  if (!tensor.defined()) return "none";
  return fmt::format("{} of shape {}{}", dtype_name(tensor.scalar_type()), shape_text(tensor.sizes()),
                     tensor.device().is_cpu() ? "" : " on " + tensor.device().str());
}

bool byte_count(at::IntArrayRef shape, at::ScalarType type, uint64_t& bytes) {
  int64_t extent = static_cast<int64_t>(c10::elementSize(type));
  bool empty = false;
  for (const int64_t size : shape) {
    // An empty dimension counts as one here: the strides of the others must fit all the same.
    if (size < 0 || __builtin_mul_overflow(extent, std::max<int64_t>(size, 1), &extent)) return false;
    empty = empty || size == 0;
  }
  bytes = empty ? 0 : static_cast<uint64_t>(extent);
  return true;
}

at::Tensor packed(const at::Tensor& tensor) { return tensor.cpu().contiguous(); }

}  // namespace htfm
