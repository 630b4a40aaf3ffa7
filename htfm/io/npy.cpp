#include "htfm/io/npy.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>

#include "htfm/base/error.h"
#include "htfm/io/dtype.h"
#include "htfm/io/npy_header.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

bool wanted(at::ScalarType type, NpyNumbers numbers) {
  if (numbers == NpyNumbers::integer) return type == at::kLong;
  return type == at::kFloat || type == at::kDouble || (numbers == NpyNumbers::pixels && type == at::kByte);
}

const char* words(NpyNumbers numbers) {
  switch (numbers) {
    case NpyNumbers::floating: return "float32 or float64 ('<f4' or '<f8')";
    case NpyNumbers::integer: return "int64 ('<i8')";
    case NpyNumbers::real: return "whole numbers, float16, float32 or float64, little-endian";
    default: return "uint8, float32 or float64 ('|u1', '<f4' or '<f8')";
  }
}

template <class Float, class Word>
int64_t first_not_finite(const Float* values, int64_t count) {
  // Whole blocks are tested by their bits, without a branch: an exponent of all ones is infinite or not a number.
  constexpr Word kExponent = std::bit_cast<Word>(std::numeric_limits<Float>::infinity());
  constexpr int64_t kBlock = 4096;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, count);
    Word bad = 0;
    for (int64_t i = begin; i < end; ++i) bad |= (std::bit_cast<Word>(values[i]) & kExponent) == kExponent;
    if (!bad) continue;
    for (int64_t i = begin; i < end; ++i) {
      if (!std::isfinite(values[i])) return i;
    }
  }
  return -1;
}

// The bytes that an array takes.
uint64_t bytes_of(const NpyHeader& header, at::ScalarType type, const std::string& path) {
  uint64_t bytes = 0;
  if (!byte_count(header.shape, type, bytes))
    throw InputError("[npy] {}: expected a shape that fits in memory, got {}", path, shape_text(header.shape));
  return bytes;
}

// Whether the shape takes just the bytes that are there.
void check_size(const Source& source, const NpyHeader& header, uint64_t data_start, at::ScalarType type,
                std::string_view name) {
  const std::string& path = source.name();
  const uint64_t bytes = bytes_of(header, type, path);
  const uint64_t present = source.size() - data_start;
  if (present != bytes) {
    throw InputError("[npy] {}: {}: shape {} of {} takes {} bytes, got {}", path,
                     present < bytes ? "truncated" : "bytes after the array", shape_text(header.shape), name, bytes,
                     present);
  }
}

// The header of an array that is wanted and all there.
NpyHeader check_array(const Source& source, NpyNumbers numbers, uint64_t& data_start, at::ScalarType& type) {
  const std::string& path = source.name();
  NpyHeader header = read_npy_header(source, data_start);
  const Dtype* dtype = header.structured ? nullptr : find_dtype_npy(header.descr);
  if (!dtype || !wanted(dtype->type, numbers))
    throw InputError("[npy] {}: expected {}, got {}", path, words(numbers), describe_type(header));
  if (header.fortran_order) {
    throw InputError("[npy] {}: expected C order, got Fortran order (in Python: numpy.ascontiguousarray before saving)",
                     path);
  }
  check_size(source, header, data_start, dtype->type, dtype->name);
  type = dtype->type;
  return header;
}

// Numbers of a type that tensors do not all have, one by one into float64. Whole numbers that it does not hold exactly
// are refused.
template <class T>
at::Tensor to_double(const std::string& bytes, at::IntArrayRef shape, const std::string& path) {
  at::Tensor out = at::empty(shape, at::kDouble);
  double* y = out.mutable_data_ptr<double>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
      constexpr auto kMost = T{1} << 53;
      if (value > kMost || (std::is_signed_v<T> && value < T{0} - kMost))
        throw InputError("[npy] {}: entry {} (counted from 0): expected a whole number up to 2^53, got {}", path, i,
                         value);
    }
    y[i] = static_cast<double>(value);
  }
  return out;
}

using Converter = at::Tensor (*)(const std::string& bytes, at::IntArrayRef shape, const std::string& path);

struct RealType {
  std::string_view descr, name;
  at::ScalarType like;  // of the same width
  Converter convert;
};
constexpr RealType kRealTypes[] = {
    {"|i1", "int8", at::kByte, &to_double<int8_t>},     {"|u1", "uint8", at::kByte, &to_double<uint8_t>},
    {"<i2", "int16", at::kHalf, &to_double<int16_t>},   {"<u2", "uint16", at::kHalf, &to_double<uint16_t>},
    {"<i4", "int32", at::kFloat, &to_double<int32_t>},  {"<u4", "uint32", at::kFloat, &to_double<uint32_t>},
    {"<i8", "int64", at::kDouble, &to_double<int64_t>}, {"<u8", "uint64", at::kDouble, &to_double<uint64_t>}};

at::Tensor read_real(const Source& source) {
  uint64_t data_start = 0;
  NpyHeader header = read_npy_header(source, data_start);
  const Dtype* dtype = header.structured ? nullptr : find_dtype_npy(header.descr);
  const bool floating = dtype && (dtype->type == at::kFloat || dtype->type == at::kDouble || dtype->type == at::kHalf);
  const RealType* whole = std::find_if(std::begin(kRealTypes), std::end(kRealTypes), [&](const RealType& t) {
    return !header.structured && t.descr == header.descr;
  });
  if (!floating && whole == std::end(kRealTypes))
    throw InputError("[npy] {}: expected {}, got {}", source.name(), words(NpyNumbers::real), describe_type(header));
  check_size(source, header, data_start, floating ? dtype->type : whole->like, floating ? dtype->name : whole->name);
  bytes_of(header, floating && dtype->type != at::kDouble ? at::kFloat : at::kDouble, source.name());  // as it is read
  std::vector<int64_t> shape = header.shape;
  if (header.fortran_order) std::reverse(shape.begin(), shape.end());
  at::Tensor values;
  if (floating) {
    values = at::empty(shape, at::TensorOptions().dtype(dtype->type));
    source.read(data_start, values.data_ptr(), values.nbytes());
    if (dtype->type == at::kHalf) values = values.to(at::kFloat);
  } else {
    std::string bytes(source.size() - data_start, '\0');
    source.read(data_start, bytes.data(), bytes.size());
    values = whole->convert(bytes, shape, source.name());
  }
  if (!header.fortran_order) return values;
  std::vector<int64_t> turned(shape.size());
  for (size_t k = 0; k < turned.size(); ++k) turned[k] = static_cast<int64_t>(turned.size() - 1 - k);
  return values.permute(turned).contiguous();
}

}  // namespace

at::Tensor read_npy(const Source& source, NpyNumbers numbers) {
  if (numbers == NpyNumbers::real) return read_real(source);
  uint64_t data_start = 0;
  at::ScalarType type{};
  const NpyHeader header = check_array(source, numbers, data_start, type);
  at::Tensor tensor = at::empty(header.shape, at::TensorOptions().dtype(type));
  source.read(data_start, tensor.data_ptr(), tensor.nbytes());
  return tensor;
}

NpyRows::NpyRows(const std::string& path) : file_(path) {
  shape_ = check_array(file_, NpyNumbers::floating, start_, type_).shape;
  if (shape_.size() < 2) throw InputError("[npy] {}: expected rows, got shape {}", path, shape_text(shape_));
  row_size_ = 1;
  for (size_t k = 1; k < shape_.size(); ++k) row_size_ *= shape_[k];
}

at::Tensor NpyRows::read(int64_t begin, int64_t end) const {
  at::Tensor out = at::empty({end - begin, row_size_}, at::TensorOptions().dtype(type_));
  file_.read(start_ + static_cast<uint64_t>(begin * row_size_) * out.element_size(), out.data_ptr(), out.nbytes());
  return out.to(at::kFloat);
}

at::Tensor read_npy(const std::string& path, NpyNumbers numbers) { return read_npy(FileSource(path), numbers); }

std::vector<int64_t> read_npy_shape(const std::string& path) {
  uint64_t data_start = 0;
  return read_npy_header(FileSource(path), data_start).shape;
}

void write_npy_header(Sink& sink, at::IntArrayRef shape, at::ScalarType type) {
  if (type != at::kFloat && type != at::kDouble && type != at::kLong && type != at::kByte) {
    throw InputError("[npy] expected float32, float64, int64 or uint8 to write, got {}", dtype_name(type));
  }
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", find_dtype(type)->npy, shape_text(shape));
  // numpy leaves room for the first size to grow to 21 digits, then fills up to a multiple of 64 bytes.
  if (!shape.empty()) dictionary.append(21 - fmt::formatted_size("{}", shape[0]), ' ');
  constexpr size_t kBegin = 10;
  const size_t total = (kBegin + dictionary.size() + 1 + 63) / 64 * 64;
  dictionary.append(total - kBegin - dictionary.size() - 1, ' ');
  dictionary.push_back('\n');
  const auto length = static_cast<uint16_t>(dictionary.size());
  sink.write(kNpyMagic);
  sink.write(std::string_view("\x01\x00", 2));
  sink.write(&length, sizeof length);
  sink.write(dictionary);
}

void write_npy(Sink& sink, const at::Tensor& tensor) {
  const at::Tensor array = packed(tensor);
  write_npy_header(sink, array.sizes(), array.scalar_type());
  sink.write(array.data_ptr(), array.nbytes());
}

void write_npy(const std::string& path, const at::Tensor& tensor) {
  atomic_write(path, [&](Sink& sink) { write_npy(sink, tensor); });
}

void check_finite(const at::Tensor& tensor, const std::string& path, const std::vector<int64_t>& columns) {
  const at::Tensor array = packed(tensor);
  int64_t at = -1;
  double value = 0;
  if (array.scalar_type() == at::kFloat) {
    const float* values = array.const_data_ptr<float>();
    at = first_not_finite<float, uint32_t>(values, array.numel());
    if (at >= 0) value = values[at];
  } else if (array.scalar_type() == at::kDouble) {
    const double* values = array.const_data_ptr<double>();
    at = first_not_finite<double, uint64_t>(values, array.numel());
    if (at >= 0) value = values[at];
  } else {
    throw InputError("[check] {}: expected float32 or float64, got {}", path, dtype_name(array.scalar_type()));
  }
  if (at < 0) return;
  if (array.dim() == 2) {
    const int64_t column = at % array.size(1);
    throw InputError("[check] {}: row {}, column {} (counted from 0): expected a finite number, got {}", path,
                     at / array.size(1), columns.empty() ? column : columns.at(column), value);
  }
  std::vector<int64_t> index(array.dim());
  for (int64_t k = array.dim() - 1; k >= 0; --k) {
    index[k] = at % array.size(k);
    at /= array.size(k);
  }
  throw InputError("[check] {}: index {} (counted from 0): expected a finite number, got {}", path, shape_text(index),
                   value);
}

void check_matrix(const at::Tensor& tensor, const std::string& path) {
  if (tensor.dim() == 2 && tensor.size(0) > 0 && tensor.size(1) > 0) return;
  const std::string hint = tensor.dim() == 1 ? fmt::format(" (a single column has shape ({}, 1))", tensor.size(0)) : "";
  throw InputError("[check] {}: expected a matrix n x d with n and d at least 1, got shape {}{}", path,
                   shape_text(tensor.sizes()), hint);
}

}  // namespace htfm
