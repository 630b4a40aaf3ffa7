#include "htfm/rare/rare_file.h"

#include <ATen/ops/cat.h>

#include "htfm/data/table_column.h"
#include "htfm/io/csv.h"
#include "htfm/io/npy.h"

namespace htfm {

namespace {

constexpr int kWeightDigits = 17;

void write_weights(const std::string& path, const at::Tensor& weights) {
  if (path.ends_with(".csv"))
    write_csv(path, weights.unsqueeze(1), {"weight"});
  else
    write_npy(path, weights);
}

}  // namespace

void write_rare_samples(const Model& model, const RareSamples& drawn, const std::string& path,
                        const std::string& weights) {
  if (path.ends_with(".csv")) {
    std::vector<std::string> names = model.column_names();
    std::vector<int> digits = model.transform().digits();
    std::vector<TableColumn> columns = model.columns();
    at::Tensor rows = drawn.samples;
    if (weights.empty()) {
      // A header needs a name for every column.
      for (int64_t k = static_cast<int64_t>(names.size()); k < rows.size(1); ++k)
        names.push_back("column " + std::to_string(k + 1));
      names.emplace_back("weight");
      digits.push_back(kWeightDigits);
      if (!columns.empty()) columns.emplace_back();
      rows = at::cat({rows, drawn.weights.unsqueeze(1)}, 1);
    }
    write_csv(path, rows, names, digits, cell_text(columns));
  } else if (model.field()) {
    const ImageShape& s = *model.image();
    write_npy(path, drawn.samples.to(at::kFloat).reshape({-1, s.channels, s.height, s.width}).contiguous());
  } else {
    write_npy(path, drawn.samples.contiguous());
  }
  if (!weights.empty()) write_weights(weights, drawn.weights);
}

}  // namespace htfm
