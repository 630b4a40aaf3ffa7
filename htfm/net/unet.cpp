#include "htfm/net/unet.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cstring>

#include "htfm/base/error.h"
#include "htfm/base/single_thread_guard.h"
#include "htfm/io/dtype.h"
#include "htfm/net/gradient_parts.h"
#include "htfm/net/unet_pass.h"

namespace htfm {

namespace {

// Rows are channels x height x width; the operations take pixels first.
at::Tensor to_pixels(const at::Tensor& rows, const UNetOptions& o) {
  return rows.view({-1, o.channels, o.height, o.width}).permute({0, 2, 3, 1}).contiguous();
}
at::Tensor to_rows(const at::Tensor& pixels) {
  return pixels.permute({0, 3, 1, 2}).contiguous().view({pixels.size(0), -1});
}

at::Tensor borrow(const float* data, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(data), shape, at::kFloat);
}

class UNet final : public Network {
 public:
  explicit UNet(const UNetOptions& options) : layers_(options, layout_), ops_(make_cpu_image_ops()) {}
  int64_t dim() const override { return options().channels * options().height * options().width; }
  int64_t feature_size() const override { return options().feature; }
  int64_t evaluation_rows() const override { return 16; }  // a layer's images stay in the cache
  const UNetLayers* unet() const override { return &layers_; }

  at::Tensor forward(const float* parameters, const NetworkInput& in) const override {
    check(in);
    UNetPass pass = make_pass(parameters, false);
    return to_rows(pass.forward(to_pixels(in.x, options()), in.t, in.feature));
  }

  double gradient(const float* parameters, const NetworkInput& in, const SampleLoss& loss,
                  float* gradient) const override {
    check(in);
    if (part_count(in.t.numel()) == 1) return gradient_of(0, in.t.numel(), parameters, in, loss, gradient);
    return gradient_in_parts(*this, parameters, in, loss, gradient);
  }
  // A batch is cut by its size alone, and each part is one thread's: the sum is the same for any number of them.
  int64_t part_count(int64_t rows) const override { return std::clamp<int64_t>(rows / kPartImages, 1, kMostParts); }
  double part_gradient(const float* parameters, const NetworkInput& in, const SampleLoss& loss, int64_t part,
                       float* gradient) const override {
    check(in);
    const int64_t n = in.t.numel();
    if (part_count(n) == 1) return gradient_of(0, n, parameters, in, loss, gradient);
    const OwnThread alone;
    return gradient_of(part_begin(n, part), part_begin(n, part + 1), parameters, in, loss, gradient);
  }

  std::unique_ptr<Evaluator> evaluator(const float* parameters, int64_t rows, const float* feature) const override {
    if (feature_size() > 0 && !feature)
      throw InputError("[unet] expected features of size {} x {}, got none", rows, feature_size());
    return std::make_unique<Evaluation>(*this, parameters, rows, feature);
  }

 private:
  static constexpr int64_t kPartImages = 4, kMostParts = 16;

  // Of rows begin to end alone.
  double gradient_of(int64_t begin, int64_t end, const float* parameters, const NetworkInput& in,
                     const SampleLoss& loss, float* gradient) const {
    UNetPass pass = make_pass(parameters, true);
    const auto own = [&](const at::Tensor& all) {
      return all.defined() ? all.narrow(0, begin, end - begin) : at::Tensor();
    };
    const at::Tensor out = to_rows(pass.forward(to_pixels(own(in.x), options()), own(in.t), own(in.feature)));
    at::Tensor d = at::empty_like(out);
    const double value = loss(begin, out.size(0), out.const_data_ptr<float>(), d.mutable_data_ptr<float>());
    const UNetGradient g = pass.backward(to_pixels(d, options()));
    std::memset(gradient, 0, static_cast<size_t>(layout_.size()) * sizeof(float));
    for (const ParameterGradient& p : g.parameters)
      std::memcpy(gradient + p.parameter, p.value.contiguous().const_data_ptr<float>(), p.value.nbytes());
    const at::Tensor sums = g.sums.sum(0);
    for (const UNetLayers::Column& c : layers_.columns)
      std::memcpy(gradient + c.parameter, sums.const_data_ptr<float>() + c.column,
                  static_cast<size_t>(c.count) * sizeof(float));
    return value;
  }

  class Evaluation final : public Evaluator {
   public:
    Evaluation(const UNet& net, const float* parameters, int64_t rows, const float* feature)
        : net_(net), pass_(net.make_pass(parameters, false)), rows_(rows) {
      if (net.feature_size() > 0) pass_.set_feature(borrow(feature, {rows, net.feature_size()}).clone());
    }
    void operator()(const float* x, double t, float* out) override { run(x, at::full({rows_}, t, at::kFloat), out); }
    void operator()(const float* x, const float* t, float* out) override { run(x, borrow(t, {rows_}).clone(), out); }

   private:
    void run(const float* x, const at::Tensor& t, float* out) {
      const at::Tensor y = to_rows(pass_.forward(to_pixels(borrow(x, {rows_, net_.dim()}), net_.options()), t, {}));
      std::memcpy(out, y.const_data_ptr<float>(), y.nbytes());
    }
    const UNet& net_;
    UNetPass pass_;
    int64_t rows_;
  };

  const UNetOptions& options() const { return layers_.options; }
  UNetPass make_pass(const float* parameters, bool keep) const {
    const at::Tensor flat = borrow(parameters, {layout_.size()});
    return {layers_, *ops_, {flat, flat}, keep};
  }
  void check(const NetworkInput& in) const {
    const auto fits = [&](const at::Tensor& t, int64_t columns) {
      return t.defined() && t.scalar_type() == at::kFloat && t.is_contiguous() && t.numel() == in.t.numel() * columns;
    };
    if (!in.t.defined() || !fits(in.t, 1))
      throw InputError("[unet] expected times in float32, got {}", tensor_text(in.t));
    if (!fits(in.x, dim()))
      throw InputError("[unet] expected {} images of {} values in float32, got {}", in.t.numel(), dim(),
                       tensor_text(in.x));
    if (feature_size() > 0 && !fits(in.feature, feature_size()))
      throw InputError("[unet] expected features of size {} x {} in float32, got {}", in.t.numel(), feature_size(),
                       tensor_text(in.feature));
  }

  UNetLayers layers_;
  std::unique_ptr<ImageOps> ops_;
};

}  // namespace

std::unique_ptr<Network> make_unet(const UNetOptions& options) { return std::make_unique<UNet>(options); }

}  // namespace htfm
