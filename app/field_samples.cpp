#include "app/field_samples.h"

#include <fmt/format.h>

#include "app/common.h"
#include "htfm/base/error.h"
#include "htfm/field/field_export.h"
#include "htfm/sample/sample_fields.h"

namespace htfm::app {
namespace {

FieldFileHeader sample_header(const Model& model, int64_t count) {
  const ImageShape shape = *model.image();
  const std::string& path = model.config().data.path;
  if (is_field_set(path)) {
    const FieldSet set = open_field_set(path);
    if (set.fields.size(1) == shape.channels && set.fields.size(2) == shape.height &&
        set.fields.size(3) == shape.width && set.transform.mean == model.field()->mean)
      return header_of_samples(set, count);
  }
  say(fmt::format("{}: the set of the run is not there: the samples have no names, units and coordinates", path));
  FieldFileHeader out{.count = count, .height = shape.height, .width = shape.width};
  for (int64_t c = 0; c < shape.channels; ++c) out.channels.push_back(fmt::format("channel_{}", c + 1));
  out.units.resize(out.channels.size());
  return out;
}

}  // namespace

SampleResult write_field_samples(const Model& model, const SampleOptions& options, const std::string& run,
                                 const std::string& output) {
  if (!model.field())
    throw InputError("[-o] {}: expected a model of prepared fields for this format, got one of {}", output,
                     model.data_origin());
  FieldFileHeader header = sample_header(model, options.n);
  header.attributes = {
      {"title", "Samples of heavy-tailed flow matching, clock " + model.clock().describe()},
      {"source", fmt::format("{}; weights {} at step {} ({}), {} with at most {} evaluations, seed {}", version_text(),
                             model.weights_hash(), model.step, options.averaged ? "averaged" : "raw", options.solver,
                             options.solve.nfe, options.seed)},
      {"history", fmt::format("htfm sample {} -n {} -o {}", run, options.n, output)},
      {"comment", "trained on " + model.data_origin()}};
  const std::unique_ptr<FieldWriter> file = open_field_writer(output, header);
  SampleResult result = sample_fields(
      model, options, [&](const at::Tensor& values) { file->write(values.const_data_ptr<float>(), values.size(0)); });
  file->close();
  return result;
}

}  // namespace htfm::app
