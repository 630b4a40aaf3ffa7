#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/net/unet.h"

namespace htfm {

namespace {

constexpr int64_t kColumnRoom = 8;  // columns of a few padded channels

const UNetOptions& checked(const UNetOptions& o) {
  if (o.channels < 1 || o.height < 1 || o.width < 1)
    throw InputError("[net] expected images of at least one channel and pixel, got {} x {} x {}", o.channels, o.height,
                     o.width);
  if (o.feature < 0) throw InputError("[net] expected a feature size of at least 0, got {}", o.feature);
  if (o.given_channels > 0 && (o.given_height < 1 || o.given_width < 1 || o.height % o.given_height != 0 ||
                               o.width % o.given_width != 0 || o.path_feature() < 0))
    throw InputError("[condition.field] expected a grid whose sizes divide {} x {}, got {} x {}", o.height, o.width,
                     o.given_height, o.given_width);
  if (o.multipliers.empty() || o.multipliers.size() > 8 ||
      std::ranges::any_of(o.multipliers, [](int64_t m) { return m < 1 || m > 64; }))
    throw InputError("[unet.multipliers] expected 1 to 8 numbers from 1 to 64, got {}", fmt::join(o.multipliers, ","));
  if (o.blocks < 1 || o.blocks > 64) throw InputError("[unet.blocks] expected 1 to 64 blocks, got {}", o.blocks);
  if (o.base < 1 || o.groups < 1)
    throw InputError("[unet.base] expected positive unet.base and unet.groups, got {} and {}", o.base, o.groups);
  const int64_t factor = int64_t{1} << (o.multipliers.size() - 1);
  if (o.height % factor != 0 || o.width % factor != 0)
    throw InputError(
        "[unet.multipliers] expected images whose sides can be halved {} times (one number for each size), got {} x {}",
        o.multipliers.size() - 1, o.height, o.width);
  if (o.group_channels == 0 && o.base % o.groups != 0)
    throw InputError("[unet.groups] expected a divisor of unet.base = {}, got {}", o.base, o.groups);
  if (o.base % 8 != 0) throw InputError("[unet.base] expected a multiple of 8, got {}", o.base);
  for (const int64_t m : o.multipliers)
    if (o.heads < 1 || (o.base * m) % o.heads != 0)
      throw InputError("[unet.heads] expected a divisor of {} channels, got {}", o.base * m, o.heads);
  if (o.path_embedding < 1) throw InputError("[net.path_embedding] expected at least 1, got {}", o.path_embedding);
  if (o.progressive && !o.filtered)
    throw InputError(
        "[unet.progressive] expected false for a network that does not filter as it changes sizes, got true");
  if (o.film && o.path_feature() == 0)
    throw InputError(
        "[net.film] expected false where the network sees no feature of the clock (feature.kind), got true");
  return o;
}

}  // namespace

int64_t UNetLayers::add_columns(int64_t parameter, int64_t count, int64_t room) {
  const int64_t column = column_count;
  column_count += std::max(count, room);
  columns.push_back({parameter, count, column});
  return column;
}

ConvLayer UNetLayers::add_conv(ParameterLayout& layout, const std::string& name, int64_t in, int64_t out,
                               int64_t kernel, int64_t stride, bool zero) {
  const double bound = zero ? 0 : 1 / std::sqrt(static_cast<double>(in * kernel * kernel));
  ConvLayer c{in, out, kernel, stride};
  c.weight = layout.add(name + ".weight", kernel == 1 ? std::vector{out, in} : std::vector{out, kernel, kernel, in},
                        true, bound);
  c.bias = layout.add(name + ".bias", {out}, false, bound);
  return c;
}

NormPlace UNetLayers::add_norm(ParameterLayout& layout, const std::string& name, int64_t channels) {
  NormPlace n;
  n.channels = channels;
  n.groups = options.groups;
  if (options.group_channels > 0) n.groups = std::clamp<int64_t>(channels / options.group_channels, 1, options.groups);
  while (channels % n.groups != 0) --n.groups;
  n.gamma = layout.add(name + ".weight", {channels}, false, 0, 1);
  n.beta = layout.add(name + ".bias", {channels}, false, 0);
  n.column = add_columns(n.gamma, channels, 0);
  add_columns(n.beta, channels, 0);
  return n;
}

ResidualLayer UNetLayers::add_block(ParameterLayout& layout, const std::string& name, int64_t in, int64_t out,
                                    Resample resample) {
  ResidualLayer b;
  b.resample = resample;
  b.norm1 = add_norm(layout, name + ".norm1", in);
  b.conv1 = add_conv(layout, name + ".conv1", in, out, 3, 1, false);
  b.conv1.column = add_columns(b.conv1.bias, out, 0);
  b.norm2 = add_norm(layout, name + ".norm2", out);
  b.conv2 = add_conv(layout, name + ".conv2", out, out, 3, 1, true);
  b.conv2.column = add_columns(b.conv2.bias, out, 0);
  if (in != out || resample != Resample::none) {
    b.shortcut = add_conv(layout, name + ".shortcut", in, out, 1, 1, false);
    b.shortcut.column = b.conv2.column;
    columns.push_back({b.shortcut.bias, out, b.conv2.column});
  }
  b.modulation = modulation_size;
  modulation_size += 2 * out;
  return b;
}

AttentionLayer UNetLayers::add_attention(ParameterLayout& layout, const std::string& name, int64_t channels) {
  AttentionLayer a;
  a.norm = add_norm(layout, name + ".norm", channels);
  a.qkv = add_conv(layout, name + ".qkv", channels, 3 * channels, 1, 1, false);
  a.qkv.column = add_columns(a.qkv.bias, 3 * channels, 0);
  a.out = add_conv(layout, name + ".out", channels, channels, 1, 1, true);
  a.out.column = add_columns(a.out.bias, channels, 0);
  return a;
}

UNetLayers::UNetLayers(const UNetOptions& o, ParameterLayout& layout) : options(checked(o)) {
  const int64_t embedded = 4 * o.base, sizes = static_cast<int64_t>(o.multipliers.size());
  time1 = Linear::add(layout, "time.1", o.base, embedded, false);
  time2 = Linear::add(layout, "time.2", embedded, embedded, false);
  if (o.path_feature() > 0) {
    path1 = Linear::add(layout, "path.1", o.path_feature(), o.path_embedding, false);
    if (!o.linear_path) path2 = Linear::add(layout, "path.2", o.path_embedding, o.path_embedding, false);
  }
  const auto attends = [&](int64_t height) { return std::ranges::find(o.attention, height) != o.attention.end(); };
  input = add_conv(layout, "input", o.input_channels(), o.base, 3, 1, false);
  input.column = add_columns(input.bias, o.base, 0);
  std::vector<int64_t> skips{o.base};
  int64_t c = o.base, height = o.height, width = o.width, pyramid = o.input_channels();
  for (int64_t size = 0; size < sizes; ++size) {
    const int64_t out = o.base * o.multipliers[size];
    for (int64_t k = 0; k < o.blocks; ++k) {
      const std::string name = fmt::format("down.{}.{}", size, k);
      UNetStage stage{.height = height, .width = width};
      stage.block = add_block(layout, name, c, out);
      if ((stage.attends = attends(height))) stage.attention = add_attention(layout, name + ".attention", out);
      down.push_back(stage);
      skips.push_back(c = out);
    }
    if (size + 1 < sizes) {
      const std::string name = fmt::format("down.{}.resize", size);
      UNetStage stage{
          .kind = o.filtered ? UNetStage::Kind::block : UNetStage::Kind::resize, .height = height, .width = width};
      if (o.filtered) stage.block = add_block(layout, name, c, c, Resample::down);
      if (!o.filtered || o.progressive) {
        stage.progressive = o.filtered;
        const int64_t stride = o.filtered && !o.strided_pyramid ? 1 : 2;
        stage.resize = o.filtered ? add_conv(layout, fmt::format("down.{}.image", size), pyramid, c, 3, stride, false)
                                  : add_conv(layout, name, c, c, 3, stride, false);
        stage.resize.column = add_columns(stage.resize.bias, c, 0);
        pyramid = c;
      }
      down.push_back(stage);
      skips.push_back(c);
      height /= 2, width /= 2;
    }
  }
  middle1 = add_block(layout, "middle.1", c, c);
  middle_attention = add_attention(layout, "middle.attention", c);
  middle2 = add_block(layout, "middle.2", c, c);
  auto skip = static_cast<int64_t>(skips.size());
  for (int64_t size = sizes - 1; size >= 0; --size) {
    const int64_t out = o.base * o.multipliers[size];
    for (int64_t k = 0; k <= o.blocks; ++k) {
      const std::string name = fmt::format("up.{}.{}", size, k);
      UNetStage stage{.height = height, .width = width, .skip = --skip};
      stage.block = add_block(layout, name, c + skips[skip], out);
      stage.attends = attends(height) && (k == o.blocks || !o.attend_once_up);
      if (stage.attends) stage.attention = add_attention(layout, name + ".attention", out);
      up.push_back(stage);
      c = out;
    }
    if (size > 0) {
      const std::string name = fmt::format("up.{}.resize", size);
      UNetStage stage{
          .kind = o.filtered ? UNetStage::Kind::block : UNetStage::Kind::resize, .height = height, .width = width};
      if (o.filtered) {
        stage.block = add_block(layout, name, c, c, Resample::up);
      } else {
        stage.resize = add_conv(layout, name, c, c, 3, 1, false);
        stage.resize.column = add_columns(stage.resize.bias, c, 0);
      }
      up.push_back(stage);
      height *= 2, width *= 2;
    }
  }
  last_norm = add_norm(layout, "last_norm", c);
  output = add_conv(layout, "output", c, o.channels, 3, 1, true);
  output.column = add_columns(output.bias, o.channels, kColumnRoom);
  const double bound = 1 / std::sqrt(static_cast<double>(embedding()));
  modulation_weight = layout.add("modulation.weight", {modulation_rows(), embedding()}, true, bound);
  layout.stack(modulation_weight);
  modulation_bias = layout.add("modulation.bias", {modulation_rows()}, false, bound);
  if (o.film) film = Linear::add(layout, "film", o.path_embedding, 4 * middle1.channels(), true, true);
}

}  // namespace htfm
