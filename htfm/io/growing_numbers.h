// Numbers whose count is not known beforehand.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

namespace htfm {

/// Numbers that grow in place: the system moves pages instead of copying them, so that a large table is in memory once.
class GrowingNumbers {
 public:
  GrowingNumbers() = default;
  GrowingNumbers(const GrowingNumbers&) = delete;
  GrowingNumbers& operator=(const GrowingNumbers&) = delete;
  ~GrowingNumbers() { std::free(data_); }
  void push(double value) {
    if (size_ == room_) grow();
    data_[size_++] = value;
  }
  size_t size() const { return size_; }
  /// As a tensor, which owns them from now on.
  static at::Tensor tensor(const std::shared_ptr<GrowingNumbers>& numbers, int64_t rows, int64_t columns) {
    return at::from_blob(
        numbers->data_, {rows, columns}, [numbers](void*) {}, at::TensorOptions().dtype(at::kDouble));
  }

 private:
  void grow() {
    const size_t room = std::max<size_t>(1024, room_ + room_ / 2);
    // The system would give more than it has, and end the program later.
    static const size_t memory = static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
    if (room > memory / sizeof(double)) throw std::bad_alloc();
    void* data = std::realloc(data_, room * sizeof(double));
    if (!data) throw std::bad_alloc();
    data_ = static_cast<double*>(data), room_ = room;
  }
  double* data_ = nullptr;
  size_t size_ = 0, room_ = 0;
};

}  // namespace htfm
