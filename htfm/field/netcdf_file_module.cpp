#include "htfm/field/netcdf_file_module.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/base/parse_number.h"
#include "htfm/field/netcdf_header_module.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr size_t kMostNumbers = size_t{1} << 30;

void add_group(const NetcdfFile& file, int group, const std::string& path, std::vector<NetcdfVariable>& out) {
  int count = 0;
  file.check(nc_inq_varids(group, &count, nullptr), "variables");
  std::vector<int> ids(static_cast<size_t>(count));
  file.check(nc_inq_varids(group, &count, ids.data()), "variables");
  for (const int id : ids) out.emplace_back(file, group, id, path);
  file.check(nc_inq_grps(group, &count, nullptr), "groups");
  std::vector<int> groups(static_cast<size_t>(count));
  file.check(nc_inq_grps(group, &count, groups.data()), "groups");
  for (const int inner : groups) {
    char text[NC_MAX_NAME + 1] = {};
    file.check(nc_inq_grpname(inner, text), "a group's name");
    add_group(file, inner, path + text + "/", out);
  }
}

}  // namespace

NetcdfFile::NetcdfFile(const std::string& path) : path_(path) {
  check_classic_header(FileSource(path));
  const int error = nc_open(path.c_str(), NC_NOWRITE, &id_);
  if (error == EIO) throw Error("[netcdf] {}: {}", path, nc_strerror(error));  // the disk, not the file
  if (error)
    throw InputError("[netcdf] {}: expected a NetCDF file, got one that does not open: {}", path, nc_strerror(error));
}

NetcdfFile::~NetcdfFile() { nc_close(id_); }

void NetcdfFile::check(int error, const std::string& what) const {
  if (error == NC_EFILTER || error == NC_ENOFILTER)
    throw InputError(
        "[netcdf] {}: '{}' is compressed by a filter that this NetCDF library lacks (zstandard, blosc and bzip2 are "
        "plugins): install its plugin (HDF5_PLUGIN_PATH), or rewrite the file with zlib where it can be read",
        path_, printable(what));
  if (error) throw InputError("[netcdf] {}: truncated or damaged: {}: {}", path_, printable(what), nc_strerror(error));
}

NetcdfVariable::NetcdfVariable(const NetcdfFile& file, int group, int id, const std::string& group_path)
    : file_(&file), group_(group), id_(id) {
  char text[NC_MAX_NAME + 1] = {};
  int count = 0;
  file.check(nc_inq_varname(group, id, text), "a variable's name");
  base = text, name = group_path + base;
  file.check(nc_inq_varndims(group, id, &count), name);
  std::vector<int> ids(static_cast<size_t>(count));
  file.check(nc_inq_vardimid(group, id, ids.data()), name);
  for (const int d : ids) {
    NetcdfDimension dimension{.id = d};
    file.check(nc_inq_dim(group, d, text, &dimension.size), name);
    dimension.name = text;
    dimensions.push_back(dimension);
  }
  file.check(nc_inq_vartype(group, id, &type_), name);
}

bool NetcdfVariable::has(const NetcdfDimension& d) const {
  return std::any_of(dimensions.begin(), dimensions.end(), [&](const NetcdfDimension& own) { return own.id == d.id; });
}

size_t NetcdfVariable::points() const {
  size_t n = 1;
  for (const NetcdfDimension& d : dimensions)
    if (__builtin_mul_overflow(n, d.size, &n)) return std::numeric_limits<size_t>::max();
  return n;
}

std::string NetcdfVariable::text(const char* attribute) const {
  nc_type type = 0;
  size_t size = 0;
  if (nc_inq_att(group_, id_, attribute, &type, &size)) return {};
  if (type == NC_STRING && size == 1) {
    char* word = nullptr;
    if (nc_get_att_string(group_, id_, attribute, &word) || !word) return {};
    std::string out = word;
    nc_free_string(1, &word);
    return out;
  }
  if (type != NC_CHAR) return {};
  std::string out(size, '\0');
  if (nc_get_att_text(group_, id_, attribute, out.data())) return {};
  return out.substr(0, out.find('\0'));
}

std::vector<double> NetcdfVariable::numbers(const char* attribute) const {
  nc_type type = 0;
  size_t size = 0;
  if (nc_inq_att(group_, id_, attribute, &type, &size) || type == NC_CHAR || type == NC_STRING || size > 64) return {};
  std::vector<double> out(size);
  if (nc_get_att_double(group_, id_, attribute, out.data())) return {};
  return out;
}

double NetcdfVariable::unsigned_range() const {
  if (text("_Unsigned") != "true") return 0;
  return type_ == NC_BYTE ? 0x1p8 : type_ == NC_SHORT ? 0x1p16 : type_ == NC_INT ? 0x1p32 : 0;
}

bool NetcdfVariable::is_real(const char* attribute) const {
  nc_type type = 0;
  return nc_inq_atttype(group_, id_, attribute, &type) == NC_NOERR && (type == NC_FLOAT || type == NC_DOUBLE);
}

double NetcdfVariable::as_stored(double value) const {
  const bool narrow = type_ == NC_FLOAT && std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max());
  return narrow ? static_cast<double>(static_cast<float>(value)) : value;
}

std::pair<double, double> NetcdfVariable::valid_range() const {
  std::vector<double> range = numbers("valid_range");
  if (range.size() != 2) {
    const std::vector<double> low = numbers("valid_min"), high = numbers("valid_max");
    range = {low.empty() ? -std::numeric_limits<double>::infinity() : low[0],
             high.empty() ? std::numeric_limits<double>::infinity() : high[0]};
  }
  return {as_stored(range[0]), as_stored(range[1])};
}

void NetcdfVariable::read(const std::vector<size_t>& start, const std::vector<size_t>& count, double* out) const {
  size_t n = 1;
  for (const size_t c : count) n *= c;
  file_->check(nc_get_vara_double(group_, id_, start.data(), count.data(), out), name);
  std::vector<double> missing = numbers("_FillValue");
  for (const double v : numbers("missing_value")) missing.push_back(v);
  if (const auto v = parse_number<double>(text("missing_value"))) missing.push_back(*v);  // written as text
  // Numbers that were never written. A coordinate has none by the CF conventions: a packed one may well reach the whole
  // number that stands for them.
  if (missing.empty() && !(is_coordinate() && type_ != NC_FLOAT && type_ != NC_DOUBLE)) missing.push_back(fill());
  auto [lowest, highest] = valid_range();
  const double factor = packing("scale_factor", 1), shift = packing("add_offset", 0);
  const double more = unsigned_range();
  const auto whole = [more](double v) { return v < 0 ? v + more : v; };
  for (double& v : missing) v = whole(as_stored(v));
  // A range with fractions for packed whole numbers is one of unpacked values: the NetCDF user's guide.
  const bool unpacked = type_ != NC_FLOAT && type_ != NC_DOUBLE && (factor != 1 || shift != 0) &&
                        (is_real("valid_range") || is_real("valid_min") || is_real("valid_max"));
  if (more > 0 && !unpacked)
    for (double* v : {&lowest, &highest}) *v = std::isfinite(*v) ? whole(*v) : *v;
  for (size_t k = 0; k < n; ++k) {
    const double v = whole(out[k]), value = v * factor + shift;
    // Unpacked values are compared as float32: 1000 x 0.1 is 100.
    const bool valid = unpacked ? static_cast<float>(value) >= static_cast<float>(lowest) &&
                                      static_cast<float>(value) <= static_cast<float>(highest)
                                : v >= lowest && v <= highest;
    out[k] = !valid || std::find(missing.begin(), missing.end(), v) != missing.end() ? kNan : value;
  }
}

double NetcdfVariable::packing(const char* attribute, double default_value) const {
  const std::vector<double> found = numbers(attribute);
  if (found.size() == 1) return found[0];
  if (nc_inq_attid(group_, id_, attribute, nullptr)) return default_value;
  const std::string words = text(attribute);
  throw InputError("[netcdf] {}: expected a number as {} of '{}', got {}", file_->path(), attribute, name,
                   words.empty() ? fmt::format("{} of them", found.size()) : "the text " + in_quotes(words));
}

std::vector<std::string> NetcdfVariable::words() const {
  if (dimensions.size() != 2) return {};
  if (points() > kMostNumbers)
    throw InputError("[netcdf] {}: expected at most {} characters in '{}', got {}", file_->path(), kMostNumbers, name,
                     points());
  std::string all(points(), '\0');
  file_->check(nc_get_var_text(group_, id_, all.data()), name);
  std::vector<std::string> out;
  const size_t length = dimensions[1].size;
  for (size_t k = 0; k < dimensions[0].size; ++k) {
    std::string row = all.substr(k * length, length);
    row = row.substr(0, row.find('\0'));
    while (!row.empty() && row.back() == ' ') row.pop_back();
    out.push_back(row);
  }
  return out;
}

std::vector<double> NetcdfVariable::all() const {
  if (points() > kMostNumbers)
    throw InputError("[netcdf] {}: expected at most {} numbers in '{}', got {}", file_->path(), kMostNumbers, name,
                     points());
  std::vector<double> out(points());
  std::vector<size_t> start(dimensions.size(), 0), count;
  for (const NetcdfDimension& d : dimensions) count.push_back(d.size);
  read(start, count, out.data());
  return out;
}

std::string NetcdfVariable::shape_text() const {
  std::string out = printable(name) + "(";
  for (size_t k = 0; k < dimensions.size(); ++k)
    out += fmt::format("{}{} {}", k ? ", " : "", printable(dimensions[k].name), dimensions[k].size);
  return out + ")";
}

double NetcdfVariable::fill() const {
  switch (type_) {
    case NC_FLOAT: return static_cast<double>(NC_FILL_FLOAT);
    case NC_DOUBLE: return NC_FILL_DOUBLE;
    case NC_SHORT: return NC_FILL_SHORT;
    case NC_INT: return NC_FILL_INT;
    case NC_USHORT: return NC_FILL_USHORT;
    case NC_UINT: return NC_FILL_UINT;
    default: return kNan;
  }
}

std::vector<NetcdfVariable> netcdf_variables(const NetcdfFile& file) {
  std::vector<NetcdfVariable> out;
  add_group(file, file.id(), "", out);
  return out;
}

}  // namespace htfm
