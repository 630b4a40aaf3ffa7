// Golden arrays of networks: a manifest of sizes and names beside little-endian float32 values
// (test/golden/make_mlp.py).
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "htfm/base/error.h"
#include "test/data.h"

namespace htfm {

class GoldenFile {
 public:
  explicit GoldenFile(const std::string& name) {
    const std::string stem = test::golden_file("net/" + name);
    std::ifstream manifest(stem + ".txt");
    std::ifstream file(stem + ".bin", std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));

    std::string line, key;
    std::getline(manifest, line);
    std::istringstream header(line);
    for (int64_t value = 0; header >> key >> value;) sizes_[key] = value;
    while (std::getline(manifest, line)) {
      std::istringstream row(line);
      int64_t offset = 0, count = 1;
      row >> key >> offset;
      for (int64_t size = 0; row >> size;) count *= size;
      if (offset + count > static_cast<int64_t>(values.size())) throw Error("{}.bin is too short for {}", stem, key);
      arrays_[key].assign(values.begin() + offset, values.begin() + offset + count);
    }
    if (arrays_.empty()) throw Error("no golden file {}.txt", stem);
  }

  int64_t size(const std::string& key) const { return sizes_.at(key); }
  bool has(const std::string& key) const { return sizes_.contains(key); }
  const std::vector<float>& operator[](const std::string& key) const { return arrays_.at(key); }
  at::Tensor tensor(const std::string& key, const std::vector<int64_t>& shape) const {
    at::Tensor t = at::empty(shape, at::kFloat);
    std::ranges::copy(arrays_.at(key), t.mutable_data_ptr<float>());
    return t;
  }
  /// How many arrays have a name that starts so.
  size_t count(const std::string& prefix) const {
    return static_cast<size_t>(
        std::ranges::count_if(arrays_, [&](const auto& a) { return a.first.starts_with(prefix); }));
  }

 private:
  std::map<std::string, int64_t> sizes_;
  std::map<std::string, std::vector<float>> arrays_;
};

}  // namespace htfm
