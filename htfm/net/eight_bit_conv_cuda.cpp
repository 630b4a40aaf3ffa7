#include "htfm/net/eight_bit_conv_cuda.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cudnn/Handle.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "htfm/base/error.h"

namespace htfm {

namespace {

constexpr int64_t kConfigurations = 12;             // of cuDNN's engines, tried in the order of its heuristics
constexpr int64_t kWorkspace = int64_t{256} << 20;  // bytes, at the most
constexpr int kRounds = 5;

void check(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) throw Error("[cudnn] {}: {}", what, cudnnGetErrorString(status));
}

// A descriptor of cuDNN's graphs: created, given its attributes, made final.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    check(cudnnBackendCreateDescriptor(type, &descriptor_), "a descriptor");
  }
  Descriptor(Descriptor&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = nullptr; }
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (descriptor_) cudnnBackendDestroyDescriptor(descriptor_);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  const void* values) {
    check(cudnnBackendSetAttribute(descriptor_, name, type, count, values), "an attribute");
    return *this;
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    return set(name, type, 1, &value);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.descriptor_);
  }
  Descriptor& finish(const char* what) {
    check(cudnnBackendFinalize(descriptor_), what);
    return *this;
  }
  bool try_finish() { return cudnnBackendFinalize(descriptor_) == CUDNN_STATUS_SUCCESS; }
  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

enum Place : int64_t { kImage = 1, kWeight, kFactor, kOutput, kProduct };

// n x c x h x w in the order of memory n, h, w, c.
Descriptor tensor(Place place, cudnnDataType_t type, int64_t n, int64_t c, int64_t h, int64_t w) {
  Descriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, static_cast<int64_t>(place))
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, {n, c, h, w})
      .set(CUDNN_ATTR_TENSOR_STRIDES, {h * w * c, 1, w * c, c})
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t{16})
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, place == kProduct)
      .finish("a tensor");
  return d;
}

// y = factor of the channel times the convolution, which is never written.
struct Graph {
  Graph(cudnnHandle_t handle, int64_t n, int64_t h, int64_t w, int64_t in, int64_t out)
      : image(tensor(kImage, CUDNN_DATA_FP8_E4M3, n, in, h, w)),
        weight(tensor(kWeight, CUDNN_DATA_FP8_E4M3, out, in, 3, 3)),
        product(tensor(kProduct, CUDNN_DATA_FLOAT, n, out, h, w)),
        factor(tensor(kFactor, CUDNN_DATA_FLOAT, 1, out, 1, 1)),
        output(tensor(kOutput, CUDNN_DATA_BFLOAT16, n, out, h, w)) {
    const std::vector<int64_t> ones{1, 1};
    kind.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
        .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
        .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{2})
        .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, ones)
        .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, ones)
        .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, ones)
        .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, ones)
        .finish("a convolution");
    convolution.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, kind)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, image)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, weight)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, product)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0f)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0f)
        .finish("a convolution's operation");
    times.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_MUL)
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
        .finish("a product");
    scaling.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, times)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, product)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, factor)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, output)
        .finish("a product's operation");
    const cudnnBackendDescriptor_t operations[] = {convolution.get(), scaling.get()};
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 2, operations)
        .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle)
        .finish("a graph");
  }
  Descriptor image, weight, product, factor, output;
  Descriptor kind{CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR},
      convolution{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR}, times{CUDNN_BACKEND_POINTWISE_DESCRIPTOR},
      scaling{CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR}, graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

// Ways to run a graph, the most promising first.
std::vector<Descriptor> configurations(const Graph& graph) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A)
      .finish("heuristics");
  std::vector<Descriptor> out;
  std::vector<cudnnBackendDescriptor_t> found;
  for (int64_t k = 0; k < kConfigurations; ++k)
    out.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), found.push_back(out.back().get());
  int64_t count = 0;
  check(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                 kConfigurations, &count, found.data()),
        "heuristics");
  while (static_cast<int64_t>(out.size()) > std::clamp<int64_t>(count, 0, kConfigurations)) out.pop_back();
  return out;
}

struct Plan {
  explicit Plan(const Descriptor& configuration, cudnnHandle_t handle) {
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle)
        .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (!plan.try_finish()) return;
    int64_t count = 0;
    check(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                                   &workspace),
          "a plan");
    usable = workspace <= kWorkspace;
  }
  Descriptor plan{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  int64_t workspace = 0;
  bool usable = false;
};

}  // namespace

class EightBitConv {
 public:
  EightBitConv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& factor, const at::Tensor& y) {
    const cudnnHandle_t handle = at::native::getCudnnHandle();
    const Graph graph(handle, x.size(0), x.size(1), x.size(2), x.size(3), weight.size(0));
    float best = std::numeric_limits<float>::infinity();
    for (const Descriptor& configuration : configurations(graph)) {
      auto plan = std::make_unique<Plan>(configuration, handle);
      if (!plan->usable) continue;
      const float milliseconds = time(*plan, x, weight, factor, y);
      if (milliseconds < best) best = milliseconds, plan_ = std::move(plan);
    }
    if (!plan_)
      throw InputError(
          "[sample.precision] expected bf16, tf32 or float32: cuDNN {} has no fp8 convolution of {} x {} x {} x {} to "
          "{} "
          "channels on this device",
          cudnnGetVersion(), x.size(0), x.size(1), x.size(2), x.size(3), weight.size(0));
  }
  void operator()(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& factor, const at::Tensor& y) const {
    check(run(*plan_, x, weight, factor, y), "a convolution");
  }

 private:
  static cudnnStatus_t run(const Plan& plan, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& factor,
                           const at::Tensor& y) {
    const at::Tensor workspace = at::empty({plan.workspace}, x.options().dtype(at::kByte));
    const int64_t places[] = {kImage, kWeight, kFactor, kOutput};
    const void* const data[] = {x.const_data_ptr(), weight.const_data_ptr(), factor.const_data_ptr(),
                                y.const_data_ptr()};
    const void* const room = workspace.const_data_ptr();
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 4, places)
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 4, data)
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &room)
        .finish("tensors");
    return cudnnBackendExecute(at::native::getCudnnHandle(), plan.plan.get(), pack.get());
  }
  // Milliseconds of a few rounds; infinite where it does not run.
  static float time(const Plan& plan, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& factor,
                    const at::Tensor& y) {
    if (run(plan, x, weight, factor, y) != CUDNN_STATUS_SUCCESS) return std::numeric_limits<float>::infinity();
    at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
    begin.record();
    for (int k = 0; k < kRounds; ++k) run(plan, x, weight, factor, y);
    end.record();
    end.synchronize();
    return begin.elapsed_time(end);
  }

  std::unique_ptr<Plan> plan_;
};

EightBitConvs::EightBitConvs() = default;
EightBitConvs::~EightBitConvs() = default;

void EightBitConvs::operator()(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& factor,
                               const at::Tensor& y) {
  std::unique_ptr<EightBitConv>& conv = sizes_[{x.size(0), x.size(1), x.size(2), x.size(3), weight.size(0)}];
  if (!conv) conv = std::make_unique<EightBitConv>(x, weight, factor, y);
  (*conv)(x, weight, factor, y);
}

}  // namespace htfm
