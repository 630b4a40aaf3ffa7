// The .npy format of numpy, versions 1 to 3, in C order.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/io/file.h"

namespace htfm HTFM_PUBLIC {

/// What a reader of an .npy file is prepared to get.
enum class NpyNumbers { floating, integer, pixels, real };

/// Reads an array of float32 or float64 (or of int64; or, for pixels, of uint8, float32 or float64), C order,
/// little-endian; or, for real, whole numbers and floats of any width, in either order of memory, as float64 (float32
/// where the file holds float16 or float32). Anything else is an InputError that says what was expected and what the
/// file holds.
at::Tensor read_npy(const std::string& path, NpyNumbers numbers = NpyNumbers::floating);
at::Tensor read_npy(const Source& source, NpyNumbers numbers = NpyNumbers::floating);

/// The shape of the array in a file, from its header alone.
std::vector<int64_t> read_npy_shape(const std::string& path);

/// Writes a float32, float64, int64 or uint8 tensor, byte for byte as numpy.save does; a file is written atomically.
void write_npy(const std::string& path, const at::Tensor& tensor);
void write_npy(Sink& sink, const at::Tensor& tensor);

/// The header alone: the bytes of an array of this shape must follow.
void write_npy_header(Sink& sink, at::IntArrayRef shape, at::ScalarType type);

/// An array of rows that is read part by part: the first size counts the rows.
class NpyRows {
 public:
  /// Checks header and size, as read_npy does.
  explicit NpyRows(const std::string& path);
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t rows() const { return shape_[0]; }
  int64_t row_size() const { return row_size_; }
  /// Rows begin to end as (end - begin) x row_size of float32.
  at::Tensor read(int64_t begin, int64_t end) const;

 private:
  FileSource file_;
  std::vector<int64_t> shape_;
  int64_t row_size_ = 0;
  at::ScalarType type_;
  uint64_t start_ = 0;
};

/// InputError that names the first entry of a float tensor that is infinite or not a number. `columns` gives the places
/// in the file of a matrix's columns where only some were taken.
void check_finite(const at::Tensor& tensor, const std::string& path, const std::vector<int64_t>& columns = {});
/// InputError unless the tensor is a matrix n x d with at least one row and one column.
void check_matrix(const at::Tensor& tensor, const std::string& path);

}  // namespace htfm
