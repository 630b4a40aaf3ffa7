// Dropout of the U-Net: a training step leaves out a share of the values before the second convolution of each residual
// block. Which ones is a function of the sample's own noisy image and time: no further random numbers have to be named,
// the same are left out in the forward and the backward pass, on every device, and in however many parts a batch is
// computed.
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>

namespace htfm {

/// One key a sample (n, int64), from the first channel of its image and its time. x: n x h x w x channels.
at::Tensor dropout_keys(const at::Tensor& x, const at::Tensor& t);

/// Value i of a sample is left out where 16 bits of its random number are below this: bits 16 (i mod 2) and on of word
/// (i mod 8) / 2 of philox(key, i / 8, place).
inline uint32_t dropout_threshold(double rate) { return static_cast<uint32_t>(std::lround(rate * 65536)); }
/// By which the others are multiplied.
inline float dropout_scale(uint32_t threshold) { return 65536.0f / static_cast<float>(65536 - threshold); }

}  // namespace htfm
