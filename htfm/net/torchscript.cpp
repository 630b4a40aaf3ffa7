#include "htfm/net/torchscript.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <sstream>

#include "htfm/base/torch_reason.h"
#include "htfm/io/file.h"
#include "htfm/io/hash.h"
#include "htfm/net/module_network.h"
#include "htfm/net/networks.h"

namespace htfm {

namespace {

std::atomic<bool> trusted_files{false};

// One place of a module that holds a parameter.
struct Slot {
  c10::intrusive_ptr<c10::ivalue::Object> owner;
  size_t place;
  std::string name;
};

void collect_slots(const c10::intrusive_ptr<c10::ivalue::Object>& owner, const std::string& prefix,
                   std::vector<Slot>& out) {
  const std::shared_ptr<c10::ClassType> type = owner->type();
  for (size_t k = 0; k < type->numAttributes(); ++k) {
    const std::string name = prefix + type->getAttributeName(k);
    const c10::IValue value = owner->getSlot(k);
    if (type->is_parameter(k) && value.isTensor()) out.push_back({owner, k, name});
    if (type->getAttribute(k)->is_module()) collect_slots(value.toObject(), name + ".", out);
  }
}

// A copy of the module whose parameters one thread at a time exchanges.
struct Instance {
  explicit Instance(torch::jit::Module own) : module(std::move(own)) { collect_slots(module._ivalue(), "", slots); }
  torch::jit::Module module;
  std::vector<Slot> slots;
};

class ScriptNetwork final : public ModuleNetwork {
 public:
  ScriptNetwork(const NetworkContext& context, const std::string& bytes, std::string hash)
      : ModuleNetwork(context.dim, context.feature),
        path_(context.config.path),
        hash_(std::move(hash)),
        image_(context.image) {
    try {
      std::istringstream stream(bytes);
      torch::jit::Module module = torch::jit::load(stream, at::kCPU);
      module.eval();
      original_ = std::make_unique<Instance>(std::move(module));
    } catch (const std::exception& error) {
      throw InputError("[net.path] {}: expected a TorchScript file, got: {}", path_, torch_reason(error));
    }
    add_parameters();
    try_out();
  }
  std::string file_hash() const override { return hash_; }
  at::Tensor initial(Key) const override {
    at::Tensor flat = at::zeros({layout_.size()}, at::kFloat);
    for (size_t p = 0; p < initial_.size(); ++p) {
      const at::Tensor& from = initial_[p];
      std::memcpy(flat.mutable_data_ptr<float>() + layout_.list()[p].offset, from.const_data_ptr<float>(),
                  from.nbytes());
    }
    return flat;
  }

 protected:
  at::Tensor output(std::span<const at::Tensor> parameters, const at::Tensor& x, const at::Tensor& t,
                    const at::Tensor& feature) const override {
    const Lent lent(*this);
    Instance& own = *lent.instance;
    for (size_t k = 0; k < own.slots.size(); ++k)
      if (parameter_of_[k] >= 0)
        own.slots[k].owner->setSlot(own.slots[k].place, parameters[static_cast<size_t>(parameter_of_[k])]);
    // As written: the optimiser rewrites the graph after a few calls, and a resumed run would then not repeat the bits.
    const torch::jit::GraphOptimizerEnabledGuard plain(false);
    c10::IValue out;
    try {
      out =
          own.module.forward({image_ ? x.view({-1, image_->channels, image_->height, image_->width}) : x, t, feature});
    } catch (const std::exception& error) {
      throw InputError(
          "[net.path] {}: expected forward(x, t, feature) for rows of {} values and {} of feature, got: {}", path_,
          dim(), feature_size(), torch_reason(error));
    }
    if (!out.isTensor() || out.toTensor().scalar_type() != at::kFloat || out.toTensor().numel() != x.numel())
      throw InputError("[net.path] {}: expected forward to give float32 of the size of x, {} values a row, got {}",
                       path_, dim(), out.isTensor() ? fmt::format("{} values", out.toTensor().numel()) : out.tagKind());
    return out.toTensor().reshape({x.size(0), dim()});
  }

 private:
  // A copy of the module for the time of one call; there are as many as threads that call at once.
  struct Lent {
    explicit Lent(const ScriptNetwork& from) : network(from) {
      std::lock_guard lock(network.mutex_);
      if (network.free_.empty()) {
        instance = std::make_unique<Instance>(network.original_->module.deepcopy());
      } else {
        instance = std::move(network.free_.back());
        network.free_.pop_back();
      }
    }
    ~Lent() {
      std::lock_guard lock(network.mutex_);
      network.free_.push_back(std::move(instance));
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    const ScriptNetwork& network;
    std::unique_ptr<Instance> instance;
  };

  void add_parameters() {
    std::map<const void*, int64_t> seen;  // layers that share a tensor share the parameter
    for (const Slot& slot : original_->slots) {
      const at::Tensor value = slot.owner->getSlot(slot.place).toTensor().detach();
      const bool trained = slot.owner->getSlot(slot.place).toTensor().requires_grad();
      const void* identity = slot.owner->getSlot(slot.place).toTensor().unsafeGetTensorImpl();
      if (!trained || seen.contains(identity)) {
        parameter_of_.push_back(trained ? seen.at(identity) : -1);
        continue;
      }
      if (value.scalar_type() != at::kFloat)
        throw InputError("[net.path] {}: expected parameters in float32, got '{}' in another type", path_, slot.name);
      parameter_of_.push_back(seen[identity] = static_cast<int64_t>(initial_.size()));
      add_parameter(slot.name, value.sizes().vec(), 0, /*decay=*/value.dim() >= 2);
      initial_.push_back(value.contiguous());
    }
    if (initial_.empty())
      throw InputError("[net.path] {}: expected parameters to train, got none (a frozen module has none)", path_);
  }

  // Wrong sizes are told before training begins.
  void try_out() const {
    const at::Tensor start = initial(Key(0));
    forward(start.const_data_ptr<float>(), {at::zeros({2, dim()}, at::kFloat), at::full({2}, 0.5, at::kFloat),
                                            at::zeros({2, feature_size()}, at::kFloat)});
  }

  std::string path_, hash_;
  std::optional<NetworkImage> image_;
  std::unique_ptr<Instance> original_;
  std::vector<int64_t> parameter_of_;  // for each slot; -1: stays as in the file
  std::vector<at::Tensor> initial_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Instance>> free_;
};

}  // namespace

void trust_torchscript(bool trusted) { trusted_files = trusted; }
bool torchscript_trusted() { return trusted_files; }

std::unique_ptr<Network> make_torchscript(const NetworkContext& c) {
  const NetConfig& config = c.config;
  if (config.path.empty())
    throw InputError("[net.path] expected a TorchScript file for net.kind = torchscript, got none");
  if (!torchscript_trusted())
    throw InputError(
        "[net.path] {}: expected permission to run the code in this file, since a TorchScript network runs code of "
        "whoever made it; if you know where it comes from, give --trust, or call htfm::trust_torchscript(true)",
        config.path);
  const std::string bytes = read_file(config.path);
  std::string hash = sha256(bytes);
  if (!config.sha256.empty() && config.sha256 != hash)
    throw InputError("[net.path] {}: expected the file that the model was trained with, SHA-256 {}, got {}",
                     config.path, config.sha256, hash);
  return std::make_unique<ScriptNetwork>(c, bytes, std::move(hash));
}

}  // namespace htfm
