#include "htfm/field/field_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/base/module_library.h"
#include "htfm/base/parse_number.h"
#include "htfm/field/field_process.h"
#include "htfm/field/field_reader.h"
#include "htfm/io/file.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr uint64_t kLook = 1 << 16;  // bytes in which a GRIB message may begin: archives put a header before it

// What other files of weather and pictures begin with, and how to turn them into NetCDF.
struct OtherKind {
  std::string_view sign, text;
};
constexpr OtherKind kOthers[] = {
    {"\x1f\x8b", "a gzip file: unpack it first (gunzip)"},
    {"\xfd"
     "7zXZ",
     "an xz file: unpack it first (unxz)"},
    {"BZh", "a bzip2 file: unpack it first (bunzip2)"},
    {"\x28\xb5\x2f\xfd", "a Zstandard file: unpack it first (unzstd)"},
    {"PK\x03\x04", "a zip file: unpack it first (unzip)"},
    {"\x0e\x03\x13\x01", "an HDF4 file: write it as NetCDF first (h4tonccf_nc4, or gdal_translate -of netCDF)"},
    {{"\x00\x00\x01\x00\x00\x00", 6},
     "a PP file of the Met Office: write it as NetCDF first (iris.load and iris.save)"},
    {"BUFR", "a BUFR file, which holds observations and no fields"},
    {"II*", "a TIFF file: write it as NetCDF first (gdal_translate -of netCDF)"},
    {{"MM\x00*", 4}, "a TIFF file: write it as NetCDF first (gdal_translate -of netCDF)"},
};

}  // namespace

const FieldReader& field_library(const std::string& path) {
  static const ModuleLibrary library("htfm_fields");
  if (!library.loaded()) {
    const std::string missing = HTFM_FIELDS_MISSING;  // packages, when this was built
    throw InputError("[fields] {}: expected the library that reads GRIB and NetCDF, got {}{}", path, library.reason(),
                     missing.empty() ? "" : fmt::format(": it was left out of this build, which found no {}", missing));
  }
  static const ModuleLibrary::Object reader = library.object("htfm_field_reader");
  if (!reader.address)
    throw InputError("[fields] {}: expected the library that reads GRIB and NetCDF, got {}", path, reader.reason);
  return *static_cast<const FieldReader*>(reader.address);
}

std::string start_of_field_file(const std::string& path) {
  const FileSource file(path);
  std::string start(std::min(file.size(), kLook), '\0');
  file.read(0, start.data(), start.size());
  return start;
}

bool holds_grib(const std::string& start) {
  constexpr size_t kEdition = 7;  // where a message says its edition
  if (start.starts_with("GRIB")) return true;
  for (size_t at = start.find("GRIB"); at != std::string::npos; at = start.find("GRIB", at + 1))
    if (at + kEdition < start.size() && (start[at + kEdition] == 1 || start[at + kEdition] == 2)) return true;
  return false;
}

bool holds_netcdf(const std::string& start) {
  if (start.starts_with("CDF")) return true;
  constexpr const char* kHdf = "\x89HDF\r\n\x1a\n";
  if (start.starts_with(kHdf)) return true;
  for (size_t at = 512; at < start.size(); at *= 2)  // HDF5 allows a block of the user's own before its own
    if (start.compare(at, 8, kHdf) == 0) return true;
  return false;
}

std::string other_kind_text(const std::string& start) {
  if (start.empty()) return "an empty file";
  for (const OtherKind& other : kOthers)
    if (start.starts_with(other.sign)) return std::string(other.text);
  return "a file that begins with " + in_quotes(start.substr(0, 16));
}

void visit_fields(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor) {
  std::error_code none;
  for (const char* sign : {"/zarr.json", "/.zgroup", "/.zmetadata", "/.zarray"})
    if (std::filesystem::exists(path + sign, none))
      throw InputError(
          "[fields] {}: expected GRIB or NetCDF, got a Zarr store: Python opens it with all its codecs; write it as "
          "NetCDF first, python3 -c \"import xarray; xarray.open_zarr('{}').to_netcdf('{}.nc')\"",
          path, path, std::filesystem::path(path).stem().string());
  const std::string start = start_of_field_file(path);
  if (holds_netcdf(start)) return visit_in_process(field_library(path), FieldFormat::netcdf, path, choice, visitor);
  if (holds_grib(start)) return visit_in_process(field_library(path), FieldFormat::grib, path, choice, visitor);
  throw InputError("[fields] {}: expected GRIB or NetCDF, got {}", path, other_kind_text(start));
}

void FieldChoice::set_step(const std::string& text) {
  const size_t dash = text.find('-');
  const auto hours = [&](const std::string& part) {
    const std::optional<int64_t> v = parse_number<int64_t>(part);
    if (!v || *v < 0) throw InputError("[step] expected hours (6) or an interval of hours (0-6), got '{}'", text);
    return *v;
  };
  if (dash != std::string::npos) step_from = hours(text.substr(0, dash));
  step = hours(dash == std::string::npos ? text : text.substr(dash + 1));
}

ParameterCode parse_parameter_code(const std::string& text) {
  ParameterCode code;
  const char *at = text.data(), *end = at + text.size();
  for (int64_t* part : {&code.discipline, &code.category, &code.number}) {
    const auto [next, error] = std::from_chars(at, end, *part);
    const bool last = part == &code.number;
    if (error != std::errc() || *part < 0 || (last ? next != end : next == end || *next != '/'))
      throw InputError("[code] expected discipline/category/number, such as 0/15/3, got '{}'", text);
    at = next + 1;
  }
  return code;
}

std::vector<std::string> list_field_files(const std::vector<std::string>& files_and_folders) {
  std::vector<std::string> out;
  for (const std::string& path : files_and_folders) {
    std::error_code none;
    if (!std::filesystem::is_directory(path, none) || std::filesystem::exists(path + "/zarr.json", none) ||
        std::filesystem::exists(path + "/.zgroup", none)) {
      out.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string end = entry.path().extension().string();
      for (const char* known : {".grib2", ".grb2", ".grib", ".grb", ".grib1", ".nc", ".nc4"})
        if (end == known) inside.push_back(entry.path().string());
    }
    if (inside.empty())
      throw InputError("[prepare] {}: expected files that end in .grib2, .grb2 or .nc, got none", path);
    std::sort(inside.begin(), inside.end());
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

}  // namespace htfm
