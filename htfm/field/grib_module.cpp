// GRIB edition 2 through ecCodes.
#include <eccodes.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <mutex>

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

class GribMessage : public FieldMessage {
 public:
  explicit GribMessage(const GribHandle& handle) : handle_(handle) {}

  void visit_rows(const Window& window, const RowVisitor& visitor) const override {
    grid->check(window, handle_.where());
    if (!visit_png(window, visitor)) visit_eccodes(window, visitor);
  }

 private:
  bool visit_png(const Window& window, const RowVisitor& visitor) const {
    if (handle_.words("packingType") != "grid_png" || handle_.whole("bitmapPresent") != 0) return false;
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
    visit_packed_png(image, scale, window, visitor, "[grib] " + handle_.where());
    return true;
  }

  void visit_eccodes(const Window& window, const RowVisitor& visitor) const {
    size_t size = 0;
    handle_.check(codes_get_size(handle_.get(), "values", &size), "values");
    if (static_cast<int64_t>(size) != grid->height * grid->width)
      throw InputError("[grib] {}: expected {} values on {}, got {}", handle_.where(), grid->height * grid->width,
                       grid->text(), size);
    // ecCodes marks what is missing by a value that the caller chooses; its own choice, 9999, may well be one of the
    // field's.
    handle_.check(codes_set_double(handle_.get(), "missingValue", kMissing), "a value for what is missing");
    std::vector<double> values(size);
    handle_.check(codes_get_double_array(handle_.get(), "values", values.data(), &size), "values");
    std::replace(values.begin(), values.end(), kMissing, std::numeric_limits<double>::quiet_NaN());
    for (int64_t j = 0; j < window.height; ++j)
      visitor(j, values.data() + (window.row + j) * grid->width + window.column);
  }

  const GribHandle& handle_;
};

// All places of a projected grid, from ecCodes' iterator, without the values.
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
  if (grid.latitude.size() != points) grid.latitude.clear(), grid.longitude.clear();
}

std::shared_ptr<const Grid> read_grid(const GribHandle& h) {
  auto grid = std::make_shared<Grid>();
  grid->kind = h.words("gridType");
  // Lat-lon grids count in Ni and Nj, projected ones in Nx and Ny, for which the former are other names.
  grid->width = h.whole_or("Ni", 0), grid->height = h.whole_or("Nj", 0);
  if (grid->width < 1 || grid->height < 1 || grid->width > (int64_t{1} << 24) || grid->height > (int64_t{1} << 24))
    throw InputError("[grib] {}: expected a grid of rows and columns, got {}", h.where(), in_quotes(grid->kind));
  if (h.whole_or("iScansNegatively", 0) || h.whole_or("jPointsAreConsecutive", 0) ||
      h.whole_or("alternativeRowScanning", 0))
    throw InputError("[grib] {}: expected rows one after another from west to east, got scanning mode {}", h.where(),
                     h.whole_or("scanningMode", 0));
  // A damaged header may promise what no memory holds.
  if (grid->width * grid->height > kMostPoints || h.whole_or("numberOfDataPoints", 0) != grid->width * grid->height)
    throw InputError("[grib] {}: damaged: expected {} points on {}, got {}", h.where(), grid->width * grid->height,
                     grid->text(), h.whole_or("numberOfDataPoints", 0));
  grid->south_first = h.whole_or("jScansPositively", 0) != 0;
  grid->key = h.words("md5GridSection");
  if (grid->kind == "regular_ll") {
    const double from = h.number("latitudeOfFirstGridPointInDegrees"),
                 to = h.number("latitudeOfLastGridPointInDegrees");
    const double west = h.number("longitudeOfFirstGridPointInDegrees");
    double reach = h.number("longitudeOfLastGridPointInDegrees") - west;
    if (reach < 0) reach += 360;
    for (int64_t j = 0; j < grid->height; ++j)
      grid->latitude.push_back(from + (to - from) * static_cast<double>(j) /
                                          std::max<double>(1, static_cast<double>(grid->height - 1)));
    for (int64_t i = 0; i < grid->width; ++i)
      grid->longitude.push_back(west + reach * static_cast<double>(i) /
                                           std::max<double>(1, static_cast<double>(grid->width - 1)));
  } else {
    read_places(h, *grid);
  }
  return grid;
}

// The places of a projected grid take a second, and years of files have the same one: the last few grids are kept.
std::shared_ptr<const Grid> shared_grid(const GribHandle& h) {
  static std::mutex mutex;
  static std::vector<std::shared_ptr<const Grid>> kept;
  constexpr size_t kMost = 4;
  const std::string key = h.words("md5GridSection");
  const std::lock_guard lock(mutex);
  for (const auto& grid : kept)
    if (grid->key == key && !key.empty()) return grid;
  if (kept.size() == kMost) kept.erase(kept.begin());
  return kept.emplace_back(read_grid(h));
}

struct What {
  std::string name, level_type;
  ParameterCode code;
  int64_t surface = 0, level = 0, step = 0;

  explicit What(const GribHandle& h)
      : name(h.words("shortName")),
        level_type(h.words("typeOfLevel")),
        code{h.whole("discipline"), h.whole("parameterCategory"), h.whole("parameterNumber")},
        surface(h.whole_or("typeOfFirstFixedSurface", 255)),
        level(h.whole_or("level", 0)),
        step(h.whole_or("endStep", 0)) {}

  bool matches(const FieldChoice& c) const {
    return (c.name.empty() || c.name == name) && (!c.code || *c.code == code) &&
           (c.level_type.empty() || c.level_type == level_type || c.level_type == fmt::format("{}", surface)) &&
           (!c.level || *c.level == static_cast<double>(level)) && (!c.step || *c.step == step);
  }
  std::string text() const {
    return fmt::format(
        "{} ({}/{}/{}), {} {}, step {}", name, code.discipline, code.category, code.number,
        level_type.empty() || level_type == "unknown" ? fmt::format("level type {}", surface) : level_type, level,
        step);
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
  set_up(path);
  // Several fields may share a message. ecCodes' code for it is slower and less robust: only where it is needed.
  if (scan_grib(path).shared)
    codes_grib_multi_support_on(codes_context_get_default());
  else
    codes_grib_multi_support_off(codes_context_get_default());
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "rb"));
  if (!file) throw InputError("[grib] {}: {}", path, system_reason(errno));
  std::vector<std::string> found;
  int64_t used = 0;
  for (int64_t number = 1;; ++number) {
    int error = 0;
    codes_handle* raw = codes_handle_new_from_file(nullptr, file.get(), PRODUCT_GRIB, &error);
    const std::string where = fmt::format("{}: message {}", path, number);
    if (!raw && (error == CODES_SUCCESS || error == CODES_END_OF_FILE)) break;
    if (!raw) throw InputError("[grib] {}: truncated or damaged: {}", where, reason(error));
    const GribHandle handle(raw, where);
    if (const int64_t edition = handle.whole("editionNumber"); edition != 2)
      throw InputError("[grib] {}: expected GRIB edition 2, got edition {}", where, edition);
    const What what(handle);
    if (!what.matches(choice)) {
      found.push_back(what.text());
      continue;
    }
    GribMessage message(handle);
    message.grid = shared_grid(handle);
    message.name = what.name, message.text = what.text(), message.units = handle.words("units");
    message.time = valid_time(handle);
    visitor(message);
    ++used;
  }
  if (used == 0) throw InputError("[grib] {}: expected {}, got {}", path, choice.text(), found_text(found));
}

}  // namespace htfm
