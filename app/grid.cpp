// htfm grid: samples of images side by side as a PNG file.
#include <fmt/format.h>

#include "app/common.h"
#include "app/image_scores.h"
#include "htfm/base/error.h"
#include "htfm/io/png.h"
#include "htfm/report/image_grid.h"

namespace htfm::app {

namespace {

struct Options {
  Common common;
  std::string samples, output;
  int64_t columns = 10, rows = 10;
  report::GridStyle style;
  std::vector<int64_t> shape;
  ImageSpec real;
  std::string features;
  ReferenceOptions reference;
};

// Samples by the class of their nearest real image.
at::Tensor by_class(const Options& o, Json& figures) {
  const at::Device device = o.common.network_device("unet");
  const Dataset data = image_dataset(read_images(o.real));
  if (!data.labels.defined()) throw InputError("[--real] {}: expected images with labels for one column a class", o.real.path);
  const ImageReference real(data, o.features, device, o.reference);
  const SampledImages samples = sampled_images(read_image_samples(o.samples, data.image), o.samples);
  const Nearest nearest = real.nearest(samples);
  const auto cells = report::class_columns(data.labels.index_select(0, nearest.index), nearest.distance,
                                           static_cast<int64_t>(data.classes.size()), o.rows);
  figures["columns"] = data.classes;
  figures["features_sha256"] = real.network().hash();
  return report::image_grid(samples.pixels, cells, o.style);
}

}  // namespace

void add_grid(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("grid", "Draw samples of images side by side");
  c->footer(
      "Example: htfm grid s.npy -o grid.png --columns 20\n"
      "         htfm grid s.npy -o classes.png --real cifar10-lt --features net.pt");
  c->add_option("samples", o->samples, "Samples (.npy): rows or images, floats in [-1,1] or uint8")->required();
  c->add_option("-o,--output", o->output, "File to write (.png)")->required();
  c->add_option("--columns", o->columns, "Images a row")->check(CLI::Range(1, 1000))->capture_default_str();
  c->add_option("--rows", o->rows, "Rows at the most")->check(CLI::Range(1, 1000))->capture_default_str();
  c->add_option("--gap", o->style.gap, "White pixels between images")->check(CLI::Range(0, 100))->capture_default_str();
  c->add_option("--scale", o->style.scale, "Times each pixel is repeated")->check(CLI::Range(1, 32))->capture_default_str();
  c->add_option("--shape", o->shape, "Channels, height and width of a row; square where not given")->expected(3)->delimiter(',');
  c->add_option("--real", o->real.path, "Real images with labels: one column a class, by the nearest of them");
  c->add_option("--features", o->features, "With --real: the feature network, a TorchScript file");
  add_image_choice(*c, o->real);
  o->reference.add(*c);
  o->common.add(*c);
  c->callback([o] {
    o->common.apply(!o->features.empty());
    if (!o->output.ends_with(".png")) throw InputError("[-o] expected a file that ends in .png, got '{}'", o->output);
    if (o->real.path.empty() != o->features.empty())
      throw InputError("[--features] expected --real and --features together: they make one column a class");
    Json figures{{"samples", o->samples}, {"file", o->output}};
    at::Tensor grid;
    if (!o->features.empty()) {
      grid = by_class(*o, figures);
    } else {
      std::optional<ImageShape> shape;
      if (!o->shape.empty()) shape = ImageShape{o->shape[0], o->shape[1], o->shape[2]};
      const at::Tensor pixels = sampled_images(read_image_samples(o->samples, shape), o->samples).pixels;
      grid = report::image_grid(pixels.narrow(0, 0, std::min(pixels.size(0), o->columns * o->rows)), o->columns, o->style);
    }
    write_png(o->output, grid);
    figures["pixels"] = fmt::format("{} x {}", grid.size(2), grid.size(1));
    print_figures(o->common, figures);
  });
}

}  // namespace htfm::app
