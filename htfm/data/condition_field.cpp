#include "htfm/data/condition_field.h"

#include <ATen/ops/cat.h>

#include <charconv>
#include <optional>

#include "htfm/base/error.h"
#include "htfm/field/block_means.h"
#include "htfm/field/field_set.h"

namespace htfm {

namespace {

struct Grid2 {
  int64_t height = 0, width = 0;
};

// "16x16"; none where it is something else.
std::optional<Grid2> grid_in(const std::string& text) {
  Grid2 out;
  const char *end = text.data() + text.size(), *at = text.data();
  const auto read = [&](int64_t& number) {
    const auto [next, error] = std::from_chars(at, end, number);
    at = next;
    return error == std::errc{} && number > 0;
  };
  if (!read(out.height) || at == end || *at != 'x') return std::nullopt;
  ++at;
  if (!read(out.width) || at != end) return std::nullopt;
  return out;
}

constexpr int64_t kPart = 256;  // fields at a time

// Means over blocks of some fields of a set.
at::Tensor means_of(const FieldSet& set, const std::vector<int64_t>& index, const Grid2& grid) {
  std::vector<at::Tensor> out;
  for (size_t first = 0; first < index.size(); first += kPart) {
    const auto begin = index.begin() + static_cast<int64_t>(first),
               end = index.begin() + static_cast<int64_t>(std::min(index.size(), first + kPart));
    out.push_back(block_means(set.take({begin, end}), grid.height, grid.width));
  }
  return at::cat(out);
}

ConditionTable table_of(const at::Tensor& fields) {
  ConditionTable out;
  out.values = fields.reshape({fields.size(0), -1}).contiguous();
  out.field = {fields.size(1), fields.size(2), fields.size(3)};
  return out;
}

std::vector<int64_t> rows_of_part(const FieldSet& set, const Dataset& data) {
  std::vector<int64_t> index = set.part(data.held_out);
  if (static_cast<int64_t>(index.size()) != data.rows.size(0))
    throw InputError("[condition.field] {}: expected {} fields, as there are rows, got {}", data.fields,
                     data.rows.size(0), index.size());
  return index;
}

}  // namespace

bool names_block_grid(const std::string& field) { return grid_in(field).has_value(); }

ConditionTable given_fields(const Dataset& data, const std::string& field) {
  if (!data.image)
    throw InputError("[condition.field] {}: expected fields or images, got a table (condition.columns)", data.origin);
  if (const std::optional<Grid2> grid = grid_in(field)) {
    if (grid->height > data.image->height || data.image->height % grid->height != 0 ||
        grid->width > data.image->width || data.image->width % grid->width != 0)
      throw InputError("[condition.field] expected a grid whose sizes divide {} x {}, got {}", data.image->height,
                       data.image->width, field);
    if (data.fields.empty()) {
      const ImageShape& s = *data.image;
      return table_of(block_means(data.rows.view({-1, s.channels, s.height, s.width}), grid->height, grid->width));
    }
    const FieldSet set = open_field_set(data.fields);
    return table_of(means_of(set, rows_of_part(set, data), *grid));
  }
  if (!is_field_set(field))
    throw InputError("[condition.field] expected a grid such as 16x16, or a prepared set of fields, got '{}'", field);
  if (data.fields.empty())
    throw InputError(
        "[condition.field] {}: expected data of htfm prepare too, since {} is such a set; got other images",
        data.origin, field);
  const FieldSet set = open_field_set(field), own = open_field_set(data.fields);
  const int64_t h = set.fields.size(2), w = set.fields.size(3);
  if (set.size() != own.size() || !set.held_out.equal(own.held_out) || !set.time.equal(own.time))
    throw InputError(
        "[condition.field] {}: expected the {} fields of {}, of the same times and parts (htfm coarsen makes such a "
        "set), "
        "got {}{}",
        field, own.size(), data.fields, set.size(), set.size() == own.size() ? " of other times or parts" : "");
  if (data.image->height % h != 0 || data.image->width % w != 0)
    throw InputError("[condition.field] {}: expected a grid whose sizes divide {} x {}, got {} x {}", field,
                     data.image->height, data.image->width, h, w);
  return table_of(set.take(rows_of_part(own, data)).to(at::kDouble));
}

}  // namespace htfm
