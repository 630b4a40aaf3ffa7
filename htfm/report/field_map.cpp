#include "htfm/report/field_map.h"

#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "htfm/base/error.h"
#include "htfm/io/dtype.h"
#include "htfm/io/png.h"

namespace htfm::report {
namespace {

constexpr std::array<uint8_t, 3> kMissing = {150, 150, 150}, kNothing = {250, 250, 250};
constexpr int64_t kLegend = 12, kLabel = 10;  // height of the bar and of the letters with their space

uint8_t encode(double linear) {
  const double v = std::clamp(linear, 0.0, 1.0), s = v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
  return static_cast<uint8_t>(std::lround(255 * s));
}

// OKLab (Ottosson 2020) to sRGB.
std::array<uint8_t, 3> from_oklab(double lightness, double a, double b) {
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b),
               m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b),
               s = cube(lightness - 0.0894841775 * a - 1.2914855480 * b);
  return {encode(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          encode(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          encode(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

double share_of(double v, const MapStyle& s) {
  return s.log ? std::log(v / s.low) / std::log(s.high / s.low) : (v - s.low) / (s.high - s.low);
}

std::array<uint8_t, 3> color_of(double v, const MapStyle& s) {
  if (!std::isfinite(v)) return kMissing;
  if (s.log && v < s.low) return kNothing;
  return scale_color(share_of(v, s));
}

void put(at::Tensor& image, int64_t x, int64_t y, int64_t size, const std::array<uint8_t, 3>& color) {
  const int64_t h = image.size(1), w = image.size(2);
  auto* p = image.mutable_data_ptr<uint8_t>();
  for (int64_t c = 0; c < 3; ++c)
    for (int64_t j = 0; j < size; ++j) std::fill_n(p + (c * h + y + j) * w + x, size, color[static_cast<size_t>(c)]);
}

// Round numbers on the scale, at most about `most` of them.
std::vector<double> ticks(const MapStyle& s, int64_t most) {
  std::vector<double> out;
  if (s.log) {
    for (double decade = std::pow(10, std::floor(std::log10(s.low))); decade <= s.high * 1.001; decade *= 10)
      for (const double digit : {1, 2, 5})
        if (const double v = digit * decade; v >= s.low * 0.999 && v <= s.high * 1.001) out.push_back(v);
  } else {
    const double raw = (s.high - s.low) / static_cast<double>(std::max<int64_t>(1, most)),
                 decade = std::pow(10, std::floor(std::log10(raw)));
    double step = 10 * decade;
    for (const double digit : {5, 2, 1})
      if (digit * decade >= raw) step = digit * decade;
    for (double v = std::ceil(s.low / step - 1e-9) * step; v <= s.high + 1e-9 * step; v += step)
      out.push_back(std::abs(v) < 1e-9 * step ? 0 : v);
  }
  return out;
}

void draw_legend(at::Tensor& image, const MapStyle& s, int64_t x, int64_t y, int64_t width) {
  for (int64_t i = 0; i < width; ++i) {
    const auto color = scale_color(static_cast<double>(i) / static_cast<double>(std::max<int64_t>(1, width - 1)));
    for (int64_t j = 0; j < kLegend; ++j) put(image, x + i, y + j, 1, color);
  }
  int64_t free = x;  // letters must not touch
  const int64_t end = s.unit.empty() ? x + width : x + width - letters_width(s.unit) - 6;
  for (const double v : ticks(s, 6)) {
    const std::string text = fmt::format("{:.3g}", v);
    const int64_t at = x + std::lround(share_of(v, s) * static_cast<double>(width - 1));
    const int64_t left = std::clamp(at - letters_width(text) / 2, x, std::max(x, x + width - letters_width(text)));
    if (left < free || left + letters_width(text) > end) continue;
    for (int64_t j = 0; j < 3; ++j) put(image, std::min(at, x + width - 1), y + kLegend + j, 1, {0, 0, 0});
    draw_text(image, left, y + kLegend + 4, text);
    free = left + letters_width(text) + 6;
  }
  if (!s.unit.empty()) draw_text(image, x + width - letters_width(s.unit), y + kLegend + 4, s.unit);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t k = 0; k < bytes.size(); k += 3) {
    uint32_t v = 0;
    for (size_t i = 0; i < 3; ++i) v = v << 8 | (k + i < bytes.size() ? static_cast<unsigned char>(bytes[k + i]) : 0U);
    for (size_t i = 0; i < 4; ++i) out += i < 2 || k + i - 1 < bytes.size() ? kDigits[v >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

}  // namespace

std::array<uint8_t, 3> scale_color(double share) {
  const double u = std::clamp(share, 0.0, 1.0);
  // Chroma is small at both ends, where few colours are left in sRGB.
  const double lightness = 0.97 - 0.72 * u, hue = (105 - 165 * u) * std::numbers::pi / 180,
               chroma = 0.04 + 0.13 * std::sin(std::numbers::pi * std::pow(u, 0.8));
  return from_oklab(lightness, chroma * std::cos(hue), chroma * std::sin(hue));
}

MapStyle map_style(const at::Tensor& fields) {
  const at::Tensor values = fields.to(at::kFloat).contiguous();
  std::vector<float> x;
  for (int64_t k = 0; k < values.numel(); ++k)
    if (const float v = values.const_data_ptr<float>()[k]; std::isfinite(v)) x.push_back(v);
  MapStyle out;
  out.scale = std::max<int64_t>(1, kMapPixels / std::max(fields.size(-1), fields.size(-2)));
  if (x.empty()) return out;
  std::sort(x.begin(), x.end());
  const auto quantile = [&](double level) {
    return static_cast<double>(x[static_cast<size_t>(level * static_cast<double>(x.size() - 1))]);
  };
  out.low = quantile(0.0005), out.high = quantile(0.9995);
  // Most of the range is used by few of the values: rain, liquid water.
  if (out.high > 0 && quantile(0.5) < 0.05 * out.high && out.low >= -0.05 * out.high) {
    out.log = true;
    const auto positive = std::upper_bound(x.begin(), x.end(), 0.0F);
    out.low = std::max(out.high / 1000, positive == x.end() ? 0 : static_cast<double>(*positive));
  }
  if (!(out.low < out.high))
    out.log = false, out.low = static_cast<double>(x.front()), out.high = static_cast<double>(x.back());
  if (!(out.low < out.high)) out.high = out.low + 1;
  return out;
}

at::Tensor field_maps(const at::Tensor& fields, const MapStyle& s) {
  if (fields.dim() != 3 || fields.numel() == 0)
    throw InputError("[maps] expected n x h x w, none of them 0, got {}", tensor_text(fields));
  if (!(s.low < s.high) || (s.log && s.low <= 0))
    throw InputError("[maps] expected a scale that rises, got {} to {}", s.low, s.high);
  const at::Tensor values = fields.to(at::kFloat).contiguous();
  const int64_t n = values.size(0), h = values.size(1), w = values.size(2), columns = std::min(n, s.columns),
                rows = (n + columns - 1) / columns;
  const int64_t label = s.labels.empty() ? 0 : kLabel, title = s.title.empty() ? 0 : kLabel + 4,
                pitch = h * s.scale + s.gap + label;  // from one row of maps to the next
  const int64_t width = std::max<int64_t>(columns * (w * s.scale + s.gap) + s.gap, 200),
                top = title + rows * pitch + s.gap;
  at::Tensor image = at::full({3, top + kLegend + kLabel + 8, width}, 255, at::kByte);
  if (title > 0) draw_text(image, s.gap, s.gap, s.title);
  for (int64_t f = 0; f < n; ++f) {
    const int64_t x = s.gap + f % columns * (w * s.scale + s.gap), y = title + s.gap + f / columns * pitch + label;
    if (static_cast<size_t>(f) < s.labels.size()) {
      std::string text = s.labels[static_cast<size_t>(f)];
      while (!text.empty() && letters_width(text) > w * s.scale) text.pop_back();  // a label stays above its map
      draw_text(image, x, y - label, text);
    }
    for (int64_t j = 0; j < h; ++j)
      for (int64_t i = 0; i < w; ++i) {
        const double v = values.const_data_ptr<float>()[(f * h + (s.south_first ? h - 1 - j : j)) * w + i];
        put(image, x + i * s.scale, y + j * s.scale, s.scale, color_of(v, s));
      }
  }
  draw_legend(image, s, s.gap, top, width - 2 * s.gap);
  return image;
}

Figure image_figure(const at::Tensor& image, const std::string& label) {
  Canvas canvas(static_cast<double>(image.size(2)), static_cast<double>(image.size(1)));
  canvas.markup(fmt::format("<image width=\"{}\" height=\"{}\" href=\"data:image/png;base64,{}\"/>", image.size(2),
                            image.size(1), base64(format_png(image))));
  return {.label = label, .tiles = {canvas.tile(label)}, .notes = {}};
}

}  // namespace htfm::report
