// NetCDF through its C library, with the CF conventions for packing, time and places.
#include <netcdf.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/field/calendar.h"
#include "htfm/field/readers_module.h"
#include "htfm/io/hash.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr size_t kMostPoints = size_t{1} << 30;

class NetcdfFile {
 public:
  explicit NetcdfFile(const std::string& path) : path_(path) {
    if (const int error = nc_open(path.c_str(), NC_NOWRITE, &id_))
      throw InputError("[netcdf] {}: expected a NetCDF file, got one that does not open: {}", path, nc_strerror(error));
  }
  ~NetcdfFile() { nc_close(id_); }
  NetcdfFile(const NetcdfFile&) = delete;
  NetcdfFile& operator=(const NetcdfFile&) = delete;

  int id() const { return id_; }
  const std::string& path() const { return path_; }
  void check(int error, const std::string& what) const {
    if (error)
      throw InputError("[netcdf] {}: truncated or damaged: {}: {}", path_, printable(what), nc_strerror(error));
  }

 private:
  std::string path_;
  int id_ = -1;
};

struct Dimension {
  std::string name;
  size_t size = 0;
};

// A variable with its dimensions and the attributes that matter.
class Variable {
 public:
  Variable(const NetcdfFile& file, int id) : file_(file), id_(id) {
    char text[NC_MAX_NAME + 1] = {};
    int count = 0;
    file.check(nc_inq_varname(file.id(), id, text), "a variable's name");
    name = text;
    file.check(nc_inq_varndims(file.id(), id, &count), name);
    std::vector<int> ids(static_cast<size_t>(count));
    file.check(nc_inq_vardimid(file.id(), id, ids.data()), name);
    for (const int d : ids) {
      Dimension dimension;
      file.check(nc_inq_dim(file.id(), d, text, &dimension.size), name);
      dimension.name = text;
      dimensions.push_back(dimension);
    }
    file.check(nc_inq_vartype(file.id(), id, &type_), name);
  }

  std::string name;
  std::vector<Dimension> dimensions;

  const std::string& file() const { return file_.path(); }
  bool numeric() const { return type_ != NC_CHAR && type_ != NC_STRING && type_ < NC_FIRSTUSERTYPEID; }
  size_t points() const {
    size_t n = 1;
    for (const Dimension& d : dimensions) n *= d.size;
    return n;
  }
  std::string text(const char* attribute) const {
    nc_type type = 0;
    size_t size = 0;
    if (nc_inq_att(file_.id(), id_, attribute, &type, &size) || type != NC_CHAR) return {};
    std::string out(size, '\0');
    if (nc_get_att_text(file_.id(), id_, attribute, out.data())) return {};
    return out.substr(0, out.find('\0'));
  }
  std::vector<double> numbers(const char* attribute) const {
    nc_type type = 0;
    size_t size = 0;
    if (nc_inq_att(file_.id(), id_, attribute, &type, &size) || type == NC_CHAR || size > 64) return {};
    std::vector<double> out(size);
    if (nc_get_att_double(file_.id(), id_, attribute, out.data())) return {};
    return out;
  }
  // Unpacked, missing values as NaN.
  void read(const std::vector<size_t>& start, const std::vector<size_t>& count, double* out) const {
    size_t n = 1;
    for (const size_t c : count) n *= c;
    file_.check(nc_get_vara_double(file_.id(), id_, start.data(), count.data(), out), name);
    std::vector<double> missing = numbers("_FillValue");
    for (const double v : numbers("missing_value")) missing.push_back(v);
    if (missing.empty()) missing.push_back(fill());
    std::vector<double> range = numbers("valid_range");
    if (range.size() != 2) {
      const std::vector<double> low = numbers("valid_min"), high = numbers("valid_max");
      range = {low.empty() ? -std::numeric_limits<double>::infinity() : low[0],
               high.empty() ? std::numeric_limits<double>::infinity() : high[0]};
    }
    const std::vector<double> scale = numbers("scale_factor"), offset = numbers("add_offset");
    const double factor = scale.empty() ? 1 : scale[0], shift = offset.empty() ? 0 : offset[0];
    for (size_t k = 0; k < n; ++k) {
      const bool bad = std::find(missing.begin(), missing.end(), out[k]) != missing.end() ||
                       !(out[k] >= range[0] && out[k] <= range[1]);
      out[k] = bad ? kNan : out[k] * factor + shift;
    }
  }
  std::vector<double> all() const {
    if (points() > kMostPoints)
      throw InputError("[netcdf] {}: expected at most {} numbers in '{}', got {}", file_.path(), kMostPoints, name,
                       points());
    std::vector<double> out(points());
    std::vector<size_t> start(dimensions.size(), 0), count;
    for (const Dimension& d : dimensions) count.push_back(d.size);
    read(start, count, out.data());
    return out;
  }
  std::string shape_text() const {
    std::string out = name + "(";
    for (size_t k = 0; k < dimensions.size(); ++k)
      out += fmt::format("{}{} {}", k ? ", " : "", dimensions[k].name, dimensions[k].size);
    return printable(out + ")");
  }

 private:
  double fill() const {
    switch (type_) {
      case NC_FLOAT: return static_cast<double>(NC_FILL_FLOAT);
      case NC_DOUBLE: return NC_FILL_DOUBLE;
      case NC_SHORT: return NC_FILL_SHORT;
      case NC_INT: return NC_FILL_INT;
      default: return kNan;
    }
  }
  const NetcdfFile& file_;
  int id_;
  nc_type type_ = 0;
};

std::vector<Variable> variables(const NetcdfFile& file) {
  int count = 0;
  file.check(nc_inq_nvars(file.id(), &count), "variables");
  std::vector<Variable> out;
  out.reserve(static_cast<size_t>(count));
  for (int id = 0; id < count; ++id) out.emplace_back(file, id);
  return out;
}

bool is_latitude(const Variable& v) {
  return v.text("standard_name") == "latitude" || v.text("units").starts_with("degrees_north") ||
         v.text("units").starts_with("degree_north");
}
bool is_longitude(const Variable& v) {
  return v.text("standard_name") == "longitude" || v.text("units").starts_with("degrees_east") ||
         v.text("units").starts_with("degree_east");
}
bool is_time(const Variable& v) { return v.text("units").find(" since ") != std::string::npos; }

// CF: "hours since 1900-01-01 00:00:0.0".
std::vector<int64_t> read_times(const NetcdfFile& file, const Variable& v) {
  const std::string units = v.text("units"), calendar = v.text("calendar");
  if (!calendar.empty() && calendar != "standard" && calendar != "gregorian" && calendar != "proleptic_gregorian")
    throw InputError("[netcdf] {}: expected the Gregorian calendar for '{}', got {}", file.path(), v.name,
                     in_quotes(calendar));
  const size_t at = units.find(" since ");
  const std::string unit = units.substr(0, at);
  double step = 0;
  for (const auto& [word, seconds] : {std::pair{"second", 1.0},
                                      {"sec", 1.0},
                                      {"s", 1.0},
                                      {"minute", 60.0},
                                      {"min", 60.0},
                                      {"hour", 3600.0},
                                      {"hr", 3600.0},
                                      {"h", 3600.0},
                                      {"day", 86400.0},
                                      {"d", 86400.0}})
    if (unit == word || unit == std::string(word) + "s") step = seconds;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  const int read =
      std::sscanf(units.c_str() + at + 7, "%d-%d-%d%*[ T]%d:%d:%lf", &year, &month, &day, &hour, &minute, &second);
  if (step == 0 || read < 3 || month < 1 || month > 12 || day < 1 || day > 31)
    throw InputError("[netcdf] {}: expected a time in seconds, minutes, hours or days since a date for '{}', got {}",
                     file.path(), v.name, in_quotes(units));
  const double from = static_cast<double>(seconds_since_1970({year, month, day, hour, minute, 0})) + second;
  std::vector<int64_t> out;
  for (const double t : v.all()) {
    if (std::isnan(t) || std::abs(t) > 1e13)
      throw InputError("[netcdf] {}: expected times in '{}', got a missing one", file.path(), v.name);
    out.push_back(std::llround(from + t * step));
  }
  return out;
}

class NetcdfMessage : public FieldMessage {
 public:
  NetcdfMessage(const Variable& variable, std::vector<size_t> start) : variable_(variable), start_(std::move(start)) {}

  void visit_rows(const Window& window, const RowVisitor& visitor) const override {
    grid->check(window, variable_.file());
    std::vector<size_t> start = start_, count(start_.size(), 1);
    const size_t k = start.size() - 2;
    start[k] = static_cast<size_t>(window.row), start[k + 1] = static_cast<size_t>(window.column);
    count[k] = static_cast<size_t>(window.height), count[k + 1] = static_cast<size_t>(window.width);
    std::vector<double> values(static_cast<size_t>(window.size()));
    variable_.read(start, count, values.data());
    for (int64_t j = 0; j < window.height; ++j) visitor(j, values.data() + j * window.width);
  }

 private:
  const Variable& variable_;
  std::vector<size_t> start_;
};

// The last two dimensions are rows and columns; their places come from coordinate variables.
std::shared_ptr<const Grid> read_grid(const std::vector<Variable>& all, const Variable& field) {
  auto grid = std::make_shared<Grid>();
  const Dimension &rows = field.dimensions[field.dimensions.size() - 2], &columns = field.dimensions.back();
  grid->height = static_cast<int64_t>(rows.size), grid->width = static_cast<int64_t>(columns.size);
  grid->kind = "netcdf";
  for (const Variable& v : all) {
    const bool plain = v.dimensions.size() == 1, full = v.dimensions.size() == 2 && v.dimensions[0].name == rows.name &&
                                                        v.dimensions[1].name == columns.name;
    if (is_latitude(v) && v.numeric() && (full || (plain && v.dimensions[0].name == rows.name)))
      grid->latitude = v.all();
    if (is_longitude(v) && v.numeric() && (full || (plain && v.dimensions[0].name == columns.name)))
      grid->longitude = v.all();
  }
  const auto points = static_cast<size_t>(grid->height * grid->width);
  const bool known = grid->separable() || (grid->latitude.size() == points && grid->longitude.size() == points);
  if (!known) grid->latitude.clear(), grid->longitude.clear();
  if (known && grid->height > 1) grid->south_first = grid->at(0, 0).latitude < grid->at(grid->height - 1, 0).latitude;
  Xxh64 hash;
  hash.update(&grid->height, sizeof grid->height), hash.update(&grid->width, sizeof grid->width);
  hash.update(grid->latitude.data(), grid->latitude.size() * sizeof(double)),
      hash.update(grid->longitude.data(), grid->longitude.size() * sizeof(double));
  grid->key = hash.hex();
  return grid;
}

// The index along a dimension that is neither time nor place.
size_t level_index(const NetcdfFile& file, const std::vector<Variable>& all, const Variable& field, const Dimension& d,
                   const FieldChoice& choice) {
  if (d.size == 1 && !choice.level) return 0;
  std::vector<double> values;
  for (const Variable& v : all)
    if (v.name == d.name && v.dimensions.size() == 1 && v.numeric()) values = v.all();
  if (values.empty())
    throw InputError(
        "[netcdf] {}: expected a variable '{}' that says what this dimension of {} is (a time has units like "
        "'hours since 2019-06-10', a level is chosen by --level), got none",
        file.path(), d.name, field.shape_text());
  std::string listed;
  for (size_t k = 0; k < std::min<size_t>(values.size(), 8); ++k)
    listed += fmt::format("{}{}", k ? ", " : "", values[k]);
  if (!choice.level)
    throw InputError("[netcdf] {}: expected --level for {}, got none ({}: {})", file.path(), field.shape_text(), d.name,
                     listed);
  for (size_t k = 0; k < values.size(); ++k)
    if (values[k] == *choice.level) return k;
  throw InputError("[netcdf] {}: expected {} = {}, got {}", file.path(), d.name, *choice.level, listed);
}

}  // namespace

void visit_netcdf(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor) {
  const NetcdfFile file(path);
  const std::vector<Variable> all = variables(file);
  std::vector<std::string> found;
  const Variable* field = nullptr;
  int matches = 0;
  for (const Variable& v : all) {
    if (v.dimensions.size() < 2 || !v.numeric() || is_latitude(v) || is_longitude(v)) continue;
    found.push_back(v.shape_text());
    if (choice.name.empty() || v.name == choice.name) field = &v, ++matches;
  }
  if (matches == 0)
    throw InputError("[netcdf] {}: expected the variable {}, got {}", path,
                     choice.name.empty() ? "of a field" : in_quotes(choice.name), found_text(found));
  if (matches > 1) throw InputError("[netcdf] {}: expected --variable to choose one, got {}", path, found_text(found));
  if (choice.code || choice.step)
    throw InputError("[netcdf] {}: expected a variable by its name, got {}: codes and steps are GRIB's", path,
                     choice.text());
  const std::shared_ptr<const Grid> grid = read_grid(all, *field);
  std::vector<size_t> start(field->dimensions.size(), 0);
  std::vector<int64_t> times(1, 0);
  size_t time_at = start.size();
  for (size_t k = 0; k + 2 < start.size(); ++k) {
    const Dimension& d = field->dimensions[k];
    const auto clock = std::find_if(all.begin(), all.end(), [&](const Variable& v) {
      return v.dimensions.size() == 1 && v.dimensions[0].name == d.name && v.numeric() && is_time(v);
    });
    if (clock == all.end()) {
      start[k] = level_index(file, all, *field, d, choice);
    } else if (time_at < start.size()) {
      throw InputError("[netcdf] {}: expected one dimension of time, got {}", path, field->shape_text());
    } else {
      time_at = k, times = read_times(file, *clock);
    }
  }
  if (time_at == start.size())  // a time without a dimension
    for (const Variable& v : all)
      if (v.points() == 1 && v.numeric() && is_time(v)) times = read_times(file, v);
  if (times.empty()) throw InputError("[netcdf] {}: expected fields in {}, got none", path, field->shape_text());
  for (size_t t = 0; t < times.size(); ++t) {
    if (time_at < start.size()) start[time_at] = t;
    NetcdfMessage message(*field, start);
    message.name = field->name, message.units = field->text("units");
    message.text = field->shape_text();
    message.time = times[t], message.grid = grid;
    visitor(message);
  }
}

}  // namespace htfm
