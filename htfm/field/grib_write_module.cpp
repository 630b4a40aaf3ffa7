// Fields into GRIB edition 2: a message for each channel of each field, on a regular grid of latitudes and longitudes.
#include <eccodes.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <vector>

#include "htfm/base/error.h"
#include "htfm/field/readers_module.h"
#include "htfm/io/descriptor.h"
#include "htfm/io/unit.h"

namespace htfm {
namespace {

constexpr int64_t kMostMembers = 255;  // a byte
constexpr int64_t kNoCentre = 65535;   // missing: the message that this one begins as says ECMWF

// Degrees from one to the next; 0 where they are not equally far apart.
double even_step(const std::vector<double>& places) {
  if (places.size() < 2) return 0;
  const double step = (places.back() - places.front()) / static_cast<double>(places.size() - 1);
  for (size_t k = 1; k < places.size(); ++k)
    if (std::abs(places[k] - places.front() - step * static_cast<double>(k)) > 1e-4) return 0;
  return step;
}

// What is not known fits anything.
bool is_unit_of(codes_handle* h, const std::string& unit) {
  char own[256] = {};
  size_t size = sizeof own;
  if (unit.empty() || codes_get_string(h, "units", own, &size)) return true;
  return is_same_unit(own, unit) || is_no_unit(own);
}

// Some names stand for a parameter at a level: at the ground, where fields are written, a gh would be called orog.
bool is_name_of(codes_handle* h, const std::string& name) {
  char own[256] = {};
  size_t size = sizeof own;
  return codes_get_string(h, "shortName", own, &size) == 0 && name == own;
}

class GribWriter : public FieldWriter {
 public:
  GribWriter(const std::string& path, const FieldFileHeader& header)
      : path_(path), scratch_(fmt::format("{}.{}.tmp", path, ::getpid())), header_(header) {
    if (even_step(header.latitude) == 0 || even_step(header.longitude) <= 0)
      throw InputError(
          "[-o] {}: expected fields at one place, on latitudes and longitudes equally far apart, for GRIB2, got "
          "others: "
          "write NetCDF (.nc)",
          path);
    if (header.time.empty() && header.count > kMostMembers)
      throw InputError(
          "[-o] {}: expected at most {} samples or fields without dates for GRIB2, which numbers members in a byte, "
          "got "
          "{}: write NetCDF (.nc)",
          path, kMostMembers, header.count);
    if (header.calendar != Calendar::gregorian)
      throw InputError("[-o] {}: expected Gregorian times for GRIB2, got {}: write NetCDF (.nc)", path,
                       calendar_name(header.calendar));
    file_ = std::fopen(scratch_.c_str(), "wb");
    if (!file_) throw Error("[write] {}: {}", path, system_reason(errno));
  }
  ~GribWriter() override {
    if (file_) std::fclose(file_);
    if (!closed_) std::remove(scratch_.c_str());
  }
  GribWriter(const GribWriter&) = delete;
  GribWriter& operator=(const GribWriter&) = delete;

  void write(const float* values, int64_t n) override {
    const std::lock_guard lock(eccodes_mutex());
    set_up_eccodes(path_);
    const auto plane = header_.height * header_.width;
    for (int64_t i = 0; i < n; ++i, ++done_)
      for (size_t c = 0; c < header_.channels.size(); ++c, values += plane) write_message(values, c);
  }
  void close() override {
    if (done_ != header_.count) throw Error("[grib] {}: expected {} fields, got {}", path_, header_.count, done_);
    const int failed = std::fclose(file_);
    file_ = nullptr;
    if (failed != 0 || std::rename(scratch_.c_str(), path_.c_str()) != 0)
      throw Error("[write] {}: {}", path_, system_reason(errno));
    closed_ = true;
  }

 private:
  void check(int error, const char* key) const {
    if (error) throw Error("[grib] {}: cannot be written: {}: {}", path_, key, codes_get_error_message(error));
  }

  void write_message(const float* values, size_t c) {
    struct Deleter {
      void operator()(codes_handle* h) const { codes_handle_delete(h); }
    };
    const std::unique_ptr<codes_handle, Deleter> handle(codes_grib_handle_new_from_samples(nullptr, "GRIB2"));
    codes_handle* h = handle.get();
    if (!h) throw Error("[grib] {}: ecCodes has no sample of GRIB2 (its definitions are not installed)", path_);
    const auto whole = [&](const char* key, int64_t v) { check(codes_set_long(h, key, static_cast<long>(v)), key); };
    const auto number = [&](const char* key, double v) { check(codes_set_double(h, key, v), key); };
    const std::vector<double>&lat = header_.latitude, &lon = header_.longitude;
    const auto turned = [](double x) { return x < 0 ? x + 360 : x; };
    whole("Ni", header_.width), whole("Nj", header_.height);
    number("latitudeOfFirstGridPointInDegrees", lat.front()), number("latitudeOfLastGridPointInDegrees", lat.back());
    number("longitudeOfFirstGridPointInDegrees", turned(lon.front()));
    number("longitudeOfLastGridPointInDegrees", turned(lon.back()));
    number("iDirectionIncrementInDegrees", even_step(lon));
    number("jDirectionIncrementInDegrees", std::abs(even_step(lat)));
    whole("jScansPositively", lat.front() < lat.back());
    whole("centre", kNoCentre);
    if (header_.time.empty()) {  // a sample is a member of an ensemble, of no day, which GRIB cannot leave out
      whole("significanceOfReferenceTime", 255), whole("dataDate", 19700101), whole("dataTime", 0);
      whole("productDefinitionTemplateNumber", 1);
      whole("perturbationNumber", done_), whole("numberOfForecastsInEnsemble", header_.count);
    } else {
      if (!header_.member.empty()) {
        whole("productDefinitionTemplateNumber", 1);
        whole("perturbationNumber", header_.member[static_cast<size_t>(done_)]);
        whole("numberOfForecastsInEnsemble", kMostMembers);
      }
      const Moment m = moment_of(header_.time[static_cast<size_t>(done_)]);
      whole("dataDate", m.year * 10000 + m.month * 100 + m.day), whole("dataTime", m.hour * 100 + m.minute);
      whole("second", m.second);
    }
    size_t size = header_.channels[c].size();
    // A local number where it is none of ecCodes' names, or where that name stands for values in another unit.
    if (codes_set_string(h, "shortName", header_.channels[c].c_str(), &size) || !is_name_of(h, header_.channels[c]) ||
        !is_unit_of(h, header_.units[c]))
      whole("discipline", 0), whole("parameterCategory", 192), whole("parameterNumber", 192 + static_cast<int64_t>(c));
    whole("bitsPerValue", 24);
    const std::vector<double> all(values, values + header_.height * header_.width);
    check(codes_set_double_array(h, "values", all.data(), all.size()), "values");
    const void* message = nullptr;
    check(codes_get_message(h, &message, &size), "a message");
    if (std::fwrite(message, 1, size, file_) != size) throw Error("[write] {}: {}", path_, system_reason(errno));
  }

  std::string path_, scratch_;
  FieldFileHeader header_;
  std::FILE* file_ = nullptr;
  int64_t done_ = 0;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<FieldWriter> write_grib(const std::string& path, const FieldFileHeader& header) {
  return std::make_unique<GribWriter>(path, header);
}

}  // namespace htfm
