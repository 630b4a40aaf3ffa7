// htfm grid: samples of images side by side as a PNG file.
#include <fmt/format.h>

#include "app/commands.h"
#include "app/image_eval.h"
#include "htfm/base/error.h"
#include "htfm/device/choose_device.h"
#include "htfm/io/png.h"
#include "htfm/page/class_grid.h"

namespace htfm::app {

namespace {

struct GridOptions {
  Common common;
  std::string samples, output;
  int64_t columns = 10, rows = 10;
  bool by_class = false;  // that samples were drawn under
  report::GridStyle style;
  std::vector<int64_t> shape;
  ImageReferenceOptions reference;
};

// The first samples of each class that they were drawn under, one row a class.
at::Tensor by_given_class(const GridOptions& o, const SampledImages& samples, Json& figures) {
  GivenClassGrid grid = given_class_grid(o.samples, samples, o.columns, o.style);
  figures["rows"] = grid.classes;
  return grid.pixels;
}

// Samples by the class of their nearest real image.
at::Tensor by_class(const GridOptions& o, Json& figures) {
  ImageFeatureSpec features = o.reference.features;
  features.device = choose_device(o.common.device, "unet");
  ImageSet images = read_images(o.reference.real);
  if (!images.labels.defined())
    throw InputError("[--real] {}: expected images with labels, for one column for each class; got images without",
                     o.reference.real.path);
  const SampledImages samples = read_sampled_images(o.samples, images.shape());
  const ImageReference real = reference_with_status(std::move(images), features);
  figures["columns"] = real.images.classes;
  figures["features_sha256"] = real.network->hash();
  return class_grid(real, samples, nearest_images(real, samples), o.rows, o.style);
}

}  // namespace

void add_grid(CLI::App& app) {
  auto o = std::make_shared<GridOptions>();
  CLI::App* c = app.add_subcommand("grid", "Show samples of images side by side in one file");
  c->footer(
      "Example: htfm grid s.npy -o grid.png --columns 20\n"
      "         htfm grid s.npy -o given.png --by-class\n"
      "         htfm grid s.npy -o classes.png --real cifar10-lt --features net.pt");
  c->add_option("samples", o->samples, "Samples (.npy): rows or images, floats in [-1,1] or uint8")->required();
  c->add_option("-o,--output", o->output, "File to write (.png)")->required()->check(output_file({".png"}));
  c->add_option("--columns", o->columns, "Images in a row")->check(between(1, 1000))->capture_default_str();
  c->add_option("--rows", o->rows, "Largest number of rows")->check(between(1, 1000))->capture_default_str();
  c->add_option("--gap", o->style.gap, "White pixels between images")->check(between(0, 100))->capture_default_str();
  c->add_option("--scale", o->style.scale, "How many times each pixel is repeated")
      ->check(between(1, 32))
      ->capture_default_str();
  c->add_option("--shape", o->shape,
                "Channels, height and width of samples that are stored as rows; by default square images")
      ->expected(3)
      ->delimiter(',');
  c->add_flag("--by-class", o->by_class, "One row for each class that the samples were drawn with (--given class=...)");
  c->add_option("--real", o->reference.real.path,
                "Labelled real images: one column for each class, by the class of a sample's nearest real image");
  o->reference.add(*c);
  o->common.add(*c, {.seed = false});
  c->callback([o] {
    o->common.apply(!o->reference.features.network.empty());
    if (o->reference.real.path.empty() != o->reference.features.network.empty())
      throw InputError(
          "[--features] expected --real and --features together, for one column for each class; got only {}",
          o->reference.real.path.empty() ? "--features" : "--real");
    if (o->by_class && !o->reference.features.network.empty())
      throw InputError(
          "[--by-class] expected no --features with --by-class, whose classes are those that the samples were drawn "
          "with; got both");
    Json figures{{"samples", o->samples}, {"file", o->output}};
    at::Tensor grid;
    if (!o->reference.features.network.empty()) {
      grid = by_class(*o, figures);
    } else {
      std::optional<ImageShape> shape;
      if (!o->shape.empty()) shape = ImageShape{o->shape[0], o->shape[1], o->shape[2]};
      const SampledImages samples = read_sampled_images(o->samples, shape);
      const at::Tensor& pixels = samples.pixels;
      grid = o->by_class ? by_given_class(*o, samples, figures)
                         : report::image_grid(pixels.narrow(0, 0, std::min(pixels.size(0), o->columns * o->rows)),
                                              o->columns, o->style);
    }
    write_png(o->output, grid);
    figures["pixels"] = fmt::format("{} x {}", grid.size(2), grid.size(1));
    print_figures(o->common, figures);
  });
}

}  // namespace htfm::app
