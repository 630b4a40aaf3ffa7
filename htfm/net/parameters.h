// All parameters of a network in one flat float32 buffer, with names. Optimiser, EMA, clipping and checkpoints work on
// the buffer as a whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"

namespace htfm HTFM_PUBLIC {

/// How a parameter starts and whether weight decay acts on it.
struct ParameterInfo {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset = 0, size = 0;
  bool decay = false;
  double bound = 0;  ///< uniform in (-bound, bound)
  double centre = 0;
  bool stacked = false;  ///< a matrix of several layers, one below the other
};

class ParameterLayout {
 public:
  /// Adds a parameter and returns its offset; every parameter starts on a 64-byte boundary.
  int64_t add(std::string name, std::vector<int64_t> shape, bool decay, double bound, double centre = 0);
  /// Says that the parameter at this offset is a stack of several layers' matrices.
  void stack(int64_t offset);
  const std::vector<ParameterInfo>& list() const { return list_; }
  int64_t size() const { return size_; }  ///< floats in the buffer, gaps included
  int64_t count() const;                  ///< parameters, gaps not included
  /// Draws initial values; gaps are zero. A parameter's values depend on the key and its name only.
  void initialise(Key key, float* buffer) const;
  /// The same as a tensor.
  at::Tensor initial(Key key) const;

 private:
  std::vector<ParameterInfo> list_;
  int64_t size_ = 0;
};

/// A linear layer's place in the buffer: weight [out][in] and bias, drawn from U(-1/sqrt(in), 1/sqrt(in)) unless zero.
struct Linear {
  int64_t in = 0, out = 0, weight = 0, bias = 0;
  static Linear add(ParameterLayout& layout, const std::string& name, int64_t in, int64_t out, bool decay = true,
                    bool zero = false);
};

}  // namespace htfm
