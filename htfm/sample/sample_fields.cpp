#include "htfm/sample/sample_fields.h"

#include "htfm/base/error.h"
#include "htfm/field/field_export.h"
#include "htfm/sample/sample_file.h"
#include "htfm/sample/training_set.h"
#include "htfm/sample/written_rows.h"
#include "htfm/version.h"

namespace htfm {

namespace {

FieldFileHeader sample_header(const Model& model, int64_t count, const std::function<void(const std::string&)>& note) {
  const ImageShape shape = *model.image();
  const std::string& path = model.config().data.path;
  if (const std::optional<FieldSet> set = open_training_set(model)) return header_of_samples(*set, count);
  if (note)
    note(fmt::format("{}: the prepared set of the run was not found: the samples have no names, units or coordinates",
                     path));
  FieldFileHeader out{.count = count, .height = shape.height, .width = shape.width};
  for (int64_t c = 0; c < shape.channels; ++c) out.channels.push_back(fmt::format("channel_{}", c + 1));
  out.units.resize(out.channels.size());
  return out;
}

// What a file says of its samples.
std::vector<std::pair<std::string, std::string>> sample_attributes(const Model& model, const SampleOptions& options,
                                                                   const std::string& command) {
  std::vector<std::pair<std::string, std::string>> out{
      {"title", "Samples of heavy-tailed flow matching, clock " + model.clock().describe()},
      {"source", fmt::format("htfm {}; weights {} at step {} ({}), {} with at most {} evaluations, seed {}",
                             HTFM_VERSION, model.weights_hash(), model.step, options.averaged ? "averaged" : "raw",
                             options.solver, options.solve.nfe, options.seed)},
      {"comment", "trained on " + model.data_origin()}};
  if (!command.empty()) out.emplace_back("history", command);
  return out;
}

}  // namespace

SampleResult sample_fields(const Model& model, const SampleOptions& options,
                           const std::function<void(const at::Tensor& values)>& receive) {
  constexpr int64_t kBytes = int64_t{1} << 28;  // of the states of a part
  if (!model.field())
    throw InputError("[sample] expected a model of prepared fields, got one of {}", model.data_origin());
  const int64_t part = std::max<int64_t>(1, kBytes / (8 * model.image()->size()));
  SampleResult all;
  all.area = at::empty({options.n}, at::kDouble);
  for (int64_t first = 0; first < options.n; first += part) {
    SampleOptions own = options;
    own.first = options.first + first, own.n = std::min(part, options.n - first);
    if (options.report) own.report = [&](int64_t done, int64_t) { options.report(first + done, options.n); };
    const SampleResult drawn = sample(model, own);
    receive(drawn.samples.to(at::kFloat).contiguous());
    all.area.narrow(0, first, own.n).copy_(drawn.area);
    all.evaluations += drawn.evaluations * static_cast<double>(own.n) / static_cast<double>(options.n);
    all.most_evaluations = std::max(all.most_evaluations, drawn.most_evaluations);
    all.diverged += drawn.diverged, all.incomplete += drawn.incomplete, all.seconds += drawn.seconds;
  }
  return all;
}

SampleResult sample_fields(const Model& model, const SampleOptions& options, const std::string& path) {
  if (!model.field())
    throw InputError("[sample] expected a model of prepared fields, got one of {}", model.data_origin());
  return sample_to_file(model, options, {.path = path});
}

SampleResult export_sampled_fields(const Model& model, const SampleOptions& options, const std::string& path,
                                   const std::string& command,
                                   const std::function<void(const std::string& sentence)>& note) {
  if (!model.field())
    throw InputError("[-o] {}: expected a model of prepared fields for this format, got one of {}", path,
                     model.data_origin());
  FieldFileHeader header = sample_header(model, options.n, note);
  header.attributes = sample_attributes(model, options, command);
  const std::unique_ptr<FieldWriter> file = open_field_writer(path, header);
  SampleResult result = sample_fields(
      model, options, [&](const at::Tensor& values) { file->write(values.const_data_ptr<float>(), values.size(0)); });
  file->close();
  write_conditions_beside(path, model, options);
  return result;
}

}  // namespace htfm
