#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "htfm/net/norm_tiling_cuda.h"

namespace htfm::cuda {
namespace {

constexpr int kMaxChunk = 512;  // channels a block

// Whole groups and whole vectors of 8 channels a block; small blocks, so that several share a multiprocessor and one
// loads while another stores.
int chunk_of(int pixels, int channels, int groups) {
  const int group = channels / groups, unit = std::lcm(8, group);
  int chunk = unit;
  for (int c = unit; c <= std::min(channels, kMaxChunk); c += unit)
    if (channels % c == 0 && (c <= 16 || (c <= 64 && pixels * (c / 8) <= 2048))) chunk = c;
  return chunk;
}

// A block of at most `most` threads with `wanted` vectors each; no threads where whole pixels do not fit.
Tiling tiling(int pixels, int chunk, int most, int wanted) {
  const int vectors = chunk / 8, all = pixels * vectors;
  const int step = std::lcm(32, vectors);  // whole warps and whole pixels
  int threads = std::max(step, (all / wanted + step - 1) / step * step);
  threads = std::min(threads, most / step * step);
  if (threads == 0) return {chunk, 0, 0, 0};
  const int rows = threads / vectors;
  const bool fold = vectors <= 32 && (vectors & (vectors - 1)) == 0;
  return {chunk, threads, (pixels + rows - 1) / rows, 4 * chunk + (fold ? threads / 32 : rows) * chunk * 2};
}

}  // namespace

Tiling tile_alone(int pixels, int channels, int groups) {
  const int chunk = chunk_of(pixels, channels, groups), all = pixels * (chunk / 8);
  const Tiling t = tiling(pixels, chunk, kNormThreads, all >= 2048 ? 8 : all >= 512 ? 4 : 2);
  if (t.threads == 0)
    throw std::runtime_error("[cuda] norm: no tiling for blocks of " + std::to_string(chunk) + " channels");
  return t;
}

int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "norm");
  check(cudaDeviceGetAttribute(&value, attribute, device), "norm");
  return value;
}

}  // namespace htfm::cuda
