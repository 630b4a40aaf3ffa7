#include "htfm/net/unet_pass.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/net/dropout.h"

namespace htfm {

namespace {

int64_t padded(int64_t channels, int64_t multiple) { return (channels + multiple - 1) / multiple * multiple; }

}  // namespace

UNetPass::UNetPass(const UNetLayers& layers, const ImageOps& ops, UNetWeights weights, bool keep)
    : layers_(layers),
      ops_(ops),
      weights_(std::move(weights)),
      keep_(keep),
      down_(layers.down.size()),
      up_(layers.up.size()) {}

at::Tensor UNetPass::parameter(int64_t offset, at::IntArrayRef shape) const {
  return weights_.master.narrow(0, offset, c10::multiply_integers(shape)).view(shape);
}

at::Tensor UNetPass::weight(const ConvLayer& c) const {
  const at::Tensor flat = weights_.compute.narrow(0, c.weight, c.out * c.kernel * c.kernel * c.in);
  if (c.kernel == 1) return flat.view({c.out, c.in});
  const int64_t multiple = ops_.channel_multiple(), in = padded(c.in, multiple), out = padded(c.out, multiple);
  const at::Tensor w = flat.view({c.out, c.kernel, c.kernel, c.in});
  return in == c.in && out == c.out ? w : at::constant_pad_nd(w, {0, in - c.in, 0, 0, 0, 0, 0, out - c.out});
}

const EightBitWeight& UNetPass::eight_bit_weight(const ConvLayer& c) {
  EightBitWeight& w = eight_bit_[c.weight];
  if (!w.values.defined()) w = in_eight_bits(parameter(c.weight, {c.out, c.kernel, c.kernel, c.in}));
  return w;
}

at::Tensor UNetPass::norm_conv(const PendingSum& in, const at::Tensor& x, const NormLayer& norm, const ConvLayer& c,
                               NormStatistics* statistics, at::Tensor* kept) {
  const at::Tensor& image = x.defined() ? x : in.y;
  if (!keep_ && ops_.in_eight_bits(image.size(1), image.size(2), c.in, c.out))
    return ops_.eight_bit_norm_conv(in, x, norm, eight_bit_weight(c));
  return ops_.norm_conv(in, x, norm, weight(c), statistics, kept);
}

at::Tensor UNetPass::spread_weight(const ConvLayer& c) {
  at::Tensor& w = spread_[c.weight];
  if (!w.defined()) w = ops_.spread(weight(c));
  return w;
}

at::Tensor UNetPass::filtered_weight(const ConvLayer& c) {
  at::Tensor& w = spread_[c.weight];
  if (!w.defined()) w = ops_.spread_filter(weight(c));
  return w;
}

at::Tensor UNetPass::bias(const ConvLayer& c) const { return parameter(c.bias, {c.out}); }

NormLayer UNetPass::norm_layer(const NormPlace& n, bool silu, int64_t modulation) const {
  NormLayer layer{parameter(n.gamma, {n.channels}), parameter(n.beta, {n.channels}), n.groups, silu, {}};
  if (modulation >= 0) layer.modulation = modulation_.narrow(1, modulation, 2 * n.channels);
  return layer;
}

void UNetPass::set_feature(const at::Tensor& feature) {
  if (layers_.options.path_feature() > 0) path_ = embed_path(feature);
  if (layers_.options.given_channels > 0) given_ = given_field(feature);
}

// The field that is given, at the image's size: n x h x w x channels, where a coarse point is a block of equal ones.
at::Tensor UNetPass::given_field(const at::Tensor& feature) const {
  const UNetOptions& o = layers_.options;
  const int64_t n = feature.size(0), h = o.given_height, w = o.given_width;
  return feature.narrow(1, o.path_feature(), o.given_size())
      .reshape({n, o.given_channels, h, 1, w, 1})
      .expand({n, o.given_channels, h, o.height / h, w, o.width / w})
      .reshape({n, o.given_channels, o.height, o.width})
      .permute({0, 2, 3, 1});
}

at::Tensor UNetPass::with_given(const at::Tensor& x, const at::Tensor& field) const {
  const UNetOptions& o = layers_.options;
  if (!field.defined()) throw InputError("[unet] expected features with the field that is given, got none");
  at::Tensor out = ops_.empty({x.size(0), o.height, o.width, ops_.padded(o.input_channels())});
  if (out.size(3) > o.input_channels()) out.zero_();
  out.narrow(3, 0, o.channels).copy_(x.narrow(3, 0, o.channels));
  out.narrow(3, o.channels, o.given_channels).copy_(field);
  return out;
}

float UNetPass::sum_scale() const { return layers_.options.rescale ? std::sqrt(0.5f) : 1.0f; }

PendingSum UNetPass::block(const ResidualLayer& layer, const PendingSum& in, const at::Tensor& x, BlockTape& tape) {
  tape.column = in.column, tape.scale = in.scale;
  at::Tensor y1, residual = x;
  NormStatistics *statistics1 = keep_ ? &tape.statistics1 : nullptr, *statistics2 = keep_ ? &tape.statistics2 : nullptr;
  if (layer.resample == Resample::none) {
    y1 = norm_conv(in, x, norm_layer(layer.norm1, true), layer.conv1, statistics1, keep_ ? &tape.a1 : nullptr);
  } else {
    at::Tensor a1 = ops_.norm(in, x, norm_layer(layer.norm1, true), statistics1);
    const auto resampled = [&](const at::Tensor& image) {
      return layer.resample == Resample::down ? ops_.fir_down(image) : ops_.fir_up(image);
    };
    a1 = resampled(a1), residual = resampled(x);
    y1 = ops_.conv(a1, weight(layer.conv1), 1);
    if (keep_) tape.a1 = a1;
  }
  const PendingSum middle{y1, {bias(layer.conv1)}};
  const NormLayer norm2 = norm_layer(layer.norm2, true, layer.modulation);
  at::Tensor y2;
  if (dropout_keys_.defined()) {
    tape.a2 = ops_.norm(middle, {}, norm2, statistics2);
    ops_.dropout(tape.a2, dropout_keys_, layer.conv2.column, layers_.options.dropout);
    y2 = ops_.conv(tape.a2, weight(layer.conv2), 1);
  } else {
    y2 = norm_conv(middle, {}, norm2, layer.conv2, statistics2, keep_ ? &tape.a2 : nullptr);
  }
  if (keep_) tape.y1 = y1, tape.x = x, tape.shortcut_input = residual;
  y1.reset();
  PendingSum out{y2, {bias(layer.conv2)}, residual, layer.conv2.column, sum_scale()};
  if (layer.shortcut.out > 0) {
    out.residual = ops_.product(residual, weight(layer.shortcut));
    out.bias.push_back(bias(layer.shortcut));
  }
  return out;
}

PendingSum UNetPass::attention(const AttentionLayer& layer, const PendingSum& in, AttentionTape& tape) {
  const int64_t heads = layers_.options.heads;
  at::Tensor x = ops_.empty(in.y.sizes());
  tape.column = in.column, tape.scale = in.scale;
  const at::Tensor a = ops_.norm(in, x, norm_layer(layer.norm, false), keep_ ? &tape.statistics : nullptr);
  const at::Tensor qkv = ops_.product(a, weight(layer.qkv), weights_.compute.narrow(0, layer.qkv.bias, layer.qkv.out));
  const at::Tensor o = ops_.attention(qkv, heads, keep_ ? &tape.saved : nullptr);
  if (keep_) tape.x = x, tape.a = a, tape.qkv = qkv, tape.o = o;
  return {ops_.product(o, weight(layer.out)), {bias(layer.out)}, x, layer.out.column, sum_scale()};
}

PendingSum UNetPass::add_image(const UNetStage& stage, const PendingSum& h, const at::Tensor& image, StageTape& tape) {
  const bool strided = layers_.options.strided_pyramid;
  const at::Tensor in = strided ? image.contiguous() : ops_.fir_down(image);
  tape.column = h.column, tape.scale = h.scale;
  if (keep_) tape.resize_input = in;
  return {strided ? ops_.conv(in, filtered_weight(stage.resize), 2) : ops_.conv(in, weight(stage.resize), 1),
          {bias(stage.resize)},
          ops_.add_up(h, {}),
          stage.resize.column,
          sum_scale()};
}

InputGradients UNetPass::add_image_backward(const UNetStage& stage, const at::Tensor& g, bool need_image,
                                            const StageTape& tape) {
  InputGradients out;
  if (layers_.options.strided_pyramid) {
    const ConvLayer& c = stage.resize;
    const auto [dx, dw] = ops_.conv_backward(g, tape.resize_input, filtered_weight(c), 2, need_image);
    put_weight(c, ops_.gather_filter(dw));
    out.second = dx;
  } else {
    out.second = conv_backward(stage.resize, g, tape.resize_input, need_image);
    if (need_image) out.second = ops_.fir_up(out.second, 0.25f);
  }
  out.first = ops_.add_backward(g, {}, gradient_.sums, tape.column, tape.scale);
  return out;
}

at::Tensor UNetPass::forward(const at::Tensor& state, const at::Tensor& t, const at::Tensor& feature) {
  const int64_t n = state.size(0);
  const at::Tensor x =
      layers_.options.given_channels > 0 ? with_given(state, feature.defined() ? given_field(feature) : given_) : state;
  embed(t, feature);
  if (keep_ && layers_.options.dropout > 0) dropout_keys_ = dropout_keys(state, t);
  // The outputs of the way down are written where the way up will join them.
  std::vector<at::Tensor> joined(layers_.up.size()), slots(layers_.down.size() + 1);
  for (size_t k = 0; k < layers_.up.size(); ++k) {
    const UNetStage& s = layers_.up[k];
    if (s.skip < 0) continue;
    const int64_t channels = s.block.input_channels();
    joined[k] = ops_.empty({n, s.height, s.width, channels});
    const auto skip = static_cast<size_t>(s.skip);
    const int64_t skipped = skip == 0 ? layers_.input.out : layers_.down[skip - 1].channels();
    slots[skip] = joined[k].narrow(3, channels - skipped, skipped);
  }
  if (keep_) input_ = x;
  at::Tensor image = x;
  PendingSum h{ops_.conv(x, weight(layers_.input), 1), {bias(layers_.input)}, {}, layers_.input.column};
  for (size_t k = 0; k < layers_.down.size(); ++k) {
    const UNetStage& s = layers_.down[k];
    StageTape& tape = down_[k];
    if (s.kind == UNetStage::Kind::block) {
      h = block(s.block, h, slots[k], tape.block);
      if (s.attends) h = attention(s.attention, h, tape.attention);
      if (s.progressive) {
        h = add_image(s, h, image, tape);
        image = slots[k + 1];  // what the next norm stores there
      }
    } else {
      const at::Tensor dense = ops_.add_up(h, slots[k]);
      tape.column = h.column, tape.scale = h.scale;
      if (keep_) tape.resize_input = dense;
      h = {ops_.conv(dense, weight(s.resize), 2), {bias(s.resize)}, {}, s.resize.column};
    }
  }
  h = block(layers_.middle1, h, slots.back(), middle1_);
  h = attention(layers_.middle_attention, h, middle_attention_);
  h = block(layers_.middle2, h, ops_.empty(h.y.sizes()), middle2_);
  slots.clear();
  for (size_t k = 0; k < layers_.up.size(); ++k) {
    const UNetStage& s = layers_.up[k];
    StageTape& tape = up_[k];
    if (s.kind == UNetStage::Kind::block) {
      h = block(s.block, h, s.skip < 0 ? ops_.empty(h.y.sizes()) : joined[k], tape.block);
      joined[k].reset();
      if (s.attends) h = attention(s.attention, h, tape.attention);
    } else {
      const at::Tensor dense = ops_.add_up(h, {});
      tape.column = h.column, tape.scale = h.scale;
      if (keep_) tape.resize_input = dense;
      h = {ops_.conv_up(dense, spread_weight(s.resize)), {bias(s.resize)}, {}, s.resize.column};
    }
  }
  const at::Tensor last = keep_ ? ops_.empty(h.y.sizes()) : at::Tensor();
  last_column_ = h.column, last_scale_ = h.scale;
  const at::Tensor a = ops_.norm(h, last, norm_layer(layers_.last_norm, true), keep_ ? &last_statistics_ : nullptr);
  if (keep_) last_x_ = last, last_a_ = a;
  const at::Tensor y = ops_.conv(a, weight(layers_.output), 1);
  return at::add(y.narrow(3, 0, layers_.output.out), bias(layers_.output));
}

at::Tensor UNetPass::conv_backward(const ConvLayer& c, const at::Tensor& g, const at::Tensor& x, bool need_x) {
  const auto [dx, dw] = ops_.conv_backward(g, x, weight(c), c.stride, need_x);
  put_weight(c, dw);
  return dx;
}

void UNetPass::put_weight(const ConvLayer& c, const at::Tensor& padded_gradient) {
  put(c.weight, padded_gradient.narrow(0, 0, c.out).narrow(3, 0, c.in).contiguous());
}

void UNetPass::product_backward(const ConvLayer& c, const at::Tensor& g, const at::Tensor& x) {
  put(c.weight, ops_.product_backward_weight(g, x));
}

InputGradients UNetPass::block_backward(const ResidualLayer& layer, const at::Tensor& g, const at::Tensor& skip,
                                        int64_t split, const BlockTape& tape) {
  at::Tensor d = conv_backward(layer.conv2, g, tape.a2);
  if (dropout_keys_.defined()) ops_.dropout(d, dropout_keys_, layer.conv2.column, layers_.options.dropout);
  NormBackward second{d, tape.y1, bias(layer.conv1), tape.statistics2};
  second.columns = {layer.norm2.column, layer.norm2.column + layer.norm2.channels, layer.conv1.column};
  second.modulation_gradient = modulation_gradient_.narrow(1, layer.modulation, 2 * layer.channels());
  d = ops_.norm_backward(second, norm_layer(layer.norm2, true, layer.modulation), gradient_.sums).first;
  const auto resampled = [&](const at::Tensor& gradient) {
    if (layer.resample == Resample::none) return gradient;
    return layer.resample == Resample::down ? ops_.fir_up(gradient, 0.25f) : ops_.fir_down(gradient, 4.0f);
  };
  d = resampled(conv_backward(layer.conv1, d, tape.a1));
  NormBackward first{d, tape.x, {}, tape.statistics1};
  first.split = split, first.scale = tape.scale;
  first.columns = {layer.norm1.column, layer.norm1.column + layer.norm1.channels, tape.column};
  if (layer.shortcut.out > 0) {
    product_backward(layer.shortcut, g, tape.shortcut_input);
    first.add.push_back(resampled(ops_.product_backward_input(g, weight(layer.shortcut))));
  } else {
    first.add.push_back(g);
  }
  if (skip.defined()) first.add.push_back(skip);
  return ops_.norm_backward(first, norm_layer(layer.norm1, true), gradient_.sums);
}

at::Tensor UNetPass::attention_backward(const AttentionLayer& layer, const at::Tensor& g, const AttentionTape& tape) {
  product_backward(layer.out, g, tape.o);
  at::Tensor d = ops_.product_backward_input(g, weight(layer.out));
  d = ops_.attention_backward(d, tape.qkv, layers_.options.heads, tape.saved, gradient_.sums, layer.qkv.column);
  product_backward(layer.qkv, d, tape.a);
  d = ops_.product_backward_input(d, weight(layer.qkv));
  NormBackward in{d, tape.x, {}, tape.statistics, {g}};
  in.scale = tape.scale;
  in.columns = {layer.norm.column, layer.norm.column + layer.norm.channels, tape.column};
  return ops_.norm_backward(in, norm_layer(layer.norm, false), gradient_.sums).first;
}

UNetGradient UNetPass::backward(const at::Tensor& output_gradient, const GradientProgress& progress) {
  const auto stage_done = [&] {
    if (progress) progress(gradient_.parameters);
  };
  const int64_t n = output_gradient.size(0);
  gradient_ = {};
  gradient_.sums = ops_.zeros_float({n, layers_.column_count});
  modulation_gradient_ = ops_.zeros_float({n, layers_.modulation_size});
  ops_.add_backward(output_gradient, {}, gradient_.sums, layers_.output.column);
  at::Tensor g = conv_backward(layers_.output, output_gradient, last_a_);
  NormBackward last{g, last_x_, {}, last_statistics_};
  last.scale = last_scale_;
  last.columns = {layers_.last_norm.column, layers_.last_norm.column + layers_.last_norm.channels, last_column_};
  g = ops_.norm_backward(last, norm_layer(layers_.last_norm, true), gradient_.sums).first;
  last_x_.reset(), last_a_.reset();
  std::vector<at::Tensor> skips(layers_.down.size() + 1);
  for (size_t k = layers_.up.size(); k-- > 0;) {
    const UNetStage& s = layers_.up[k];
    StageTape tape = std::move(up_[k]);
    up_[k] = {};
    if (s.kind == UNetStage::Kind::resize) {
      ConvGradients d = ops_.conv_up_backward(g, tape.resize_input, spread_weight(s.resize));
      put(s.resize.weight, ops_.gather(d.weight));
      g = ops_.add_backward(d.input, {}, gradient_.sums, tape.column, tape.scale);
      continue;
    }
    if (s.attends) g = attention_backward(s.attention, g, tape.attention);
    const int64_t before = k > 0 ? layers_.up[k - 1].channels() : layers_.middle2.channels();
    InputGradients parts = block_backward(s.block, g, {}, before, tape.block);
    g = parts.first;
    if (s.skip >= 0) skips[static_cast<size_t>(s.skip)] = parts.second;
    stage_done();
  }
  g = block_backward(layers_.middle2, g, {}, 0, middle2_).first;
  g = attention_backward(layers_.middle_attention, g, middle_attention_);
  g = block_backward(layers_.middle1, g, skips.back(), 0, middle1_).first;
  middle1_ = middle2_ = {}, middle_attention_ = {};
  stage_done();
  // Which output of the way down (0: the image itself) the image that stage k added had become.
  const auto image_of = [&](size_t k) -> int64_t {
    while (k-- > 0)
      if (layers_.down[k].progressive) return static_cast<int64_t>(k) + 1;
    return 0;
  };
  for (size_t k = layers_.down.size(); k-- > 0;) {
    const UNetStage& s = layers_.down[k];
    StageTape tape = std::move(down_[k]);
    down_[k] = {};
    if (s.kind == UNetStage::Kind::resize) {
      g = ops_.add_backward(conv_backward(s.resize, g, tape.resize_input), skips[k], gradient_.sums, tape.column,
                            tape.scale);
      continue;
    }
    if (s.progressive) {
      const int64_t from = image_of(k);
      InputGradients parts = add_image_backward(s, g, from > 0, tape);
      g = parts.first;
      if (from > 0) skips[static_cast<size_t>(from)] += parts.second;
    }
    if (s.attends) g = attention_backward(s.attention, g, tape.attention);
    g = block_backward(s.block, g, skips[k], 0, tape.block).first;
    skips[k].reset();
    stage_done();
  }
  conv_backward(layers_.input, g, input_, false);
  input_.reset();
  embed_backward();
  return std::move(gradient_);
}

}  // namespace htfm
