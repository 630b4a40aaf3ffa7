#include "htfm/sample/written_rows.h"

#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <algorithm>

#include "htfm/io/csv.h"

namespace htfm {

at::Tensor written_rows(const Model& model, const SampleResult& drawn) {
  return model.condition().there() && !model.image()
             ? at::cat({drawn.samples, model.condition().as_numbers(drawn.conditions)}, 1)
             : drawn.samples;
}

std::vector<std::string> written_names(const Model& model) {
  std::vector<std::string> out = model.column_names();
  for (auto k = static_cast<int64_t>(out.size()); k < model.transform().columns(); ++k)
    out.push_back(fmt::format("column {}", k + 1));
  if (!model.image())
    for (const ConditionColumn& c : model.condition().columns()) out.push_back(c.name);
  return out;
}

std::vector<TableColumn> written_columns(const Model& model) {
  std::vector<TableColumn> out = model.columns();
  const bool text = std::any_of(model.condition().columns().begin(), model.condition().columns().end(),
                                [](const ConditionColumn& c) { return !c.numbered() && c.is_category(); });
  if (model.image() || (out.empty() && !text)) return out;
  out.resize(static_cast<size_t>(model.transform().columns()));
  for (const ConditionColumn& c : model.condition().columns()) {
    out.emplace_back();
    if (c.is_category() && !c.numbered()) out.back().kind = ColumnKind::category, out.back().categories = c.categories;
  }
  return out;
}

void write_conditions_beside(const std::string& path, const Model& model, const SampleOptions& options) {
  if (model.condition().columns().empty() || !model.image()) return;
  const std::vector<ConditionColumn>& columns = model.condition().columns();
  std::vector<std::string> names;
  for (const ConditionColumn& c : columns) names.push_back(c.name);
  // By their names, as --given takes them; classes of images are numbers, as their scores take them.
  const CellText category = [&](int64_t column, double value, std::string& cell) {
    const ConditionColumn& c = columns[static_cast<size_t>(column)];
    if (model.config().condition.label || !c.is_category() || c.numbered() || !(value >= 0)) return false;
    cell += c.categories.at(static_cast<size_t>(value));
    return true;
  };
  write_csv(path + ".conditions.csv", model.condition().as_numbers(sample_conditions(model, options)), names, {},
            category);
}

std::string given_text(const SampleOptions& options) {
  const std::string hash = options.condition.hash();
  if (hash.empty() && options.guidance == 0 && !options.exact_means) return "";
  return fmt::format(" given {} {}{}", hash, options.guidance, options.exact_means ? " exact" : "");
}

}  // namespace htfm
