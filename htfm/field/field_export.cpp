#include "htfm/field/field_export.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace htfm {
namespace {

// Eastwards without a jump, below 360 degrees: 350, 0, 10 becomes -10, 0, 10.
std::vector<double> without_jump(std::vector<double> longitude) {
  for (size_t i = 1; i < longitude.size(); ++i)
    longitude[i] = longitude[i - 1] + std::remainder(longitude[i] - longitude[i - 1], 360.0);
  if (!longitude.empty() && *std::max_element(longitude.begin(), longitude.end()) >= 360)
    for (double& x : longitude) x -= 360;
  return longitude;
}

}  // namespace

FieldFileHeader header_of_samples(const FieldSet& set, int64_t count) {
  FieldFileHeader out{.count = count, .height = set.fields.size(2), .width = set.fields.size(3)};
  out.channels = set.channels, out.units = set.units;
  if (set.one_place()) {
    std::tie(out.latitude, out.longitude) = set.places(0);
    if (static_cast<int64_t>(out.longitude.size()) == out.width) out.longitude = without_jump(out.longitude);
  }
  return out;
}

void export_fields(const FieldSet& set, const std::vector<int64_t>& index, const std::string& path,
                   const std::vector<std::pair<std::string, std::string>>& attributes) {
  FieldFileHeader header = header_of_samples(set, static_cast<int64_t>(index.size()));
  header.each = "field", header.calendar = set.calendar, header.attributes = attributes;
  std::set<int64_t> times;
  for (const int64_t i : index) {
    if (set.dated) header.time.push_back(set.time.const_data_ptr<int64_t>()[i]), times.insert(header.time.back());
    header.held_out.push_back(set.held_out.const_data_ptr<uint8_t>()[i]);
    if (set.member.defined()) header.member.push_back(set.member.const_data_ptr<int64_t>()[i]);
    if (header.latitude.empty() && set.latitude.defined()) {
      const auto [latitude, longitude] = set.places(i);
      header.own_latitude.insert(header.own_latitude.end(), latitude.begin(), latitude.end());
      const std::vector<double> straight = without_jump(longitude);
      header.own_longitude.insert(header.own_longitude.end(), straight.begin(), straight.end());
    }
  }
  if (set.dated && times.size() == index.size() && std::is_sorted(header.time.begin(), header.time.end()))
    header.each = "time";
  const std::unique_ptr<FieldWriter> file = open_field_writer(path, header);
  constexpr int64_t kTogether = 64;
  for (size_t first = 0; first < index.size(); first += kTogether) {
    const std::vector<int64_t> part(index.begin() + static_cast<int64_t>(first),
                                    index.begin() + std::min<int64_t>(index.size(), first + kTogether));
    file->write(set.take(part).const_data_ptr<float>(), static_cast<int64_t>(part.size()));
  }
  file->close();
}

}  // namespace htfm
