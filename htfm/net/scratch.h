// Scratch memory of a network's passes over tiles.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "htfm/net/tile_kernels.h"

namespace htfm {

/// Uninitialised floats on a 64-byte boundary. They come from a short list of the calling thread and go back to that of
/// the destroying one: the next step asks for the same sizes, and fresh pages are slow.
class Scratch {
 public:
  explicit Scratch(int64_t floats) {
    const auto fits = std::ranges::find_if(spare, [&](const Buffer& b) { return b.size >= floats; });
    if (fits != spare.end()) {
      buffer_ = std::move(*fits);
      spare.erase(fits);
      return;
    }
    buffer_.size = (floats + 15) / 16 * 16;
    buffer_.data.reset(static_cast<float*>(std::aligned_alloc(64, static_cast<size_t>(buffer_.size) * sizeof(float))));
    if (!buffer_.data && buffer_.size > 0) throw std::bad_alloc();
  }
  ~Scratch() {
    spare.push_back(std::move(buffer_));
    if (spare.size() > kSpare) spare.erase(spare.begin());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  float* data() { return buffer_.data.get(); }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  struct Buffer {
    std::unique_ptr<float, Free> data;
    int64_t size = 0;
  };
  static constexpr size_t kSpare = 4;
  inline static thread_local std::vector<Buffer> spare;

  Buffer buffer_;
};

/// Cuts memory into pieces on 64-byte boundaries; without memory it only counts what would be needed.
class Cutter {
 public:
  explicit Cutter(float* memory = nullptr) : memory_(memory) {}
  float* take(int64_t floats) {
    float* piece = memory_ ? memory_ + used_ : nullptr;
    used_ += (floats + 15) / 16 * 16;
    return piece;
  }
  float* tile(int64_t rows) { return take(rows * kTile); }
  int64_t used() const { return used_; }

 private:
  float* memory_;
  int64_t used_ = 0;
};

}  // namespace htfm
