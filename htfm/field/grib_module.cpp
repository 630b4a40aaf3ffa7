// GRIB editions 1 and 2 through ecCodes.
#include <eccodes.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <limits>
#include <mutex>
#include <numbers>

#include "htfm/base/error.h"
#include "htfm/field/calendar.h"
#include "htfm/field/grib_png_module.h"
#include "htfm/field/grib_scan_module.h"
#include "htfm/field/readers_module.h"
#include "htfm/io/descriptor.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr int64_t kMostPoints = int64_t{1} << 28;
constexpr double kMissing = -0x1p100;

// What ecCodes would print is kept for the message: the library never prints.
thread_local std::string last_words, current_file;

void keep_words(const grib_context*, int, const char* text) { last_words = text; }

// ecCodes ends the process where a damaged message breaks what it takes for granted.
void refuse(const char* text) { throw InputError("[grib] {}: damaged: {}", current_file, printable(text)); }

void set_up(const std::string& path) {
  current_file = path;
  static std::once_flag once;
  std::call_once(once, [] {
    codes_context* context = codes_context_get_default();
    codes_context_set_logging_proc(context, keep_words);
    codes_set_codes_assertion_failed_proc(refuse);
  });
  last_words.clear();
}

std::string reason(int error) {
  std::string text = codes_get_error_message(error);
  if (!last_words.empty()) text += fmt::format(" ({})", last_words);
  return printable(text);
}

class GribHandle {
 public:
  GribHandle(codes_handle* handle, std::string where) : handle_(handle), where_(std::move(where)) {}
  ~GribHandle() { codes_handle_delete(handle_); }
  GribHandle(const GribHandle&) = delete;
  GribHandle& operator=(const GribHandle&) = delete;

  codes_handle* get() const { return handle_; }
  const std::string& where() const { return where_; }
  void check(int error, const char* what) const {
    if (error) throw InputError("[grib] {}: expected {}, got: {}", where_, what, reason(error));
  }
  int64_t whole(const char* key) const {
    long v = 0;
    check(codes_get_long(handle_, key, &v), key);
    return v;
  }
  int64_t whole_or(const char* key, int64_t default_value) const {
    long v = 0;
    return codes_get_long(handle_, key, &v) ? default_value : v;
  }
  double number_or(const char* key, double default_value) const {
    double v = 0;
    return codes_get_double(handle_, key, &v) ? default_value : v;
  }
  double number(const char* key) const {
    double v = 0;
    check(codes_get_double(handle_, key, &v), key);
    return v;
  }
  std::string words(const char* key) const {
    char text[256] = {};
    size_t size = sizeof text;
    return codes_get_string(handle_, key, text, &size) ? std::string() : std::string(text);
  }

 private:
  codes_handle* handle_;
  std::string where_;
};

double power(double base, int64_t exponent) {  // step by step, as ecCodes does: the last bit counts
  double v = 1;
  for (; exponent < 0; ++exponent) v /= base;
  for (; exponent > 0; --exponent) v *= base;
  return v;
}

// Where the value of a row and column, from west to east, stands in a message.
struct ScanOrder {
  int64_t height = 0, width = 0;
  bool west_to_east = true, columns_first = false, alternate = false;

  ScanOrder(const GribHandle& h, const Grid& grid)
      : height(grid.height),
        width(grid.width),
        west_to_east(h.whole_or("iScansNegatively", 0) == 0),
        columns_first(h.whole_or("jPointsAreConsecutive", 0) != 0),
        alternate(h.whole_or("alternativeRowScanning", 0) != 0) {}
  bool plain() const { return west_to_east && !columns_first && !alternate; }
  int64_t at(int64_t j, int64_t i) const {
    if (!west_to_east) i = width - 1 - i;
    if (columns_first) return i * height + (alternate && i % 2 ? height - 1 - j : j);
    return j * width + (alternate && j % 2 ? width - 1 - i : i);
  }
};

bool is_reduced(const GribHandle& h) { return h.words("gridType").starts_with("reduced_"); }

std::vector<int64_t> points_of_rows(const GribHandle& h) {
  size_t size = 0;
  h.check(codes_get_size(h.get(), "pl", &size), "the numbers of points of the rows");
  std::vector<long> rows(std::min<size_t>(size, size_t{1} << 20));
  h.check(codes_get_long_array(h.get(), "pl", rows.data(), &size), "the numbers of points of the rows");
  return {rows.begin(), rows.end()};
}

class GribMessage : public FieldMessage {
 public:
  GribMessage(const GribHandle& handle, std::unique_lock<std::mutex>& lock) : handle_(handle), lock_(lock) {}

  void visit_rows(const Window& window, const RowVisitor& visitor) const override {
    if (!problem.empty()) throw InputError("[grib] {}: expected a field on a grid, got {}", handle_.where(), problem);
    grid->check(window, handle_.where());
    if (is_reduced(handle_))
      visit_reduced(window, visitor);
    else if (!visit_png(window, visitor))
      visit_eccodes(window, visitor);
  }

 private:
  bool visit_png(const Window& window, const RowVisitor& visitor) const {
    if (handle_.words("packingType") != "grid_png" || handle_.whole("bitmapPresent") != 0) return false;
    if (!ScanOrder(handle_, *grid).plain()) return false;
    const int64_t begin = handle_.whole("offsetSection7"), length = handle_.whole("section7Length"),
                  bits = handle_.whole("bitsPerValue");
    const void* message = nullptr;
    size_t size = 0;
    handle_.check(codes_get_message(handle_.get(), &message, &size), "a message");
    if (begin < 0 || length < 5 || static_cast<uint64_t>(begin + length) > size) return false;
    const std::string_view image(static_cast<const char*>(message) + begin + 5, static_cast<size_t>(length - 5));
    if (!readable_png(image, grid->height, grid->width, bits)) return false;
    const PackedScale scale{handle_.number("referenceValue"), power(2, handle_.whole("binaryScaleFactor")),
                            power(10, -handle_.whole("decimalScaleFactor"))};
    struct Unlocked {
      std::unique_lock<std::mutex>& lock;
      explicit Unlocked(std::unique_lock<std::mutex>& l) : lock(l) { lock.unlock(); }
      ~Unlocked() { lock.lock(); }
    } const unlocked(lock_);
    visit_packed_png(image, scale, window, visitor, "[grib] " + handle_.where());
    return true;
  }

  std::vector<double> values(size_t expected) const {
    size_t size = 0;
    handle_.check(codes_get_size(handle_.get(), "values", &size), "values");
    if (size != expected)
      throw InputError("[grib] {}: expected {} values on {}, got {}", handle_.where(), expected, grid->text(), size);
    // ecCodes marks what is missing by a value that the caller chooses; its own choice, 9999, may well be one of the
    // field's.
    handle_.check(codes_set_double(handle_.get(), "missingValue", kMissing), "a value for what is missing");
    std::vector<double> out(size);
    // A constant field has no groups, and ecCodes 2.28 makes numbers up for it.
    if (handle_.words("packingType").starts_with("grid_complex") && handle_.whole_or("bitmapPresent", 1) == 0 &&
        handle_.whole_or("numberOfGroupsOfDataValues", 1) == 0) {
      std::fill(out.begin(), out.end(),
                handle_.number("referenceValue") * power(10, -handle_.whole("decimalScaleFactor")));
      return out;
    }
    handle_.check(codes_get_double_array(handle_.get(), "values", out.data(), &size), "values");
    std::replace(out.begin(), out.end(), kMissing, std::numeric_limits<double>::quiet_NaN());
    return out;
  }

  void visit_eccodes(const Window& window, const RowVisitor& visitor) const {
    const std::vector<double> all = values(static_cast<size_t>(grid->height * grid->width));
    const ScanOrder order(handle_, *grid);
    std::vector<double> row(order.plain() ? 0 : static_cast<size_t>(window.width));
    for (int64_t j = 0; j < window.height; ++j) {
      const double* from = all.data() + (window.row + j) * grid->width + window.column;
      for (size_t i = 0; i < row.size(); ++i)
        row[i] = all[static_cast<size_t>(order.at(window.row + j, window.column + static_cast<int64_t>(i)))];
      visitor(j, row.empty() ? from : row.data());
    }
  }

  // Along each row to as many points as the longest has: linearly, from the nearest where a neighbour is missing.
  void visit_reduced(const Window& window, const RowVisitor& visitor) const {
    const std::vector<int64_t> points = points_of_rows(handle_);
    int64_t sum = 0;
    for (const int64_t n : points) sum += n;  // a row may have none: all of it is missing
    const std::vector<double> all = values(static_cast<size_t>(sum));
    std::vector<double> row(static_cast<size_t>(window.width));
    int64_t start = 0;
    for (int64_t j = 0; j < window.row + window.height; start += points[static_cast<size_t>(j++)]) {
      if (j < window.row) continue;
      const int64_t n = points[static_cast<size_t>(j)];
      if (n == 0) std::fill(row.begin(), row.end(), std::numeric_limits<double>::quiet_NaN());
      const double* own = all.data() + start;
      for (int64_t i = 0; i < window.width && n > 0; ++i) {
        const double x =
            static_cast<double>(window.column + i) * static_cast<double>(n) / static_cast<double>(grid->width);
        const int64_t left = std::min(static_cast<int64_t>(x), n - 1), right = (left + 1) % n;
        const double part = x - static_cast<double>(left), a = own[left], b = own[right];
        row[static_cast<size_t>(i)] = std::isnan(a) || std::isnan(b) ? (part < 0.5 ? a : b) : a * (1 - part) + b * part;
      }
      visitor(j - window.row, row.data());
    }
  }

  const GribHandle& handle_;
  std::unique_lock<std::mutex>& lock_;
};

// Rows of one latitude and columns of one longitude are told by these alone.
void make_separable(Grid& grid) {
  std::vector<double> latitude, longitude(grid.longitude.begin(), grid.longitude.begin() + grid.width);
  for (int64_t j = 0; j < grid.height; ++j) {
    const double* lat = grid.latitude.data() + j * grid.width;
    const double* lon = grid.longitude.data() + j * grid.width;
    for (int64_t i = 0; i < grid.width; ++i)
      if (std::abs(lat[i] - lat[0]) > 1e-9 || std::abs(lon[i] - longitude[static_cast<size_t>(i)]) > 1e-9) return;
    latitude.push_back(lat[0]);
  }
  grid.latitude = std::move(latitude), grid.longitude = std::move(longitude);
}

// All places of a projected grid, from ecCodes' iterator, without the values: rows one after another, whatever the
// order of the values.
void read_places(const GribHandle& h, Grid& grid) {
  constexpr unsigned long kNoValues = 1;
  int error = 0;
  codes_iterator* iterator = codes_grib_iterator_new(h.get(), kNoValues, &error);
  if (!iterator || error) return;
  double latitude = 0, longitude = 0, value = 0;
  const auto points = static_cast<size_t>(grid.height * grid.width);
  grid.latitude.reserve(points), grid.longitude.reserve(points);
  while (codes_grib_iterator_next(iterator, &latitude, &longitude, &value))
    grid.latitude.push_back(latitude), grid.longitude.push_back(longitude);
  codes_grib_iterator_delete(iterator);
  if (grid.latitude.size() != points) return grid.latitude.clear(), grid.longitude.clear();
  if (!ScanOrder(h, grid).west_to_east)
    for (std::vector<double>* list : {&grid.latitude, &grid.longitude})
      for (int64_t j = 0; j < grid.height; ++j)
        std::reverse(list->begin() + j * grid.width, list->begin() + (j + 1) * grid.width);
  make_separable(grid);
}

// Rows of Mercator's projection are equally far apart in log tan(45° + latitude / 2). ecCodes 2.28 takes the
// sphere for an ellipsoid.
void read_mercator(const GribHandle& h, Grid& grid) {
  constexpr double kDegree = std::numbers::pi / 180;
  const auto height = [&](double degrees) { return std::asinh(std::tan(degrees * kDegree)); };
  const double from = height(h.number("latitudeOfFirstGridPointInDegrees")),
               to = height(h.number("latitudeOfLastGridPointInDegrees"));
  const bool west_to_east = ScanOrder(h, grid).west_to_east;
  const double first = h.number("longitudeOfFirstGridPointInDegrees"),
               last = h.number("longitudeOfLastGridPointInDegrees"), west = west_to_east ? first : last;
  double reach = (west_to_east ? last : first) - west;
  if (reach < 0) reach += 360;
  const auto share = [](int64_t k, int64_t n) {
    return static_cast<double>(k) / std::max<double>(1, static_cast<double>(n - 1));
  };
  for (int64_t j = 0; j < grid.height; ++j)
    grid.latitude.push_back(std::atan(std::sinh(from + (to - from) * share(j, grid.height))) / kDegree);
  for (int64_t i = 0; i < grid.width; ++i) grid.longitude.push_back(west + reach * share(i, grid.width));
}

// Latitudes of a reduced grid, which is taken for one around the globe.
void read_reduced(const GribHandle& h, Grid& grid) {
  const std::vector<int64_t> points = points_of_rows(h);
  grid.height = static_cast<int64_t>(points.size());
  grid.width = points.empty() ? 0 : *std::max_element(points.begin(), points.end());
  if (grid.width < 1 || *std::min_element(points.begin(), points.end()) < 0 || grid.width * grid.height > kMostPoints)
    throw InputError("[grib] {}: damaged: expected points in the rows of a reduced grid, got none", h.where());
  const double west = h.number("longitudeOfFirstGridPointInDegrees"),
               reach = h.number("longitudeOfLastGridPointInDegrees") - west;
  if (reach + 1.5 * 360 / static_cast<double>(grid.width) < 360)
    throw InputError("[grib] {}: expected a reduced grid around the globe, got one that ends after {:.3f} degrees",
                     h.where(), reach);
  std::vector<double> rows(static_cast<size_t>(grid.height));
  size_t size = rows.size();
  if (grid.kind == "reduced_ll" || codes_get_double_array(h.get(), "distinctLatitudes", rows.data(), &size) ||
      size != rows.size()) {
    const double from = h.number("latitudeOfFirstGridPointInDegrees"),
                 to = h.number("latitudeOfLastGridPointInDegrees");
    for (size_t j = 0; j < rows.size(); ++j)
      rows[j] = from + (to - from) * static_cast<double>(j) / std::max<double>(1, static_cast<double>(rows.size() - 1));
  }
  grid.south_first = h.whole_or("jScansPositively", 0) != 0;
  if (rows.size() > 1 && (rows.front() < rows.back()) != grid.south_first) std::reverse(rows.begin(), rows.end());
  grid.latitude = std::move(rows);
  for (int64_t i = 0; i < grid.width; ++i)
    grid.longitude.push_back(west + 360 * static_cast<double>(i) / static_cast<double>(grid.width));
  grid.kind += " as regular";
}

// Why a message is no field of rows and columns, and what to do; empty where it is one.
std::string grid_problem(const GribHandle& h, const FieldChoice& choice) {
  const std::string kind = h.words("gridType");
  if (kind == "sh" || kind.ends_with("_sh"))
    return fmt::format("spectral coefficients ({}): make a grid of them first, with cdo sp2gpl for instance", kind);
  if (kind.starts_with("reduced_"))
    return choice.expand_reduced
               ? ""
               : fmt::format("a reduced grid ({}): --expand-reduced interpolates it along its rows to a regular one",
                             kind);
  const int64_t width = h.whole_or("Ni", 0), height = h.whole_or("Nj", 0), most = int64_t{1} << 24;
  if (width < 1 || height < 1 || width > most || height > most)
    return fmt::format(
        "a grid without rows and columns ({}): put it on a regular one first, with cdo remapbil for "
        "instance",
        printable(kind));
  return {};
}

std::string grid_key(const GribHandle& h) {
  const std::string key = h.words("md5GridSection");
  return key.empty() ? fmt::format("{} {} {} {} {}", h.words("gridType"), h.whole_or("Ni", 0), h.whole_or("Nj", 0),
                                   h.number_or("latitudeOfFirstGridPointInDegrees", 0),
                                   h.number_or("longitudeOfFirstGridPointInDegrees", 0))
                     : key;
}

std::shared_ptr<const Grid> read_grid(const GribHandle& h) {
  auto grid = std::make_shared<Grid>();
  grid->kind = h.words("gridType"), grid->key = grid_key(h);
  if (is_reduced(h)) {
    read_reduced(h, *grid);
    return grid;
  }
  // Lat-lon grids count in Ni and Nj, projected ones in Nx and Ny, for which the former are other names.
  grid->width = h.whole_or("Ni", 0), grid->height = h.whole_or("Nj", 0);
  // A damaged header may promise what no memory holds.
  if (grid->width * grid->height > kMostPoints || h.whole_or("numberOfDataPoints", 0) != grid->width * grid->height)
    throw InputError("[grib] {}: damaged: expected {} points on {}, got {}", h.where(), grid->width * grid->height,
                     grid->text(), h.whole_or("numberOfDataPoints", 0));
  grid->south_first = h.whole_or("jScansPositively", 0) != 0;
  if (grid->kind == "regular_ll") {
    const double from = h.number("latitudeOfFirstGridPointInDegrees"),
                 to = h.number("latitudeOfLastGridPointInDegrees");
    const bool west_to_east = ScanOrder(h, *grid).west_to_east;
    const double first = h.number("longitudeOfFirstGridPointInDegrees"),
                 last = h.number("longitudeOfLastGridPointInDegrees"), west = west_to_east ? first : last;
    double reach = (west_to_east ? last : first) - west;
    if (reach < 0) reach += 360;
    for (int64_t j = 0; j < grid->height; ++j)
      grid->latitude.push_back(from + (to - from) * static_cast<double>(j) /
                                          std::max<double>(1, static_cast<double>(grid->height - 1)));
    for (int64_t i = 0; i < grid->width; ++i)
      grid->longitude.push_back(west + reach * static_cast<double>(i) /
                                           std::max<double>(1, static_cast<double>(grid->width - 1)));
  } else if (grid->kind == "mercator") {
    read_mercator(h, *grid);
  } else {
    read_places(h, *grid);
  }
  return grid;
}

// The places of a projected grid take a second, and years of files have the same one: the last few grids are kept.
std::shared_ptr<const Grid> shared_grid(const GribHandle& h) {
  static std::vector<std::shared_ptr<const Grid>> kept;
  constexpr size_t kMost = 4;
  const std::string key = grid_key(h);
  for (const auto& grid : kept)
    if (grid->key == key && !key.empty()) return grid;
  if (kept.size() == kMost) kept.erase(kept.begin());
  return kept.emplace_back(read_grid(h));
}

struct What {
  std::string name, level_type, step_range, step_type;
  std::optional<ParameterCode> code;  // edition 2
  int64_t id = 0, table = 0, number = 0, surface = 0, from = 0, step = 0;
  double level = 0;
  std::optional<int64_t> member;

  explicit What(const GribHandle& h)
      : name(h.words("shortName")),
        level_type(h.words("typeOfLevel")),
        step_range(h.words("stepRange")),
        step_type(h.words("stepType")),
        id(h.whole_or("paramId", 0)),
        surface(h.whole_or("typeOfFirstFixedSurface", 255)),
        from(h.whole_or("startStep", -1)),
        step(h.whole_or("endStep", -1)),
        level(h.number_or("level", 0)) {
    if (h.whole("editionNumber") == 2)
      code = {h.whole("discipline"), h.whole("parameterCategory"), h.whole("parameterNumber")};
    else
      table = h.whole_or("table2Version", 0), number = h.whole_or("indicatorOfParameter", 0),
      surface = h.whole_or("indicatorOfTypeOfLevel", 255);
    // Some archives give every message a number: of an ensemble it is one where that has members.
    long v = 0;
    if (codes_is_defined(h.get(), "perturbationNumber") && codes_get_long(h.get(), "perturbationNumber", &v) == 0 &&
        (v > 0 || h.whole_or("numberOfForecastsInEnsemble", 0) > 0))
      member = v;
    if (step_range.empty())
      step_range = fmt::format("{} of time unit {}", h.whole_or("forecastTime", 0),
                               h.whole_or("indicatorOfUnitOfTimeRange", h.whole_or("unitOfTimeRange", 0)));
  }

  bool matches(const FieldChoice& c) const {
    return (c.name.empty() || c.name == name || (id > 0 && c.name == fmt::format("{}", id))) &&
           (!c.code || c.code == code) &&
           (c.level_type.empty() || c.level_type == level_type || c.level_type == fmt::format("{}", surface)) &&
           (!c.level || *c.level == level) && (!c.step || *c.step == step) && (!c.step_from || *c.step_from == from) &&
           (c.step_type.empty() || c.step_type == step_type) && (!c.member || c.member == member);
  }
  std::string level_text() const {
    return fmt::format(
        "{} {}", level_type.empty() || level_type == "unknown" ? fmt::format("level type {}", surface) : level_type,
        level);
  }
  std::string step_text() const {
    return step_type.empty() || step_type == "instant" ? step_range : fmt::format("{} ({})", step_range, step_type);
  }
  std::string text() const {
    const std::string parameter = code ? fmt::format("{}/{}/{}", code->discipline, code->category, code->number)
                                       : fmt::format("table {}, parameter {}", table, number);
    return fmt::format("{} ({}), {}, step {}{}", name, parameter, level_text(), step_text(),
                       member ? fmt::format(", member {}", *member) : "");
  }
};

int64_t valid_time(const GribHandle& h) {
  const int64_t date = h.whole("validityDate"), time = h.whole("validityTime");
  return seconds_since_1970(
      {date / 10000, date / 100 % 100, date % 100, time / 100, time % 100, h.whole_or("second", 0)});
}

struct Closer {
  void operator()(std::FILE* file) const {
    codes_grib_multi_support_reset_file(codes_context_get_default(), file);
    std::fclose(file);
  }
};

}  // namespace

void visit_grib(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor) {
  // Several fields may share a message. ecCodes' code for it is slower and less robust: only where it is needed.
  const bool shared = scan_grib(FileSource(path)).shared;
  std::unique_lock lock(eccodes_mutex());
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "rb"));
  if (!file) throw InputError("[grib] {}: {}", path, system_reason(errno));
  std::vector<std::string> found;
  int64_t used = 0;
  for (int64_t number = 1;; ++number) {
    set_up(path);
    if (shared)
      codes_grib_multi_support_on(codes_context_get_default());
    else
      codes_grib_multi_support_off(codes_context_get_default());
    int error = 0;
    codes_handle* raw = codes_handle_new_from_file(nullptr, file.get(), PRODUCT_GRIB, &error);
    const std::string where = fmt::format("{}: message {}", path, number);
    if (!raw && (error == CODES_SUCCESS || error == CODES_END_OF_FILE)) break;
    if (!raw) throw InputError("[grib] {}: truncated or damaged: {}", where, reason(error));
    const GribHandle handle(raw, where);
    const What what(handle);
    if (!what.matches(choice)) {
      found.push_back(what.text());
      continue;
    }
    GribMessage message(handle, lock);
    message.problem = grid_problem(handle, choice);
    if (message.problem.empty())
      message.grid = shared_grid(handle);
    else if (!choice.everything)
      throw InputError("[grib] {}: expected a field on a grid, got {}", where, message.problem);
    message.name = what.name, message.text = what.text(), message.units = handle.words("units");
    message.title = handle.words("name"), message.level = what.level_text(), message.step = what.step_text();
    message.member = what.member, message.time = valid_time(handle);
    visitor(message);
    ++used;
  }
  if (used == 0) throw InputError("[grib] {}: expected {}, got {}", path, choice.text(), found_text(found));
}

}  // namespace htfm
