#include "htfm/field/field_set.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "htfm/base/error.h"
#include "htfm/field/transform_json.h"
#include "htfm/io/dtype.h"
#include "htfm/io/hash.h"
#include "htfm/io/mapped_file.h"
#include "htfm/io/safetensors.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr const char* kFormat = "htfm fields 1";

void check_places(const FieldSet& set, const std::string& path) {
  const int64_t n = set.size(), height = set.fields.size(2), width = set.fields.size(3);
  if (set.member.defined() && set.member.size(0) != n)
    throw InputError("[fields] {}: damaged: expected a member for each of {} fields, got {}", path, n,
                     set.member.size(0));
  if (!set.latitude.defined() || (set.latitude.numel() == height * width && set.longitude.numel() == height * width))
    return;
  const int64_t rows = set.latitude.numel(), columns = set.longitude.numel();
  const bool around = set.period > 0 && set.period <= columns && width <= set.period;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = set.place.const_data_ptr<int64_t>()[2 * i],
                  column = set.place.const_data_ptr<int64_t>()[2 * i + 1];
    if (row < 0 || row > rows - height || column < 0 || column > (around ? columns - 1 : columns - width))
      throw InputError(
          "[fields] {}: damaged: expected fields of {} x {} inside a grid of {} x {}, got field {} at row {}, column "
          "{}",
          path, height, width, rows, columns, i + 1, row, column);
  }
}

void check_outside(const FieldSet& set, const std::string& path) {
  if (!set.outside.there()) return;
  const auto* end = set.outside.end.const_data_ptr<int64_t>();
  const int64_t count = set.outside.end.numel();
  if (count != set.size() * set.fields.size(1) || set.outside.site.size(1) != 2)
    throw InputError(
        "[fields] {}: damaged: expected the rain outside of {} fields of {} channels, each point as a row and a "
        "column, got {} lists of points of {} numbers",
        path, set.size(), set.fields.size(1), count, set.outside.site.size(1));
  const int64_t points = set.outside.site.size(0);
  for (int64_t k = 0; k <= count; ++k)
    if (const int64_t before = k > 0 ? end[k - 1] : 0, own = k < count ? end[k] : points; own < before)
      throw InputError(
          "[fields] {}: damaged: expected lists of {} points of rain outside, one after the other, got list {} from {} "
          "to {}",
          path, points, k + 1, before, own);
  if (count > 0 && end[count - 1] != points)
    throw InputError("[fields] {}: damaged: expected lists of {} points of rain outside, got {}", path, points,
                     end[count - 1]);
}

}  // namespace

std::vector<int64_t> FieldSet::part(bool wanted) const {
  std::vector<int64_t> out;
  const auto* flag = held_out.const_data_ptr<uint8_t>();
  for (int64_t i = 0; i < size(); ++i)
    if ((flag[i] != 0) == wanted) out.push_back(i);
  return out;
}

std::pair<std::vector<double>, std::vector<double>> FieldSet::places(int64_t field) const {
  if (!latitude.defined()) return {};
  const double *lat = latitude.const_data_ptr<double>(), *lon = longitude.const_data_ptr<double>();
  const int64_t height = fields.size(2), width = fields.size(3), points = height * width;
  if (latitude.numel() == points && longitude.numel() == points && points > 1)
    return {{lat, lat + points}, {lon, lon + points}};
  const int64_t row = place.const_data_ptr<int64_t>()[2 * field],
                column = place.const_data_ptr<int64_t>()[2 * field + 1];
  std::pair<std::vector<double>, std::vector<double>> out;
  for (int64_t j = 0; j < height; ++j) out.first.push_back(lat[row + j]);
  for (int64_t i = 0; i < width; ++i)
    out.second.push_back(lon[column + i < longitude.numel() ? column + i : column + i - period]);
  return out;
}

bool FieldSet::one_place() const {
  const auto* at = place.const_data_ptr<int64_t>();
  for (int64_t i = 1; i < size(); ++i)
    if (at[2 * i] != at[0] || at[2 * i + 1] != at[1]) return false;
  return true;
}

at::Tensor FieldSet::take(const std::vector<int64_t>& index) const {
  const int64_t own = fields.numel() / size();
  at::Tensor out =
      at::empty({static_cast<int64_t>(index.size()), fields.size(1), fields.size(2), fields.size(3)}, at::kFloat);
  for (size_t k = 0; k < index.size(); ++k)
    std::memcpy(out.mutable_data_ptr<float>() + static_cast<int64_t>(k) * own,
                fields.const_data_ptr<float>() + index[k] * own, static_cast<size_t>(own) * sizeof(float));
  return out;
}

at::Tensor FieldSet::distance(const std::vector<int64_t>& index) const {
  if (!(transform.reach > 0)) return {};
  return dry_distance(fields, index, outside, *transform.threshold, transform.reach);
}

void write_field_set(const std::string& path, const FieldSet& set) {
  SafeTensors file;
  file.tensors = {{"fields", set.fields},
                  {"time", set.time},
                  {"held_out", set.held_out},
                  {"place", set.place},
                  {"corners", set.corners}};
  if (set.member.defined()) file.tensors["member"] = set.member;
  if (set.outside.there())
    file.tensors["outside.site"] = set.outside.site, file.tensors["outside.end"] = set.outside.end;
  if (set.latitude.defined()) file.tensors["latitude"] = set.latitude, file.tensors["longitude"] = set.longitude;
  file.metadata["format"] = kFormat;
  file.metadata["transform"] = nlohmann::json(set.transform).dump();
  file.metadata["provenance"] = set.provenance;
  nlohmann::json about{{"channels", set.channels},
                       {"units", set.units},
                       {"south_first", set.south_first},
                       {"period", set.period},
                       {"calendar", calendar_name(set.calendar)}};
  if (!set.dated) about["dated"] = false;
  file.metadata["about"] = about.dump();
  write_safetensors(path, file);
}

bool is_field_set(const std::string& path) {
  try {
    const SafeTensorsHeader header = read_safetensors_header(path);
    const auto found = header.metadata.find("format");
    return found != header.metadata.end() && found->second.starts_with("htfm fields");
  } catch (const InputError&) {
    return false;
  }
}

FieldSet open_field_set(const std::string& path) {
  const SafeTensorsHeader header = read_safetensors_header(path);
  const auto word = [&](const char* key) -> const std::string& {
    const auto found = header.metadata.find(key);
    if (found == header.metadata.end())
      throw InputError("[fields] {}: expected a set that `htfm prepare` wrote, got no '{}' in its metadata", path, key);
    return found->second;
  };
  if (word("format") != kFormat)
    throw InputError("[fields] {}: expected '{}', got '{}'", path, kFormat, word("format"));
  const auto file = std::make_shared<const MappedFile>(path);
  const std::string_view data = file->bytes().substr(header.data_start);
  Xxh64 hash;
  hash.update(data.data(), data.size());
  if (hash.hex() != header.data_hash)
    throw InputError("[fields] {}: damaged: the hash of the data differs from the one in the file", path);
  const auto tensor = [&](const char* name, at::ScalarType type, size_t dimensions) {
    const auto found = header.tensors.find(name);
    if (found == header.tensors.end() || found->second.type != type || found->second.shape.size() != dimensions)
      throw InputError(
          "[fields] {}: expected '{}' in {} with {} dimensions, got {}", path, name, dtype_name(type), dimensions,
          found == header.tensors.end()
              ? "none"
              : fmt::format("{} of shape {}", dtype_name(found->second.type), shape_text(found->second.shape)));
    return mapped_tensor(file, header.data_start + found->second.begin, found->second.shape, type);
  };
  FieldSet set;
  set.fields = tensor("fields", at::kFloat, 4);
  set.time = tensor("time", at::kLong, 1), set.held_out = tensor("held_out", at::kByte, 1);
  set.place = tensor("place", at::kLong, 2), set.corners = tensor("corners", at::kDouble, 2);
  if (header.tensors.contains("member")) set.member = tensor("member", at::kLong, 1);
  if (header.tensors.contains("latitude") && header.tensors.contains("longitude"))
    set.latitude = tensor("latitude", at::kDouble, 1), set.longitude = tensor("longitude", at::kDouble, 1);
  if (header.tensors.contains("outside.end"))
    set.outside = {tensor("outside.site", at::kFloat, 2), tensor("outside.end", at::kLong, 2)};
  const int64_t n = set.size();
  if (set.fields.numel() == 0 || set.time.size(0) != n || set.held_out.size(0) != n || set.place.size(0) != n ||
      set.corners.size(0) != n)
    throw InputError("[fields] {}: expected a time, a part and a place for each of at least one field, got {} fields",
                     path, n);
  try {
    set.transform = nlohmann::json::parse(word("transform")).get<FieldTransform>();
    set.provenance = nlohmann::json::parse(word("provenance")).dump();
    const nlohmann::json about = nlohmann::json::parse(word("about"));
    set.channels = about.at("channels").get<std::vector<std::string>>(),
    set.units = about.at("units").get<std::vector<std::string>>();
    set.south_first = about.at("south_first");
    set.period = about.value("period", int64_t{0}), set.dated = about.value("dated", true);
    const std::string calendar = about.value("calendar", "");
    if (!calendar_by_name(calendar))
      throw InputError("[fields] {}: expected the name of a calendar, such as gregorian, got '{}'", path, calendar);
    set.calendar = *calendar_by_name(calendar);
  } catch (const nlohmann::json::exception& e) {
    throw InputError("[fields] {}: expected normalisation and provenance in its metadata, got: {}", path,
                     json_reason(e.what()));
  }
  if (set.transform.channels() != set.fields.size(1) ||
      static_cast<int64_t>(set.channels.size()) != set.fields.size(1) || set.units.size() != set.channels.size())
    throw InputError("[fields] {}: expected names, units and normalisation of {} channels, got {}, {} and {}", path,
                     set.fields.size(1), set.channels.size(), set.units.size(), set.transform.channels());
  check_places(set, path);
  check_outside(set, path);
  set.hash = hash.hex();
  return set;
}

}  // namespace htfm
