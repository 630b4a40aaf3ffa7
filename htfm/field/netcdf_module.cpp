// Fields out of NetCDF by the CF conventions: which dimension is what, in any order.
#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/field/netcdf_file_module.h"
#include "htfm/field/netcdf_place_module.h"
#include "htfm/field/netcdf_time_module.h"
#include "htfm/field/readers_module.h"
#include "htfm/io/hash.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

bool one_of(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return text == w; });
}

bool is_step_name(const std::string& name) {
  return one_of(name, {"step", "lead_time", "leadtime", "lead", "prediction_timedelta", "forecast_period"});
}
// A time of the analysis and not of validity.
bool is_reference_time(const NetcdfVariable& v) { return v.text("standard_name") == "forecast_reference_time"; }

// A dimension that counts fields, where it has no dates.
bool is_counter_name(const std::string& name) {
  return one_of(lower_case(name), {"time", "times", "t", "record", "records", "field", "fields", "frame", "frames",
                                   "case", "cases", "event", "events"});
}

enum class Role { row, column, time, counter, member, step, level };

class NetcdfFields {
 public:
  NetcdfFields(const NetcdfFile& file, const FieldChoice& choice)
      : file_(file), choice_(choice), all_(netcdf_variables(file)) {}

  void visit(const FieldVisitor& visitor) const {
    const std::string wanted = choice_.name.starts_with("/") ? choice_.name.substr(1) : choice_.name;  // as h5py has it
    std::vector<std::string> found;
    std::vector<const NetcdfVariable*> fields;
    for (const NetcdfVariable& v : all_) {
      const bool named = v.name == wanted || v.base == wanted;
      if (!is_field(v) || (!named && is_coordinate(v))) continue;
      found.push_back(v.shape_text());
      if (wanted.empty() || named) fields.push_back(&v);
    }
    // The variable of that very name goes before those of the same name in groups.
    const auto exact =
        std::find_if(fields.begin(), fields.end(), [&](const NetcdfVariable* v) { return v->name == wanted; });
    if (exact != fields.end()) fields = {*exact};
    if (found.empty())
      throw InputError("[netcdf] {}: expected a variable of numbers along rows and columns, got {}", file_.path(),
                       others_text());
    if (fields.empty())
      throw InputError("[netcdf] {}: expected the variable {}, got {}", file_.path(), in_quotes(choice_.name),
                       found_text(found));
    if (fields.size() > 1 && !choice_.everything)
      throw InputError("[netcdf] {}: expected --variable to choose one, got {}", file_.path(), found_text(found));
    if (choice_.code || !choice_.step_type.empty())
      throw InputError("[netcdf] {}: expected a variable by its name, got {}: codes and types of steps are GRIB's",
                       file_.path(), choice_.text());
    if (!choice_.everything)
      visit(*fields[0], visitor);
    else
      list(fields, visitor);
  }

 private:
  // What the file holds where nothing in it can be a field.
  std::string others_text() const {
    std::vector<std::string> others;
    for (const NetcdfVariable& v : all_)
      if (!v.dimensions.empty()) others.push_back(v.shape_text());
    return found_text(others);
  }

  struct Roles {
    std::vector<Role> of;  // of each dimension
    size_t row = 0, column = 0;
    size_t list = 0;  // the dimension along which points are a list and not rows and columns, or how many there are
  };

  const NetcdfVariable* along(const NetcdfDimension& d, const std::function<bool(const NetcdfVariable&)>& holds) const {
    for (const NetcdfVariable& v : all_)
      if (v.along(d) && holds(v)) return &v;
    return nullptr;
  }
  // The coordinate of a dimension: the variable of its name.
  const NetcdfVariable* coordinate(const NetcdfDimension& d) const {
    return along(d, [&](const NetcdfVariable& v) { return v.base == d.name; });
  }
  // The times of a dimension: those of validity before others, then the coordinate itself.
  const NetcdfVariable* clock(const NetcdfDimension& d) const {
    const auto timely = [](const NetcdfVariable& v) { return v.numeric() && is_netcdf_time(v); };
    if (const auto* v = along(d, [&](const auto& x) { return timely(x) && x.text("standard_name") == "time"; }))
      return v;
    if (const auto* v = along(d, [&](const auto& x) { return timely(x) && x.base == d.name; })) return v;
    if (const auto* v = along(d, timely)) return v;
    for (const NetcdfVariable& v : all_)  // WRF's
      if (v.base == "Times" && v.characters() && v.dimensions.size() == 2 && v.dimensions[0].id == d.id) return &v;
    return nullptr;
  }

  // Two dimensions, numbers, and neither places nor bounds.
  bool is_field(const NetcdfVariable& v) const {
    if (v.dimensions.size() < 2 || !v.numeric() || is_netcdf_latitude(v) || is_netcdf_longitude(v) || is_netcdf_time(v))
      return false;
    return std::none_of(all_.begin(), all_.end(), [&](const NetcdfVariable& other) {
      return other.text("bounds") == v.base || other.text("climatology") == v.base;
    });
  }
  // A coordinate of others, such as the height of the ground: a field only for who asks for it by name.
  bool is_coordinate(const NetcdfVariable& v) const {
    return std::any_of(all_.begin(), all_.end(),
                       [&](const NetcdfVariable& other) { return is_listed(v, other.text("coordinates")); });
  }

  Roles roles(const NetcdfVariable& field) const {
    const size_t n = field.dimensions.size();
    Roles out{.of = std::vector<Role>(n, Role::level), .row = n, .column = n, .list = n};
    for (size_t k = 0; k < n; ++k) {
      const NetcdfDimension& d = field.dimensions[k];
      const NetcdfVariable* own = coordinate(d);
      const std::string standard = own ? own->text("standard_name") : "", axis = own ? own->text("axis") : "";
      if (clock(d))
        out.of[k] = Role::time;
      else if (standard == "realization" || axis == "E" ||
               one_of(d.name, {"member", "members", "mem", "number", "realization", "realisation", "ensemble", "ens",
                               "ens_member", "ensemble_member", "sample"}))
        out.of[k] = Role::member;
      else if (standard == "forecast_period" || is_step_name(d.name))
        out.of[k] = Role::step;
      else if (n > 2 && is_counter_name(d.name) && (!own || own->numeric()))
        out.of[k] = Role::counter;
    }
    // Rows and columns: by latitude and longitude, by the axes' names, by places in two dimensions, or the last two.
    const auto find = [&](const std::function<bool(const NetcdfDimension&)>& holds) {
      for (size_t k = 0; k < n; ++k)
        if (out.of[k] == Role::level && holds(field.dimensions[k])) return k;
      return n;
    };
    const auto settle = [&](size_t row, size_t column) {
      if (out.row < n || row == n || column == n || row == column) return;
      out.row = row, out.column = column;
    };
    settle(find([&](const auto& d) { return along(d, is_netcdf_latitude) != nullptr; }),
           find([&](const auto& d) { return along(d, is_netcdf_longitude) != nullptr; }));
    const auto axis_of = [&](const NetcdfDimension& d, const char* axis, const char* standard) {
      const NetcdfVariable* own = coordinate(d);
      return own && (own->text("axis") == axis || own->text("standard_name") == standard);
    };
    settle(find([&](const auto& d) {
             return axis_of(d, "Y", "projection_y_coordinate") || is_latitude_name(d.name) ||
                    one_of(d.name, {"y", "Y", "rlat", "south_north"});
           }),
           find([&](const auto& d) {
             return axis_of(d, "X", "projection_x_coordinate") || is_longitude_name(d.name) ||
                    one_of(d.name, {"x", "X", "rlon", "west_east"});
           }));
    for (const NetcdfVariable& v : all_)
      if (is_netcdf_latitude(v) && v.dimensions.size() == 2)
        settle(find([&](const auto& d) { return d.id == v.dimensions[0].id; }),
               find([&](const auto& d) { return d.id == v.dimensions[1].id; }));
    if (out.row == n) out.list = find([&](const auto& d) { return is_list_of_points(field, d, all_); });
    if (out.row == n && out.list == n && n >= 2 && out.of[n - 1] == Role::level && out.of[n - 2] == Role::level)
      settle(n - 2, n - 1);
    if (out.row < n) out.of[out.row] = Role::row, out.of[out.column] = Role::column;
    return out;
  }

  // A grid that has points, and no more than can be read.
  void check_size(const NetcdfVariable& field, const Roles& roles) const {
    constexpr size_t kMostFieldPoints = size_t{1} << 30;
    for (const NetcdfDimension& d : field.dimensions)
      if (d.size == 0)
        throw InputError("[netcdf] {}: expected fields in {}, got none: '{}' has length 0", file_.path(),
                         field.shape_text(), d.name);
    size_t n = 0;
    if (__builtin_mul_overflow(field.dimensions[roles.row].size, field.dimensions[roles.column].size, &n) ||
        n > kMostFieldPoints)
      throw InputError("[netcdf] {}: expected fields of at most {} points, got {}", file_.path(), kMostFieldPoints,
                       field.shape_text());
  }

  // Places that are written again for every time, as WRF does: those of the first, where the last are the same.
  static std::vector<double> at_one_time(const NetcdfVariable& v, const NetcdfDimension& rows,
                                         const NetcdfDimension& columns) {
    std::vector<size_t> first(v.dimensions.size(), 0), last = first, count = first;
    size_t points = 1;
    for (size_t k = 0; k < count.size(); ++k) {
      const NetcdfDimension& d = v.dimensions[k];
      const bool own = d.id == rows.id || d.id == columns.id;
      if (d.size == 0) return {};
      count[k] = own ? d.size : 1, last[k] = own ? 0 : d.size - 1;
      points *= count[k];
    }
    if (points != rows.size * columns.size) return {};  // a field over one dimension twice
    std::vector<double> out(points), end(points);
    v.read(first, count, out.data());
    if (last == first) return out;
    v.read(last, count, end.data());
    return out == end ? out : std::vector<double>();
  }

  // Of the rows or of the columns: all of them, or none where the file has only fill values.
  static std::vector<double> places_along(const NetcdfVariable& v) {
    std::vector<double> out = v.all();
    const auto known = [](double x) { return std::isfinite(x); };
    const auto missing = std::find_if_not(out.begin(), out.end(), known);
    if (missing != out.end() && std::any_of(out.begin(), out.end(), known))
      throw InputError(
          "[netcdf] {}: expected a number for each place along '{}', got a missing one (_FillValue, missing_value or "
          "outside the valid range) at {} of {}: CF allows none in a coordinate (in Python .dropna('{}'))",
          v.file(), v.name, missing - out.begin() + 1, out.size(), v.dimensions[0].name);
    return out;
  }

  std::shared_ptr<const Grid> read_grid(const NetcdfVariable& field, const Roles& roles) const {
    auto grid = std::make_shared<Grid>();
    const NetcdfDimension &rows = field.dimensions[roles.row], &columns = field.dimensions[roles.column];
    grid->height = static_cast<int64_t>(rows.size), grid->width = static_cast<int64_t>(columns.size);
    grid->kind = "netcdf";
    const std::string listed = field.text("coordinates");
    const auto in_degrees = [](const NetcdfVariable& v, std::vector<double> values) {
      for (double& x : values) x *= degrees_factor(v);
      return values;
    };
    // Of every point; those that the field itself lists go first, since a staggered grid has several on its dimensions.
    const auto of_points = [&](bool (*kind)(const NetcdfVariable&), bool own) -> std::vector<double> {
      for (const NetcdfVariable& v : all_) {
        if (!kind(v) || !v.numeric() || !v.has(rows) || !v.has(columns) || is_listed(v, listed) != own) continue;
        std::vector<double> values = at_one_time(v, rows, columns);
        if (values.empty()) continue;
        values = in_degrees(v, std::move(values));
        const auto at = [&](const NetcdfDimension& d) {
          size_t k = 0;
          while (v.dimensions[k].id != d.id) ++k;
          return k;
        };
        if (at(rows) <= at(columns)) return values;
        std::vector<double> turned(values.size());
        for (size_t j = 0; j < rows.size; ++j)
          for (size_t i = 0; i < columns.size; ++i) turned[j * columns.size + i] = values[i * rows.size + j];
        return turned;
      }
      return {};
    };
    const auto places = [&](bool (*kind)(const NetcdfVariable&), const NetcdfDimension& own) -> std::vector<double> {
      if (std::vector<double> values = of_points(kind, true); !values.empty()) return values;
      for (const bool is_own : {true, false})
        if (const auto* v = along(own, [&](const auto& x) { return kind(x) && is_listed(x, listed) == is_own; }))
          return in_degrees(*v, places_along(*v));
      return of_points(kind, false);
    };
    grid->latitude = places(is_netcdf_latitude, rows), grid->longitude = places(is_netcdf_longitude, columns);
    const auto points = static_cast<size_t>(grid->height * grid->width);
    const bool fits = grid->separable() || (grid->latitude.size() == points && grid->longitude.size() == points);
    const auto unsaid = [](const std::vector<double>& side) {  // only fill values
      return std::none_of(side.begin(), side.end(), [](double x) { return std::isfinite(x); });
    };
    const bool known = fits && !unsaid(grid->latitude) && !unsaid(grid->longitude);
    if (!known) grid->latitude.clear(), grid->longitude.clear();
    if (known && grid->height > 1) grid->south_first = grid->at(0, 0).latitude < grid->at(grid->height - 1, 0).latitude;
    Xxh64 hash;
    hash.update(&grid->height, sizeof grid->height), hash.update(&grid->width, sizeof grid->width);
    for (const std::vector<double>* side : {&grid->latitude, &grid->longitude}) {
      const std::vector<float> rounded(side->begin(), side->end());  // one program writes float32, another double
      hash.update(rounded.data(), rounded.size() * sizeof(float));
    }
    grid->key = hash.hex();
    return grid;
  }

  // Of several dimensions that are neither time nor place the one that --level means; none where there is only one.
  const NetcdfDimension* vertical(const NetcdfVariable& field, const Roles& roles) const {
    const NetcdfDimension *first = nullptr, *up = nullptr;
    size_t count = 0;
    for (size_t k = 0; k < field.dimensions.size(); ++k) {
      const NetcdfDimension& d = field.dimensions[k];
      if (roles.of[k] != Role::level || d.size < 2) continue;
      if (++count == 1) first = &d;
      const NetcdfVariable* own = coordinate(d);
      const std::string units = own ? own->text("units") : "";
      const bool is_up = (own && (own->text("axis") == "Z" || !own->text("positive").empty())) ||
                         one_of(units, {"Pa", "hPa", "mbar", "mb", "millibar", "millibars", "m", "km"}) ||
                         one_of(d.name, {"level", "lev", "plev", "pressure", "pressure_level", "isobaricInhPa",
                                         "height", "altitude", "depth", "bottom_top", "z"});
      if (is_up && !up) up = &d;
    }
    return count < 2 ? nullptr : up ? up : first;
  }

  // Whether there is a dimension to choose along.
  static bool has_levels(const NetcdfVariable& field, const Roles& roles) {
    for (size_t k = 0; k < field.dimensions.size(); ++k)
      if (roles.of[k] == Role::level && field.dimensions[k].size > 1) return true;
    return false;
  }

  // The places along a dimension that is neither time nor place, of which one is chosen.
  std::vector<size_t> level_indices(const NetcdfVariable& field, const Roles& roles, const NetcdfDimension& d) const {
    if (choice_.everything) {
      std::vector<size_t> every(d.size);
      for (size_t k = 0; k < d.size; ++k) every[k] = k;
      return every;
    }
    if (d.size == 1 && (!choice_.level || has_levels(field, roles))) return {0};
    const NetcdfVariable* own = coordinate(d);
    if (const NetcdfDimension* height = vertical(field, roles); d.size > 1 && height && height->id != d.id)
      throw InputError(
          "[netcdf] {}: expected one dimension besides time, rows and columns, of which --level chooses, got '{}' too "
          "in {}: select one of its values first (ncks -d {},0; in Python .isel({}=0))",
          file_.path(), d.name, field.shape_text(), d.name, d.name);
    const bool counted = !own || !own->numeric();  // WRF's bottom_top: levels without values are numbered from 0
    if (counted && !choice_.level)
      throw InputError(
          "[netcdf] {}: expected a variable '{}' that says what this dimension of {} is (a time has units like "
          "'hours since 2019-06-10', a level is chosen by --level, fields without dates lie along 'time' or 'field'), "
          "got none; --level 0 chooses the first of {}",
          file_.path(), d.name, field.shape_text(), d.size);
    std::vector<double> values(counted ? d.size : 0);
    std::iota(values.begin(), values.end(), 0.0);
    if (!counted) values = own->all();
    std::string listed;
    for (size_t k = 0; k < std::min<size_t>(values.size(), 8); ++k)
      listed += fmt::format("{}{}", k ? ", " : "", values[k]);
    if (values.size() > 8) listed += fmt::format(", ... {} ({} values)", values.back(), values.size());
    if (!choice_.level)
      throw InputError("[netcdf] {}: expected --level for {}, got none ({}: {})", file_.path(), field.shape_text(),
                       d.name, listed);
    for (size_t k = 0; k < values.size(); ++k)
      if (std::abs(values[k] - *choice_.level) <= 1e-6 * std::abs(*choice_.level)) return {k};
    throw InputError("[netcdf] {}: expected {} = {}, got {}", file_.path(), d.name, *choice_.level, listed);
  }

  // Steps that are no dimension: one of all fields, or one of each time.
  struct StepsBeside {
    std::vector<int64_t> spans = {};
    size_t along = 0;  // the field's dimension of time, or how many it has: of all fields
  };
  StepsBeside steps_beside(const NetcdfVariable& field, const Roles& roles) const {
    const size_t n = field.dimensions.size();
    for (const NetcdfVariable& v : all_) {
      if (!v.numeric() || !is_netcdf_span(v)) continue;
      if (v.text("standard_name") != "forecast_period" && !is_step_name(v.base)) continue;
      for (size_t k = 0; k < n; ++k)
        if (roles.of[k] == Role::time && v.along(field.dimensions[k])) return {read_netcdf_spans(v), k};
      if (v.points() == 1) return {read_netcdf_spans(v), n};
    }
    return {.along = n};
  }

  // Of a field without a date: its place along what counts fields, or among the members where nothing else does.
  static int64_t number_of(const NetcdfVariable& field, const Roles& roles, const std::vector<size_t>& at) {
    const auto along = [&](std::initializer_list<Role> those) {
      size_t size = 1, number = 0;
      for (size_t k = 0; k < at.size(); ++k)
        if (std::find(those.begin(), those.end(), roles.of[k]) != those.end())
          number = number * field.dimensions[k].size + at[k], size *= field.dimensions[k].size;
      return std::pair{size, static_cast<int64_t>(number)};
    };
    const auto [size, number] = along({Role::counter, Role::step});
    return size > 1 ? number : along({Role::member}).second;
  }

  void visit(const NetcdfVariable& field, const FieldVisitor& visitor) const;
  void list(const std::vector<const NetcdfVariable*>& fields, const FieldVisitor& visitor) const;

  const NetcdfFile& file_;
  const FieldChoice& choice_;
  std::vector<NetcdfVariable> all_;
};

class NetcdfMessage : public FieldMessage {
 public:
  NetcdfMessage(const NetcdfVariable& variable, std::vector<size_t> start, size_t row, size_t column)
      : variable_(variable), start_(std::move(start)), row_(row), column_(column) {}

  void visit_rows(const Window& window, const RowVisitor& visitor) const override {
    if (!problem.empty())
      throw InputError("[netcdf] {}: expected a field on a grid, got {}", variable_.file(), problem);
    grid->check(window, variable_.file());
    std::vector<size_t> start = start_, count(start_.size(), 1);
    start[row_] = static_cast<size_t>(window.row), start[column_] = static_cast<size_t>(window.column);
    count[row_] = static_cast<size_t>(window.height), count[column_] = static_cast<size_t>(window.width);
    std::vector<double> values(static_cast<size_t>(window.size())), turned;
    variable_.read(start, count, values.data());
    for (int64_t j = 0; j < window.height; ++j) {
      if (row_ < column_) {
        visitor(j, values.data() + j * window.width);
        continue;
      }
      turned.resize(static_cast<size_t>(window.width));
      for (int64_t i = 0; i < window.width; ++i)
        turned[static_cast<size_t>(i)] = values[static_cast<size_t>(i * window.height + j)];
      visitor(j, turned.data());
    }
  }

 private:
  const NetcdfVariable& variable_;
  std::vector<size_t> start_;
  size_t row_, column_;
};

// All of them: one that cannot be read, because of its times for instance, does not hide the others.
void NetcdfFields::list(const std::vector<const NetcdfVariable*>& fields, const FieldVisitor& visitor) const {
  std::vector<std::pair<const NetcdfVariable*, std::string>> unread;
  for (const NetcdfVariable* v : fields) {
    bool begun = false;
    try {
      visit(*v, [&](const FieldMessage& m) {
        begun = true;
        visitor(m);
      });
    } catch (const InputError& e) {
      if (begun) throw;
      unread.emplace_back(v, e.what());
    }
  }
  if (unread.size() == fields.size()) throw InputError("{}", unread[0].second);
  const std::string here = fmt::format("[netcdf] {}: ", file_.path());
  for (const auto& [v, reason] : unread) {
    NetcdfMessage message(*v, {}, 0, 0);
    message.name = v->name, message.units = v->text("units"), message.text = v->shape_text();
    message.title = v->text("long_name");
    message.problem = reason.starts_with(here) ? reason.substr(here.size()) : reason;
    visitor(message);
  }
}

void NetcdfFields::visit(const NetcdfVariable& field, const FieldVisitor& visitor) const {
  const Roles roles = this->roles(field);
  const size_t n = field.dimensions.size();
  std::string problem;
  if (roles.list < n) {
    problem = fmt::format(
        "points along '{}', without rows and columns: put it on a regular grid first, with cdo "
        "remapnn for instance",
        printable(field.dimensions[roles.list].name));
    if (!choice_.everything)
      throw InputError("[netcdf] {}: expected a field on a grid, got {} of {}", file_.path(), field.shape_text(),
                       problem);
  } else if (roles.row == n) {
    problem = fmt::format("{}, whose rows and columns are not to be found", field.shape_text());
    if (!choice_.everything)
      throw InputError(
          "[netcdf] {}: expected a field with latitudes and longitudes, axes Y and X, or rows and columns last, got {}",
          file_.path(), problem);
  }
  if (problem.empty()) check_size(field, roles);
  const std::shared_ptr<const Grid> grid = problem.empty() ? read_grid(field, roles) : nullptr;
  NetcdfTimes times;
  std::vector<int64_t> spans, members;
  std::vector<std::vector<size_t>> index(n, {0});  // the places along each dimension that are visited
  std::vector<std::vector<double>> levels(n);
  bool stepped = false, of_analysis = false, counted = false;
  for (size_t k = 0; k < n; ++k) {
    const NetcdfDimension& d = field.dimensions[k];
    const auto every = [&] {
      index[k].resize(d.size);
      for (size_t i = 0; i < d.size; ++i) index[k][i] = i;
    };
    const NetcdfVariable* own = coordinate(d);
    switch (roles.of[k]) {
      case Role::time:
        if (!times.seconds.empty())
          throw InputError("[netcdf] {}: expected one dimension of time, got {}", file_.path(), field.shape_text());
        times = read_netcdf_times(*clock(d)), of_analysis = is_reference_time(*clock(d));
        every();
        break;
      case Role::member:
        for (size_t i = 0; i < d.size; ++i) members.push_back(static_cast<int64_t>(i));
        if (own && own->numeric()) {
          const std::vector<double> numbers = own->all();
          for (size_t i = 0; i < d.size; ++i)
            if (std::isfinite(numbers[i])) members[i] = std::llround(numbers[i]);
        }
        every();
        if (choice_.member) std::erase_if(index[k], [&](size_t i) { return members[i] != *choice_.member; });
        if (index[k].empty())
          throw InputError("[netcdf] {}: expected member {} in {}, got members from {} to {}", file_.path(),
                           *choice_.member, field.shape_text(), members.front(), members.back());
        break;
      case Role::step:
        stepped = true;
        if (own && own->numeric())
          spans = read_netcdf_spans(*own);
        else
          throw InputError("[netcdf] {}: expected a variable '{}' with the steps of {}, got none", file_.path(), d.name,
                           field.shape_text());
        every();
        if (choice_.step) std::erase_if(index[k], [&](size_t i) { return spans[i] != *choice_.step * 3600; });
        if (index[k].empty())
          throw InputError("[netcdf] {}: expected step {} in {}, got steps from {} to {} hours", file_.path(),
                           *choice_.step, field.shape_text(), spans.front() / 3600, spans.back() / 3600);
        break;
      case Role::counter:
        every();
        counted = counted || d.size > 1;
        break;
      case Role::level:
        if (!problem.empty()) break;  // listed once, not for each of its points
        index[k] = level_indices(field, roles, d);
        if (own && own->numeric()) levels[k] = own->all();
        break;
      default: break;
    }
  }
  if (choice_.member && members.empty())
    throw InputError("[netcdf] {}: expected a dimension of members for --member, got {}", file_.path(),
                     field.shape_text());
  if (times.seconds.empty() && !counted)  // a time of all fields: that of validity before others, the analysis' last
    for (int best = -1; const NetcdfVariable& v : all_) {
      if (v.points() != 1 || !v.numeric() || !is_netcdf_time(v)) continue;
      const int rank = v.text("standard_name") == "time" ? 2 : is_reference_time(v) ? 0 : 1;
      if (rank > best) times = read_netcdf_times(v), best = rank, of_analysis = rank == 0;
    }
  const StepsBeside beside =
      stepped || !(choice_.step || of_analysis) ? StepsBeside{.along = n} : steps_beside(field, roles);
  if (choice_.step && !stepped) {
    if (beside.spans.empty())
      throw InputError("[netcdf] {}: expected a dimension of steps for --step, got {}", file_.path(),
                       field.shape_text());
    const auto is_other = [&](size_t i) { return beside.spans[i] != *choice_.step * 3600; };
    if (beside.along < n) std::erase_if(index[beside.along], is_other);
    if (beside.along < n ? index[beside.along].empty() : is_other(0))
      throw InputError("[netcdf] {}: expected step {} in {}, got steps from {} to {} hours", file_.path(),
                       *choice_.step, field.shape_text(), static_cast<double>(beside.spans.front()) / 3600,
                       static_cast<double>(beside.spans.back()) / 3600);
  }
  if (field.points() == 0)
    throw InputError("[netcdf] {}: expected fields in {}, got none", file_.path(), field.shape_text());
  // Every combination, the last dimension fastest.
  std::vector<size_t> at(n, 0), start(n, 0);
  for (bool more = true; more;) {
    for (size_t k = 0; k < n; ++k) start[k] = index[k][at[k]];
    NetcdfMessage message(field, start, roles.row, roles.column);
    message.name = field.name, message.units = field.text("units"), message.text = field.shape_text();
    message.title = field.text("long_name"), message.grid = grid, message.problem = problem;
    message.calendar = times.calendar, message.dated = !times.seconds.empty();
    if (times.seconds.size() == 1) message.time = times.seconds[0];
    for (size_t k = 0; k < n; ++k) {
      const size_t own = start[k];
      switch (roles.of[k]) {
        case Role::time: message.time = times.seconds[own]; break;
        case Role::member: message.member = members[own]; break;
        case Role::level:
          if (!problem.empty()) break;
          message.level +=
              fmt::format("{}{} {}", message.level.empty() ? "" : ", ", printable(field.dimensions[k].name),
                          levels[k].empty() ? static_cast<double>(own) : levels[k][own]);
          break;
        default: break;
      }
    }
    for (size_t k = 0; k < n; ++k)
      if (roles.of[k] == Role::step)
        message.time += spans[start[k]], message.step = fmt::format("{}", static_cast<double>(spans[start[k]]) / 3600);
    if (!beside.spans.empty()) {
      const int64_t span = beside.spans[beside.along < n ? start[beside.along] : 0];
      if (of_analysis) message.time += span;
      if (beside.along == n) message.step = fmt::format("{}", static_cast<double>(span) / 3600);
    }
    if (!message.dated) message.time = number_of(field, roles, start);
    visitor(message);
    more = false;
    for (size_t k = n; k-- > 0 && !more;) {
      if (roles.of[k] == Role::row || roles.of[k] == Role::column) continue;
      more = ++at[k] < index[k].size();
      if (!more) at[k] = 0;
    }
  }
}

}  // namespace

void visit_netcdf(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor) {
  const std::lock_guard lock(netcdf_mutex());
  const NetcdfFile file(path);
  NetcdfFields(file, choice).visit(visitor);
}

}  // namespace htfm
