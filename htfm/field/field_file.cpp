#include "htfm/field/field_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/io/file.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr uint64_t kLook = 1024;  // bytes at the start in which a GRIB message may begin: archives put a header before it
constexpr size_t kListed = 6;

}  // namespace

std::string FieldChoice::text() const {
  std::string out = name;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  if (code) add(fmt::format("{}/{}/{}", code->discipline, code->category, code->number));
  if (!level_type.empty()) add("level type " + level_type);
  if (level) add(fmt::format("level {}", *level));
  if (step) add(fmt::format("step {}", *step));
  return out.empty() ? "any field" : out;
}

void FieldMessage::read(const Window& window, double* out) const {
  visit_rows(window, [&](int64_t row, const double* values) { std::copy_n(values, window.width, out + row * window.width); });
}

std::string found_text(const std::vector<std::string>& found) {
  if (found.empty()) return "none";
  std::vector<std::string> distinct;
  for (const std::string& f : found)
    if (std::find(distinct.begin(), distinct.end(), f) == distinct.end()) distinct.push_back(f);
  std::string out;
  for (size_t k = 0; k < std::min(kListed, distinct.size()); ++k) out += (k ? "; " : "") + distinct[k];
  if (distinct.size() > kListed) out += fmt::format("; and {} more", distinct.size() - kListed);
  return out;
}

void visit_fields(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor) {
  std::string start;
  {
    const FileSource file(path);
    start.resize(std::min(file.size(), kLook));
    file.read(0, start.data(), start.size());
  }
  if (start.empty()) throw InputError("[fields] {}: expected GRIB2 or NetCDF, got an empty file", path);
  if (start.starts_with("CDF") || start.starts_with("\x89HDF")) return visit_netcdf(path, choice, visitor);
  if (start.find("GRIB") != std::string::npos) return visit_grib(path, choice, visitor);
  if (start.starts_with("\x1f\x8b"))
    throw InputError("[fields] {}: expected GRIB2 or NetCDF, got a gzip file: unpack it first (gunzip)", path);
  throw InputError("[fields] {}: expected GRIB2 or NetCDF, got a file that begins with {}", path, in_quotes(start.substr(0, 16)));
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
    if (!std::filesystem::is_directory(path, none)) {
      out.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string end = entry.path().extension().string();
      for (const char* known : {".grib2", ".grb2", ".grib", ".grb", ".nc", ".nc4"})
        if (end == known) inside.push_back(entry.path().string());
    }
    if (inside.empty()) throw InputError("[prepare] {}: expected files that end in .grib2, .grb2 or .nc, got none", path);
    std::sort(inside.begin(), inside.end());
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

}  // namespace htfm
