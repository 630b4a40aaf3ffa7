// GRIB editions 1 and 2 through ecCodes.
#include <eccodes.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <limits>
#include <mutex>

#include "htfm/base/error.h"
#include "htfm/field/calendar.h"
#include "htfm/field/grib_grid_module.h"
#include "htfm/field/grib_handle_module.h"
#include "htfm/field/grib_png_module.h"
#include "htfm/field/grib_scan_module.h"
#include "htfm/field/readers_module.h"
#include "htfm/io/descriptor.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr double kMissing = -0x1p100;

// What ecCodes would print is kept for the message: the library never prints.
thread_local std::string last_words, current_file;

void keep_words(const grib_context*, int, const char* text) { last_words = text; }

// ecCodes ends the process where a damaged message breaks what it takes for granted.
void refuse(const char* text) { throw InputError("[grib] {}: damaged: {}", current_file, printable(text)); }

}  // namespace

void set_up_eccodes(const std::string& path) {
  current_file = path;
  static std::once_flag once;
  std::call_once(once, [] {
    codes_context* context = codes_context_get_default();
    codes_context_set_logging_proc(context, keep_words);
    codes_set_codes_assertion_failed_proc(refuse);
  });
  last_words.clear();
}

std::string grib_reason(int error) {
  std::string text = codes_get_error_message(error);
  if (!last_words.empty()) text += fmt::format(" ({})", last_words);
  return printable(text);
}

namespace {

double power(double base, int64_t exponent) {  // step by step, as ecCodes does: the last bit counts
  double v = 1;
  for (; exponent < 0; ++exponent) v /= base;
  for (; exponent > 0; --exponent) v *= base;
  return v;
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
      // Templates of local use, which ecCodes does not know, have none.
      code = {h.whole("discipline"), h.whole_or("parameterCategory", 255), h.whole_or("parameterNumber", 255)};
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

// Nothing where a message tells of none. What satellites see has a time and no step.
std::optional<int64_t> valid_time(const GribHandle& h) {
  const int64_t date = h.whole_or("validityDate", h.whole_or("dataDate", 0)),
                time = h.whole_or("validityTime", h.whole_or("dataTime", 0));
  if (date <= 0 || date / 100 % 100 < 1 || date / 100 % 100 > 12 || date % 100 < 1 || date % 100 > 31) return {};
  return seconds_since_1970(
      {date / 10000, date / 100 % 100, date % 100, time / 100, time % 100, h.whole_or("second", 0)});
}

// What a message says of itself, as it is coded, section by section; its lengths, grid and packing left out.
std::vector<std::string> keys_of(const GribHandle& h) {
  const bool old = h.whole("editionNumber") == 1;
  std::vector<std::string> out;
  const std::unique_ptr<codes_keys_iterator, int (*)(codes_keys_iterator*)> keys(
      codes_keys_iterator_new(h.get(), CODES_KEYS_ITERATOR_SKIP_COMPUTED | CODES_KEYS_ITERATOR_SKIP_DUPLICATES,
                              nullptr),
      codes_keys_iterator_delete);
  bool grid = false;
  while (keys && codes_keys_iterator_next(keys.get())) {
    const std::string key = codes_keys_iterator_get_name(keys.get());
    if (key == (old ? "section2Length" : "section3Length")) grid = true;
    if (key == "section4Length") grid = false;
    if (key == (old ? "section4Length" : "section5Length")) break;
    const bool coded = (key.starts_with("section") && key.ends_with("Length")) || key == "totalLength" ||
                       key == "decimalScaleFactor" || key.starts_with("bitMap");
    if (!grid && !coded) out.push_back(key + "=" + h.words(key.c_str()));
  }
  return out;
}

// As samples are written (grib_write_module.cpp): the reference time means nothing.
bool is_without_date(const GribHandle& h) {
  return h.whole("editionNumber") == 2 && h.whole_or("significanceOfReferenceTime", 0) == 255 &&
         h.whole_or("dataDate", 0) == 19700101 && h.whole_or("dataTime", 0) == 0;
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
    set_up_eccodes(path);
    if (shared)
      codes_grib_multi_support_on(codes_context_get_default());
    else
      codes_grib_multi_support_off(codes_context_get_default());
    int error = 0;
    codes_handle* raw = codes_handle_new_from_file(nullptr, file.get(), PRODUCT_GRIB, &error);
    const std::string where = fmt::format("{}: message {}", path, number);
    if (!raw && (error == CODES_SUCCESS || error == CODES_END_OF_FILE)) break;
    if (!raw) throw InputError("[grib] {}: truncated or damaged: {}", where, grib_reason(error));
    const GribHandle handle(raw, where);
    const What what(handle);
    if (!what.matches(choice)) {
      found.push_back(what.text());
      continue;
    }
    GribMessage message(handle, lock);
    message.problem = grid_problem(handle, choice);
    if (message.problem.empty()) message.grid = shared_grid(handle);
    const std::optional<int64_t> time = valid_time(handle);
    if (message.problem.empty() && !codes_is_defined(handle.get(), "values"))
      message.problem = "a message with a template that ecCodes does not know";
    if (message.problem.empty() && !time) message.problem = "a message without a date";
    if (!message.problem.empty() && !choice.everything)
      throw InputError("[grib] {}: expected a field on a grid, got {}", where, message.problem);
    message.name = what.name, message.text = what.text(), message.units = handle.words("units");
    message.title = handle.words("name"), message.level = what.level_text(), message.step = what.step_text();
    message.member = what.member, message.time = time.value_or(0);
    if (is_without_date(handle)) message.dated = false, message.time = what.member.value_or(0);
    if (choice.keys) message.keys = keys_of(handle);
    visitor(message);
    ++used;
  }
  if (used == 0) throw InputError("[grib] {}: expected {}, got {}", path, choice.text(), found_text(found));
}

}  // namespace htfm
