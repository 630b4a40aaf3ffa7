#include "htfm/condition/given_conditions.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/split.h"
#include "htfm/field/block_means.h"
#include "htfm/field/field_set.h"
#include "htfm/field/list_fields.h"
#include "htfm/io/dtype.h"
#include "htfm/io/hash.h"
#include "htfm/io/npy.h"
#include "htfm/io/table.h"

namespace htfm {

namespace {

void check_there(const ConditionEncoder& encoder) {
  if (!encoder.there())
    throw InputError(
        "[--given] expected a run that was trained with conditions (condition.columns, condition.file, "
        "condition.label, condition.field), got one without");
}

}  // namespace

at::Tensor GivenConditions::of_samples(const ConditionEncoder& encoder, int64_t first, int64_t n, Key key) const {
  const int64_t width = encoder.width();
  at::Tensor out = at::full({n, width}, std::nan(""), at::kDouble);
  if (there()) {
    if (rows.dim() != 2 || rows.size(1) != width || rows.size(0) < 1)
      throw InputError("[--given] expected rows of {} conditions, got an array of shape {}", width,
                       shape_text(rows.sizes()));
    const double* from = rows.const_data_ptr<double>();
    double* to = out.mutable_data_ptr<double>();
    for (int64_t i = 0; i < n; ++i)
      std::copy_n(from + (first + i) / each % rows.size(0) * width, width, to + i * width);
  }
  return encoder.completed(out, key, first);
}

std::string GivenConditions::hash() const {
  if (!there()) return {};
  Xxh64 hash;
  hash.update(rows.const_data_ptr(), rows.nbytes());
  return fmt::format("{} {}", hash.hex(), each);
}

GivenConditions parse_given(const ConditionEncoder& encoder, const std::string& text) {
  check_there(encoder);
  if (encoder.field().there())
    throw InputError("[--given] expected a file of fields, since the run is given {}, got '{}'", encoder.describe(),
                     text);
  GivenConditions out{at::full({1, encoder.width()}, std::nan(""), at::kDouble)};
  double* to = out.rows.mutable_data_ptr<double>();
  std::vector<std::string> pairs;
  for (const std::string& part : split(text)) {
    if (part.find('=') != std::string::npos || pairs.empty())
      pairs.push_back(part);
    else
      pairs.back() += "," + part;  // a category with a comma in it
  }
  for (const std::string& pair : pairs) {
    const size_t eq = pair.find('=');
    if (eq == std::string::npos || eq == 0)
      throw InputError("[--given] expected name=value pairs with commas between, got '{}'", text);
    const int64_t column = encoder.place_of(std::string(trimmed(pair.substr(0, eq))));
    if (!std::isnan(to[column])) throw InputError("[--given] expected each name once, got '{}'", text);
    to[column] = encoder.value_of(column, std::string(trimmed(pair.substr(eq + 1))));
  }
  return out;
}

GivenConditions read_given(const ConditionEncoder& encoder, const std::string& path) {
  check_there(encoder);
  ColumnChoice choice;
  const bool named = !path.ends_with(".npy");
  if (named)
    for (const ConditionColumn& c : encoder.columns()) choice.columns.push_back(c.name);
  const Table table = read_table(path, choice, {.lenient = true, .header = named, .texts = named});
  GivenConditions out{table.values.to(at::kDouble).clone()};
  const int64_t n = out.rows.size(0), width = encoder.width();
  if (n < 1 || out.rows.size(1) != width)
    throw InputError("[--given] {}: expected rows of {} conditions, got {} of {}", path, width, n, out.rows.size(1));
  double* v = out.rows.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n * width; ++i) {
    const int64_t k = i % width, text = text_place(v[i]);
    const bool missing = text < 0 && std::isnan(v[i]);
    if (missing || (text < 0 && !encoder.columns()[static_cast<size_t>(k)].is_category())) continue;
    try {
      v[i] = encoder.value_of(k, text < 0 ? fmt::format("{}", v[i]) : table.texts[static_cast<size_t>(k)][text].text);
    } catch (const InputError& e) {
      throw InputError("{} ({}, row {})", e.what(), path, i / width + 1);
    }
  }
  return out;
}

GivenConditions read_given_fields(const ConditionEncoder& encoder, const std::string& path) {
  check_there(encoder);
  const ConditionField& own = encoder.field().field();
  if (!own.there()) throw InputError("[--given] {}: expected conditions, {}, got fields", path, encoder.describe());
  if (!is_field_set(path) && is_field_file(path))
    throw InputError(
        "[--given] {}: expected a prepared set or .npy, got a file of fields: make a set of it first (htfm prepare {} "
        "--variable NAME -o given.fields)",
        path, path);
  at::Tensor fields = is_field_set(path) ? open_field_set(path).fields : read_npy(path);
  if (fields.dim() == 3 && own.channels == 1) fields = fields.unsqueeze(1);
  const bool fits = fields.dim() == 4 && fields.size(0) > 0 && fields.size(1) == own.channels &&
                    fields.size(2) >= own.height && fields.size(2) % own.height == 0 && fields.size(3) >= own.width &&
                    fields.size(3) % own.width == 0;
  if (!fits)
    throw InputError("[--given] {}: expected fields of {} x {} x {}, or of a grid whose blocks these are, got {}", path,
                     own.channels, own.height, own.width, c10::str(fields.sizes()));
  GivenConditions out{block_means(fields, own.height, own.width).view({fields.size(0), -1})};
  const at::Tensor finite = out.rows.isfinite().all(1);
  if (!finite.all().item<bool>())
    throw InputError("[--given] {}: expected finite values, got another in field {}", path,
                     finite.logical_not().nonzero()[0].item<int64_t>() + 1);
  return out;
}

GivenConditions find_given(const ConditionEncoder& encoder, const std::string& text_or_path) {
  if (encoder.field().there() && text_or_path.find('=') == std::string::npos)
    return read_given_fields(encoder, text_or_path);
  return text_or_path.find('=') != std::string::npos ? parse_given(encoder, text_or_path)
                                                     : read_given(encoder, text_or_path);
}

}  // namespace htfm
