// A feature network: any TorchScript file that turns images into vectors. Distances between features are named after
// the file.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>

#include "htfm/base/api.h"
#include "htfm/metric/frechet.h"

namespace htfm HTFM_PUBLIC {

class FeatureNetwork {
 public:
  /// Loads a TorchScript file to a device. InputError where it is none.
  explicit FeatureNetwork(const std::string& path, at::Device device = at::kCPU);
  ~FeatureNetwork();
  FeatureNetwork(FeatureNetwork&&) noexcept;

  /// Features n x d, float32 on the network's device, of images n x c x h x w: uint8, or floats in [0,255]. They go
  /// through it `batch` at a time. InputError where the network does not take such images, or gives something else than
  /// finite numbers n x d.
  at::Tensor operator()(const at::Tensor& images, int64_t batch = 500) const;

  /// Called with the images done and all of them after each batch.
  std::function<void(int64_t done, int64_t all)> progress = {};

  /// The file's name without folder and ending.
  const std::string& name() const { return name_; }
  /// SHA-256 of the file.
  const std::string& hash() const { return hash_; }
  /// What the Frechet distance of its features is called: FID only where the file's SHA-256 is `inception`, that of the
  /// 2015 Inception network; otherwise FD[name].
  std::string distance_name(const std::string& inception = "") const;

 private:
  struct Module;
  std::unique_ptr<Module> module_;
  at::Device device_;
  std::string path_, name_, hash_;
};

}  // namespace htfm
