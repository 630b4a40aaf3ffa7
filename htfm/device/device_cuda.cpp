// The training device behind htfm/device/device.h.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_profiler_api.h>

#include <cstring>

#include "htfm/base/api.h"
#include "htfm/base/check_cuda.h"
#include "htfm/base/error.h"
#include "htfm/device/device.h"
#include "htfm/device/step_kernels_cuda.h"

namespace htfm {

std::unique_ptr<ImageOps> make_cuda_image_ops(at::ScalarType type, bool eight_bit);

namespace {

cudaStream_t stream() { return at::cuda::getCurrentCUDAStream(); }
cuda::Type kernel_type(const ImageOps& ops) {
  return ops.type() == at::kFloat ? cuda::Type::float32 : cuda::Type::bfloat16;
}

cuda::Loss kernel_loss(LossKind kind) {
  switch (kind) {
    case LossKind::root: return cuda::Loss::root;
    case LossKind::smooth_l1: return cuda::Loss::smooth_l1;
    case LossKind::median: return cuda::Loss::median;
    default: return cuda::Loss::squared;
  }
}

class CudaQueue final : public DeviceQueue {
 public:
  CudaQueue() : stream_(at::cuda::getStreamFromPool(true)), beside_(at::cuda::getStreamFromPool(true)) {}
  void run(const std::function<void()>& body) override {
    c10::cuda::CUDAStreamGuard guard(stream_);
    body();
  }
  int record(const std::function<void()>& body) override {
    wait();
    c10::cuda::CUDACachingAllocator::emptyCache();
    graphs_.push_back(std::make_unique<at::cuda::CUDAGraph>());
    c10::cuda::CUDAStreamGuard guard(stream_);
    graphs_.back()->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    body();
    graphs_.back()->capture_end();
    return static_cast<int>(graphs_.size()) - 1;
  }
  void replay(int recording) override {
    c10::cuda::CUDAStreamGuard guard(stream_);
    graphs_[static_cast<size_t>(recording)]->replay();
  }
  void beside(const std::function<void()>& body) override {
    order(stream_, beside_);
    c10::cuda::CUDAStreamGuard guard(beside_);
    body();
  }
  void join() override { order(beside_, stream_); }
  void wait() override { stream_.synchronize(); }
  void mark(size_t place) override {
    if (events_.size() <= place) events_.resize(place + 1);
    events_[place].record(stream_);
  }
  void wait_for(size_t place) override {
    if (place < events_.size()) events_[place].synchronize();
  }

 private:
  // What is queued on one stream so far comes before what will be on the other.
  void order(const c10::cuda::CUDAStream& before, const c10::cuda::CUDAStream& after) {
    orders_.emplace_back();  // a recording may name it
    orders_.back().record(before);
    orders_.back().block(after);
  }

  c10::cuda::CUDAStream stream_, beside_;
  std::vector<at::cuda::CUDAEvent> orders_;
  std::vector<std::unique_ptr<at::cuda::CUDAGraph>> graphs_;
  std::vector<at::cuda::CUDAEvent> events_;
};

class CudaImageDevice final : public ImageDevice {
 public:
  std::unique_ptr<ImageOps> image_ops(at::ScalarType type, bool eight_bit) const override {
    if (eight_bit && at::cuda::getCurrentDeviceProperties()->major < 9)
      throw InputError("[sample.precision] expected bf16, tf32 or float32 on {}: fp8 needs compute capability 9",
                       name());
    return make_cuda_image_ops(type, eight_bit);
  }
  std::unique_ptr<DeviceQueue> queue() const override { return std::make_unique<CudaQueue>(); }

  PairTensors pairs(const ImageOps& ops, const at::Tensor& all, at::IntArrayRef image, const StepTensors& step,
                    const at::Tensor& noise) const override {
    const auto rows = static_cast<int64_t>(step.rows.numel() / static_cast<int64_t>(sizeof(StepRow)));
    const auto options = at::TensorOptions().dtype(at::kFloat).device(ops.device());
    PairTensors out{ops.empty({rows, image[1], image[2], ops.padded(image[0])}),
                    at::empty({rows, image[1], image[2], image[0]}, options), at::empty({rows}, options)};
    cuda::PairArgs a;
    a.type = kernel_type(ops), a.rows = static_cast<int>(rows), a.channels = static_cast<int>(image[0]);
    a.padded = static_cast<int>(out.input.size(3)), a.height = static_cast<int>(image[1]),
    a.width = static_cast<int>(image[2]);
    a.data = all.const_data_ptr<float>(), a.header = header(step), a.row = row(step);
    if (noise.defined()) a.noise = noise.const_data_ptr<float>();
    a.input = out.input.mutable_data_ptr(), a.target = out.target.mutable_data_ptr<float>(),
    a.time = out.time.mutable_data_ptr<float>();
    cuda::make_pairs(a, stream());
    return out;
  }

  at::Tensor loss_gradient(const ImageOps& ops, const LossSpec& loss, const PredictedTensors& predicted,
                           const StepTensors& step, const at::Tensor& partial) const override {
    const auto& [output, target] = predicted;
    at::Tensor gradient = ops.empty({output.size(0), output.size(1), output.size(2), ops.padded(output.size(3))});
    cuda::LossArgs a;
    a.type = kernel_type(ops), a.rows = static_cast<int>(output.size(0)), a.channels = static_cast<int>(output.size(3));
    a.padded = static_cast<int>(gradient.size(3)), a.pixels = static_cast<int>(output.size(1) * output.size(2));
    a.output = output.const_data_ptr<float>(), a.target = target.const_data_ptr<float>(), a.header = header(step),
    a.row = row(step);
    a.gradient = gradient.mutable_data_ptr(), a.partial = partial.mutable_data_ptr<double>();
    a.loss = kernel_loss(loss.kind), a.outer = static_cast<int>(loss.outer), a.inner = static_cast<int>(loss.inner);
    cuda::loss_gradient(a, stream());
    return gradient;
  }
  int64_t loss_partials() const override { return cuda::kLossBlocks; }

  at::Tensor column_totals(const at::Tensor& sums) const override {
    at::Tensor out = at::empty({sums.size(1)}, sums.options());
    cuda::column_totals(sums.const_data_ptr<float>(), sums.size(0), sums.size(1), out.mutable_data_ptr<float>(),
                        stream());
    return out;
  }

  at::Tensor segment_table(const std::vector<GradientPlace>& places) const override {
    std::vector<cuda::Segment> list;
    for (const GradientPlace& p : places)
      for (int64_t at = 0; at < p.count; at += cuda::kSegment) {
        const int64_t size = p.bfloat16 ? 2 : 4;
        list.push_back({static_cast<const char*>(p.gradient) + at * size, p.offset + at,
                        static_cast<int32_t>(std::min<int64_t>(cuda::kSegment, p.count - at)), p.bfloat16 ? 1 : 0,
                        p.decay, p.direction ? p.direction + at : nullptr, p.scale});
      }
    at::Tensor bytes = at::empty({static_cast<int64_t>(list.size() * sizeof(cuda::Segment))}, at::kByte);
    std::memcpy(bytes.mutable_data_ptr(), list.data(), list.size() * sizeof(cuda::Segment));
    return bytes;
  }
  int64_t segments(const at::Tensor& table) const override {
    return table.numel() / static_cast<int64_t>(sizeof(cuda::Segment));
  }

  void begin_update(const UpdateTensors& t, const OptimiserConstants& constants) const override {
    cuda::begin_update(update_args(t, constants), stream());
  }
  void end_update(const UpdateTensors& t, const OptimiserConstants& constants) const override {
    cuda::end_update(update_args(t, constants), stream());
  }

  void combine(const at::Tensor& out, const std::vector<at::Tensor>& in, const at::Tensor& factor) const override {
    if (in.size() > cuda::kTerms) throw std::runtime_error("[cuda] too many terms");
    cuda::CombineArgs a;
    a.rows = out.size(0), a.dim = out.size(1), a.terms = static_cast<int>(in.size());
    for (size_t k = 0; k < in.size(); ++k) a.in[k] = in[k].const_data_ptr<double>();
    a.factor = factor.const_data_ptr<double>(), a.out = out.mutable_data_ptr<double>();
    cuda::combine(a, stream());
  }
  void normal(const at::Tensor& out, Key key, int64_t first) const override {
    cuda::normal({key.value(), static_cast<uint64_t>(first), out.numel(), out.mutable_data_ptr<double>()}, stream());
  }
  void network_input(const at::Tensor& state, const at::Tensor& coefficient, const at::Tensor& input,
                     const at::Tensor& time) const override {
    cuda::NetworkEndArgs a = network_end(state, coefficient, input.size(1) * input.size(2));
    a.type = input.scalar_type() == at::kFloat ? cuda::Type::float32 : cuda::Type::bfloat16,
    a.padded = static_cast<int>(input.size(3));
    a.input = input.mutable_data_ptr(), a.time = time.mutable_data_ptr<float>();
    cuda::network_input(a, stream());
  }
  void network_output(const at::Tensor& output, const at::Tensor& state, const at::Tensor& coefficient,
                      const at::Tensor& velocity) const override {
    cuda::NetworkEndArgs a = network_end(state, coefficient, output.size(1) * output.size(2));
    a.output = output.const_data_ptr<float>(), a.velocity = velocity.mutable_data_ptr<double>();
    cuda::network_output(a, stream());
  }

  void configure(bool tf32, bool deterministic) const override {
    at::Context& c = at::globalContext();
    c.setAllowTF32CuDNN(tf32);
    c.setAllowTF32CuBLAS(tf32);
    c.setBenchmarkCuDNN(!deterministic);
    c.setDeterministicCuDNN(deterministic);
    c.setDeterministicAlgorithms(deterministic, true);
  }

  Memory memory() const override {
    at::globalContext().lazyInitDevice(at::kCUDA);  // the allocator's figures are there only then
    size_t free = 0, total = 0;
    cuda::check(cudaMemGetInfo(&free, &total), "memory");
    const auto statistics = c10::cuda::CUDACachingAllocator::getDeviceStats(c10::cuda::current_device());
    return {static_cast<double>(statistics.allocated_bytes[0].peak), static_cast<double>(total)};
  }
  void release_cache() const override { c10::cuda::CUDACachingAllocator::emptyCache(); }
  void profile(bool on) const override { cuda::check(on ? cudaProfilerStart() : cudaProfilerStop(), "profile"); }
  std::string name() const override { return at::cuda::getCurrentDeviceProperties()->name; }
  std::string identity() const override {
    std::string out;
    for (const char byte : at::cuda::getCurrentDeviceProperties()->uuid.bytes)
      for (const int shift : {4, 0}) out += "0123456789abcdef"[static_cast<unsigned char>(byte) >> shift & 15];
    return out;
  }
  int count() const override { return c10::cuda::device_count(); }
  void select(int index) const override { c10::cuda::set_device(static_cast<c10::DeviceIndex>(index)); }
  void collect(const at::Tensor& table, const at::Tensor& flat) const override {
    cuda::collect_gradients(static_cast<const cuda::Segment*>(table.const_data_ptr()),
                            static_cast<int>(segments(table)), flat.mutable_data_ptr<float>(), stream());
  }

 private:
  cuda::UpdateArgs update_args(const UpdateTensors& t, const OptimiserConstants& constants) const {
    cuda::UpdateArgs a;
    a.segment = static_cast<const cuda::Segment*>(t.table.const_data_ptr()),
    a.segments = static_cast<int>(segments(t.table));
    a.constants = constants;
    a.header = static_cast<const StepHeader*>(t.header.const_data_ptr());
    a.loss_partial = t.loss_partial.const_data_ptr<double>(),
    a.norm_partial = t.norm_partial.mutable_data_ptr<double>();
    a.state = static_cast<StepState*>(t.state.mutable_data_ptr());
    a.parameters = t.parameters.mutable_data_ptr<float>(), a.first = t.first.mutable_data_ptr<float>();
    a.second = t.second.mutable_data_ptr<float>(), a.ema = t.ema.mutable_data_ptr<float>();
    if (t.bf16_parameters.defined()) a.bf16_parameters = t.bf16_parameters.mutable_data_ptr();
    a.directions = t.directions;
    return a;
  }
  static cuda::NetworkEndArgs network_end(const at::Tensor& state, const at::Tensor& coefficient, int64_t pixels) {
    cuda::NetworkEndArgs a;
    a.rows = static_cast<int>(state.size(0)), a.pixels = static_cast<int>(pixels),
    a.channels = static_cast<int>(state.size(1) / pixels);
    a.state = state.const_data_ptr<double>(), a.coefficient = coefficient.const_data_ptr<double>();
    return a;
  }
  static const StepHeader* header(const StepTensors& s) {
    return static_cast<const StepHeader*>(s.header.const_data_ptr());
  }
  static const StepRow* row(const StepTensors& s) { return static_cast<const StepRow*>(s.rows.const_data_ptr()); }
};

}  // namespace
}  // namespace htfm

extern "C" HTFM_PUBLIC const htfm::ImageDevice* htfm_cuda_image_device(const char** reason) {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    *reason = status == cudaSuccess ? "none found" : cudaGetErrorString(status);
    return nullptr;
  }
  static const htfm::CudaImageDevice device;
  return &device;
}
