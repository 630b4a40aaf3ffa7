#include "htfm/sample/sample_csv.h"

#include <optional>

#include "htfm/base/error.h"
#include "htfm/io/hash.h"
#include "htfm/io/row_file.h"
#include "htfm/sample/written_rows.h"

namespace htfm {

namespace {

// Rows drawn at a time: whole blocks, so that the parts are those of one long drawing.
int64_t part_rows(const Model& model, const SampleOptions& options, int64_t values) {
  const int64_t block = options.device.is_cpu() ? model.network().evaluation_rows() : options.device_rows,
                blocks = std::max<int64_t>(1, values / (block * model.dim()));
  return block * blocks;
}

RowFormat format_of(const Model& model) {
  RowFormat format;
  const std::vector<std::string> names = written_names(model);
  const bool given = model.condition().there() && !model.image();
  format.csv = true, format.shape = {static_cast<int64_t>(names.size())};
  if (!model.column_names().empty() || given) format.names = names;
  format.digits = model.transform().digits(), format.text = cell_text(written_columns(model));
  if (given) format.digits.resize(names.size(), 0);
  return format;
}

// Everything that the samples are a function of.
std::string key_of(const Model& model, const SampleOptions& o) {
  Xxh64 hash;
  const std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}{}\n{}", model.weights_hash(), model.step, o.n,
                  o.first, o.seed, o.solver, o.solve.nfe, o.solve.time_power, o.solve.time_centre, o.solve.time_spread,
                  o.solve.rtol, o.solve.atol, o.solve.eta, o.solve.eta_from, static_cast<int>(o.time_grid),
                  o.device.is_cpu(), o.averaged, o.precision, given_text(o), format_config(model.config()));
  hash.update(text.data(), text.size());
  return hash.hex();
}

}  // namespace

SampleResult sample_to_csv(const Model& model, const SampleOptions& options, const SampleFileOptions& file) {
  if (file.processes)
    throw InputError("[-o] expected a file that ends in .npy with several processes, got '{}'", file.path);
  const std::string key = key_of(model, options);
  RowFile rows(file.path, format_of(model), options.n, key, file.resume);
  std::optional<RowFile> areas;
  if (!file.area.empty()) areas.emplace(file.area, RowFormat{.shape = {}}, options.n, key, file.resume);
  const int64_t begun = areas ? std::min(rows.rows(), areas->rows()) : rows.rows(),
                part = part_rows(model, options, file.part_bytes / 8);
  SampleResult all;
  try {
    // Parts begin where they would have in one go, so that every block is the same.
    for (int64_t first = begun / part * part; first < options.n; first += part) {
      SampleOptions own = options;
      own.first = options.first + first, own.n = std::min(part, options.n - first), own.plan = all.plan;
      if (options.report) own.report = [&](int64_t done, int64_t) { options.report(first + done, options.n); };
      const SampleResult drawn = sample(model, own);
      const auto put = [&](RowFile& to, const at::Tensor& values) {
        const int64_t known = to.rows() - first;  // of this part, from another process
        if (known < own.n) to.append(values.narrow(0, known, own.n - known));
      };
      put(rows, written_rows(model, drawn));
      if (areas) put(*areas, drawn.area);
      const auto share = static_cast<double>(own.n) / static_cast<double>(options.n - begun / part * part);
      all.evaluations += drawn.evaluations * share;
      all.most_evaluations = std::max(all.most_evaluations, drawn.most_evaluations);
      all.diverged += drawn.diverged, all.incomplete += drawn.incomplete, all.seconds += drawn.seconds;
      all.plan = drawn.plan, all.plan_error = drawn.plan_error, all.plain_error = drawn.plain_error;
    }
  } catch (const Interrupted&) {
    rows.keep();
    if (areas) areas->keep();
    throw;
  }
  rows.finish();
  if (areas) areas->finish();
  write_conditions_beside(file.path, model, options);
  return all;
}

}  // namespace htfm
