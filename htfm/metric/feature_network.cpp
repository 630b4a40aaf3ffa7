#include "htfm/metric/feature_network.h"

#include <ATen/Context.h>
#include <ATen/ops/cat.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/base/torch_reason.h"
#include "htfm/io/dtype.h"
#include "htfm/io/hash.h"

namespace htfm {

namespace {

/// float32 convolutions are float32 while it lives: scores should not depend on the card.
class ExactFloats {
 public:
  ExactFloats() : before_(at::globalContext().allowTF32CuDNN()) { at::globalContext().setAllowTF32CuDNN(false); }
  ~ExactFloats() { at::globalContext().setAllowTF32CuDNN(before_); }
  ExactFloats(const ExactFloats&) = delete;
  ExactFloats& operator=(const ExactFloats&) = delete;

 private:
  bool before_;
};

}  // namespace

struct FeatureNetwork::Module {
  torch::jit::Module script;
};

FeatureNetwork::FeatureNetwork(const std::string& path, at::Device device)
    : device_(device), path_(path), name_(std::filesystem::path(path).stem().string()), hash_(sha256_file(path)) {
  try {
    torch::jit::setGraphExecutorOptimize(false);  // compiling for the first batches costs more than it gives
    module_ = std::make_unique<Module>(Module{torch::jit::load(path, device)});
    module_->script.eval();
  } catch (const c10::OutOfMemoryError&) {
    throw Error("[features] {}: the device is out of memory", path);
  } catch (const std::exception& error) {
    throw InputError("[features] {}: expected a TorchScript file, got: {}", path, torch_reason(error));
  }
}

FeatureNetwork::~FeatureNetwork() = default;
FeatureNetwork::FeatureNetwork(FeatureNetwork&&) noexcept = default;

std::string FeatureNetwork::distance_name(const std::string& inception) const {
  return inception == hash_ ? "FID" : fmt::format("FD[{}]", name_);
}

at::Tensor FeatureNetwork::operator()(const at::Tensor& images, int64_t batch) const {
  if (images.dim() != 4 || images.size(0) == 0)
    throw InputError("[features] expected images n x c x h x w, got shape {}", shape_text(images.sizes()));
  const c10::InferenceMode inference;
  const ExactFloats exact;
  std::vector<at::Tensor> parts;
  for (int64_t first = 0; first < images.size(0); first += batch) {
    const at::Tensor part = images.narrow(0, first, std::min(batch, images.size(0) - first)).to(device_);
    c10::IValue out;
    try {
      out = module_->script.forward({part});
    } catch (const c10::OutOfMemoryError&) {
      throw Error("[features] {}: the device is out of memory at {} images a batch", path_, part.size(0));
    } catch (const std::exception& error) {
      throw InputError("[features] {}: expected a network that takes {} images of shape {}, got: {}", path_,
                       dtype_name(part.scalar_type()), shape_text(part.sizes()), torch_reason(error));
    }
    if (!out.isTensor() || out.toTensor().dim() != 2 || out.toTensor().size(0) != part.size(0) ||
        out.toTensor().size(1) == 0 || !out.toTensor().is_floating_point())
      throw InputError("[features] {}: expected a network that gives floats of shape ({}, d), got {}", path_,
                       part.size(0),
                       out.isTensor() ? fmt::format("{} of shape {}", dtype_name(out.toTensor().scalar_type()),
                                                    shape_text(out.toTensor().sizes()))
                                      : out.tagKind());
    parts.push_back(out.toTensor().to(at::kFloat));
    if (progress) progress(first + part.size(0), images.size(0));
  }
  at::Tensor features = at::cat(parts);
  const at::Tensor finite = features.isfinite().all(1);
  if (!finite.all().item<bool>())
    throw InputError("[features] {}: expected a network that gives finite features, got nan or inf of image {}", path_,
                     finite.logical_not().nonzero()[0].item<int64_t>() + 1);
  return features;
}

}  // namespace htfm
