#include "htfm/field/prepare.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/field/calendar.h"
#include "htfm/field/file_frames.h"
#include "htfm/field/frame_store.h"
#include "htfm/field/resume_settings.h"
#include "htfm/field/time_part.h"
#include "htfm/field/windows.h"
#include "htfm/io/mapped_file.h"

namespace htfm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string span_text(int64_t seconds) {
  return seconds % 3600 == 0 ? fmt::format("{} h", seconds / 3600) : fmt::format("{} min", seconds / 60);
}

// The records of the store that make up one field of the set, in the order of its channels.
using Sequence = std::vector<int64_t>;

class Preparation {
 public:
  Preparation(const PrepareSpec& spec, const std::string& output)
      : spec_(spec),
        store_(spec.resume ? FrameStore(output, resume_settings(spec)) : FrameStore(output)),
        dry_below_(spec.transform.threshold.value_or(std::numeric_limits<double>::denorm_min())) {
    for (const json& line : store_.lines()) count_line(line);
  }

  bool is_done(const std::string& file) const { return store_.is_done(file); }
  bool has_layout() const { return layout_.grid != nullptr; }
  void look(const std::string& file) { layout_ = look_at_first(file, spec_); }
  FileFrames read(const std::string& file) const { return read_frames(file, spec_, layout_); }

  void keep(const std::string& file, FileFrames frames) {
    if (!layout_.dated) frames = renumbered(std::move(frames));
    int64_t kept = 0, missing = 0, incomplete = 0;
    json times = json::array();
    for (auto& [when, frame] : frames) {
      if (std::any_of(frame.channels.begin(), frame.channels.end(), [](const auto& c) { return c.empty(); })) {
        ++incomplete;
        continue;
      }
      see(when, file);
      times.push_back({when.first, when.second});
      kept += keep_frame(when, frame, missing);
      frame.channels.clear();
    }
    const json line{{"name", fs::path(file).filename().string()},
                    {"bytes", fs::file_size(file)},
                    {"fields", kept},
                    {"missing", missing},
                    {"incomplete", incomplete},
                    {"frames", times.size()},
                    {"times", times}};
    count_line(line);
    store_.finish_file(file, line);
  }

  void skip(const std::string& file, const std::string& reason) {
    const json line{{"name", fs::path(file).filename().string()}, {"skipped", reason}};
    count_line(line);
    summary_.skipped.push_back(reason);
  }

  const std::vector<std::string>& skipped() const { return summary_.skipped; }  // why, of each file

  PrepareSummary finish(const std::string& output) {
    const std::vector<StoredField>& all = store_.fields();
    const TimePart test(spec_.test, "test"), train(spec_.train, "train");
    if (all.empty())
      throw InputError(
          "[prepare] {}: expected a field without missing values, got none: the fields of {} of {} frames are dropped "
          "(choose windows that have values everywhere: --box, --offset and --size, or --tiles)",
          layout_.file, summary_.missing, summary_.frames);
    for (const auto& [part, own, text] : {std::tuple{&test, "test", &spec_.test}, {&train, "train", &spec_.train}})
      if (!layout_.dated && part->by_date())
        throw InputError("[{}] {}: expected a share such as 0.25 for fields without dates, got '{}'", own, layout_.file,
                         *text);
    std::vector<int64_t> times;
    for (const StoredField& f : all) times.push_back(f.time);
    const std::vector<bool> held = test.of(times, layout_.calendar), taught = train.of(times, layout_.calendar);
    std::vector<Sequence> chosen;
    for (const Sequence& s : sequences()) {
      const auto in = [&](int64_t i, bool test_part) {
        return test_part ? held[i] : !held[i] && (train.empty() || taught[i]);
      };
      const auto whole = [&](bool part) {
        return std::all_of(s.begin(), s.end(), [&](int64_t i) { return in(i, part); });
      };
      if (!whole(true) && !whole(false)) {
        ++summary_.neither;
        continue;
      }
      const Window& window = layout_.windows[static_cast<size_t>(all[static_cast<size_t>(s.front())].window)];
      if (!is_window_of(spec_, window, held[static_cast<size_t>(s.front())])) continue;
      chosen.push_back(s);
      ++(held[static_cast<size_t>(s.front())] ? summary_.test : summary_.train);
    }
    if (summary_.train == 0)
      throw InputError("[prepare] {}: expected fields to train on ({}), got none: {}", layout_.file,
                       spec_.train.empty() ? "all but " + spec_.test : spec_.train, range_text(times));
    if (summary_.test == 0 && test.by_date())
      throw InputError(
          "[test] {}: expected fields to hold out ({}), got none: {}; --test 0.25 holds out the last quarter",
          layout_.file, spec_.test, range_text(times));
    // The values of the chosen fields lie one after another already where all are chosen; otherwise they are copied.
    std::shared_ptr<const MappedFile> values = store_.map();
    ScratchFile copied(fs::path(output).parent_path().string());
    const Window& size = layout_.windows.front();
    const auto own = static_cast<int64_t>(spec_.channels.size());
    const auto bytes = static_cast<size_t>(own * size.size()) * sizeof(float);
    if (chosen.size() != all.size() || spec_.sequence > 1) {
      for (const Sequence& s : chosen)
        for (const int64_t i : s) copied.append(values->bytes().data() + static_cast<size_t>(i) * bytes, bytes);
      values = copied.map();
    }
    const auto count = static_cast<int64_t>(chosen.size());
    set_.fields = mapped_tensor(values, 0, {count, own * spec_.sequence, size.height, size.width}, at::kFloat);
    set_.time = at::empty({count}, at::kLong), set_.held_out = at::empty({count}, at::kByte);
    set_.place = at::empty({count, 2}, at::kLong);
    set_.corners = at::full({count, 4}, std::numeric_limits<double>::quiet_NaN(), at::kDouble);
    const bool ensemble = std::any_of(all.begin(), all.end(), [](const StoredField& f) { return f.member >= 0; });
    if (ensemble) set_.member = at::empty({count}, at::kLong);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = chosen[static_cast<size_t>(k)].front();
      const StoredField& f = all[static_cast<size_t>(i)];
      const Window& w = layout_.windows[static_cast<size_t>(f.window)];
      set_.time.mutable_data_ptr<int64_t>()[k] = f.time;
      set_.held_out.mutable_data_ptr<uint8_t>()[k] = held[static_cast<size_t>(i)];
      if (ensemble) set_.member.mutable_data_ptr<int64_t>()[k] = f.member;
      set_.place.mutable_data_ptr<int64_t>()[2 * k] = w.row,
                                                 set_.place.mutable_data_ptr<int64_t>()[2 * k + 1] = w.column;
      if (!layout_.grid->has_places()) continue;
      double* corner = set_.corners.mutable_data_ptr<double>() + 4 * k;
      const Place a = layout_.grid->at(w.row, w.column),
                  b = layout_.grid->at(w.row + w.height - 1, w.column + w.width - 1);
      corner[0] = a.latitude, corner[1] = a.longitude, corner[2] = b.latitude, corner[3] = b.longitude;
    }
    if (spec_.transform.reach > 0) keep_outside(chosen);
    keep_places();
    name_channels();
    fit_transform();
    set_.south_first = layout_.grid->south_first, set_.calendar = layout_.calendar, set_.dated = layout_.dated;
    describe();
    write_field_set(output, set_);
    store_.remove();
    return summary_;
  }

 private:
  void count_line(const json& line) {
    files_.push_back(line);
    for (const char* unneeded : {"times", "kept", "key", "bytes_so_far"}) files_.back().erase(unneeded);
    if (line.contains("skipped")) return;
    ++summary_.files;
    summary_.missing += line.at("missing").get<int64_t>(), summary_.frames += line.at("frames").get<int64_t>();
    summary_.incomplete += line.at("incomplete").get<int64_t>();
    if (line.contains("key"))  // of an earlier run
      for (const json& when : line.at("times")) see({when.at(0), when.at(1)}, line.at("name"));
  }

  void see(const std::pair<int64_t, int64_t>& when, const std::string& file) {
    next_ = std::max(next_, when.first + 1);
    if (const auto [at, fresh] = seen_.emplace(when, file); !fresh)
      throw InputError(
          "[prepare] {}: expected each time in one file only, got {} here and in {}: leave one of them out", file,
          moment_text(when.first, layout_.calendar), at->second);
  }

  // Fields without dates go on counting where the files before have ended.
  FileFrames renumbered(FileFrames frames) const {
    FileFrames out;
    int64_t last = -1, number = next_ - 1;
    for (auto& [when, frame] : frames) {
      if (last != when.first) last = when.first, ++number;
      out[{number, when.second}] = std::move(frame);
    }
    return out;
  }

  int64_t keep_frame(const std::pair<int64_t, int64_t>& when, const Frame& frame, int64_t& missing) {
    const int64_t size = layout_.windows.front().size();
    const auto bytes = static_cast<size_t>(size);
    std::vector<float> values(bytes * frame.channels.size());
    int64_t kept = 0;
    for (size_t k = 0; k < layout_.windows.size(); ++k) {
      for (size_t c = 0; c < frame.channels.size(); ++c)
        std::copy_n(frame.channels[c].data() + static_cast<int64_t>(k) * size, size, values.data() + c * bytes);
      if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
        ++missing;
        continue;
      }
      StoredField field{when.first, static_cast<int64_t>(k), when.second};
      for (const auto& channel : frame.outside) field.outside.push_back(channel[k]);
      store_.append(field, values.data(), values.size());
      ++kept;
    }
    return kept;
  }

  std::string range_text(const std::vector<int64_t>& times) const {
    const auto [first, last] = std::minmax_element(times.begin(), times.end());
    if (!layout_.dated) return fmt::format("there are {} without dates", *last - *first + 1);
    if (*first == *last) return "all fields have the time " + moment_text(*first, layout_.calendar);
    return fmt::format("times run from {} to {}", moment_text(*first, layout_.calendar),
                       moment_text(*last, layout_.calendar));
  }

  // Each field alone, or as many of the same window and member as a sequence has, one step of time apart.
  std::vector<Sequence> sequences() {
    const std::vector<StoredField>& all = store_.fields();
    std::vector<Sequence> out;
    if (spec_.sequence == 1) {
      for (size_t i = 0; i < all.size(); ++i) out.push_back({static_cast<int64_t>(i)});
      return out;
    }
    if (!layout_.dated)
      throw InputError(
          "[sequence] {}: expected fields with dates, got some without: give the file times first (in Python "
          ".assign_coords(time=...))",
          layout_.file);
    std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> at;
    std::vector<int64_t> times;
    for (size_t i = 0; i < all.size(); ++i)
      at[{all[i].window, all[i].member, all[i].time}] = static_cast<int64_t>(i), times.push_back(all[i].time);
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    interval_ = spec_.interval;
    for (size_t k = 1; k < times.size() && spec_.interval == 0; ++k)
      interval_ = interval_ == 0 ? times[k] - times[k - 1] : std::min(interval_, times[k] - times[k - 1]);
    for (size_t i = 0; i < all.size(); ++i) {
      Sequence s;
      for (int64_t k = 0; k < spec_.sequence; ++k)
        if (const auto found = at.find({all[i].window, all[i].member, all[i].time + k * interval_}); found != at.end())
          s.push_back(found->second);
      if (static_cast<int64_t>(s.size()) == spec_.sequence) out.push_back(std::move(s));
    }
    if (interval_ == 0 || out.empty())
      throw InputError("[sequence] {}: expected {} times {} apart, got none among {} times", layout_.file,
                       spec_.sequence, span_text(interval_), times.size());
    return out;
  }

  // The rain beyond the edges of each field, one after another.
  void keep_outside(const std::vector<Sequence>& chosen) {
    const auto channels = static_cast<int64_t>(spec_.channels.size()) * spec_.sequence;
    at::Tensor end = at::empty({static_cast<int64_t>(chosen.size()), channels}, at::kLong);
    auto* at = end.mutable_data_ptr<int64_t>();
    std::vector<float> all;
    for (const Sequence& s : chosen)
      for (const int64_t i : s)
        for (const std::vector<int32_t>& own : store_.fields()[static_cast<size_t>(i)].outside) {
          for (const int32_t v : own) all.push_back(static_cast<float>(v));
          *at++ = static_cast<int64_t>(all.size() / 2);
        }
    at::Tensor site = at::empty({static_cast<int64_t>(all.size() / 2), 2}, at::kFloat);
    std::copy(all.begin(), all.end(), site.mutable_data_ptr<float>());
    set_.outside = {site, end};
  }

  // Those of the whole grid where rows and columns have their own, otherwise of the only window.
  void keep_places() {
    const Grid& grid = *layout_.grid;
    if (!grid.has_places()) return;
    std::vector<double> latitude = grid.latitude, longitude = grid.longitude;
    if (!grid.separable()) {
      if (layout_.windows.size() > 1) return;
      const Window& w = layout_.windows.front();
      latitude.clear(), longitude.clear();
      for (int64_t j = 0; j < w.height; ++j)
        for (int64_t i = 0; i < w.width; ++i) {
          const Place p = grid.at(w.row + j, w.column + i);
          latitude.push_back(p.latitude), longitude.push_back(p.longitude);
        }
    }
    const auto tensor = [](const std::vector<double>& v) {
      at::Tensor out = at::empty({static_cast<int64_t>(v.size())}, at::kDouble);
      std::copy(v.begin(), v.end(), out.mutable_data_ptr<double>());
      return out;
    };
    set_.latitude = tensor(latitude), set_.longitude = tensor(longitude);
    set_.period = grid.period();
  }

  void name_channels() {
    for (int64_t k = 0; k < spec_.sequence; ++k)
      for (size_t c = 0; c < spec_.channels.size(); ++c) {
        set_.channels.push_back(k == 0 ? layout_.names[c]
                                       : fmt::format("{} + {}", layout_.names[c], span_text(k * interval_)));
        set_.units.push_back(layout_.units[c]);
      }
    set_.transform = spec_.transform;
    for (const std::string& name : spec_.plain) {
      const auto found = std::find(layout_.names.begin(), layout_.names.end(), name);
      if (found == layout_.names.end())
        throw InputError("[plain] expected one of the channels ({}), got '{}'", fmt::join(layout_.names, ", "), name);
      for (int64_t k = 0; k < spec_.sequence; ++k)
        set_.transform.plain.push_back(k * static_cast<int64_t>(spec_.channels.size()) +
                                       (found - layout_.names.begin()));
    }
  }

  // What the fields are like, and how a network is to see them.
  void fit_transform() {
    const float* x = set_.fields.const_data_ptr<float>();
    summary_.lowest = std::numeric_limits<double>::infinity(), summary_.highest = -summary_.lowest;
    int64_t dry = 0;
    for (int64_t k = 0; k < set_.fields.numel(); ++k) {
      const double v = x[k];
      summary_.lowest = std::min(summary_.lowest, v), summary_.highest = std::max(summary_.highest, v);
      dry += v < dry_below_;
    }
    summary_.dry = static_cast<double>(dry) / static_cast<double>(set_.fields.numel());
    set_.transform =
        fit_field_transform(set_.transform, set_.fields, set_.held_out, set_.channels, layout_.file, set_.outside);
  }

  void describe() {
    json p;
    p["recipe"] = spec_.recipe;
    p["fields"] = layout_.texts;
    p["grid"] = layout_.grid->text();
    p["window"] = {layout_.windows.front().height, layout_.windows.front().width};
    p["windows"] = summary_.covered;
    if (spec_.tiles > 0) p["tiles"] = spec_.tiles;
    if (spec_.train_tiles > 0) p["train_tiles"] = spec_.train_tiles;
    if (spec_.mask_below) p["mask_below"] = *spec_.mask_below;
    if (spec_.sequence > 1) p["sequence"] = {{"times", spec_.sequence}, {"seconds", interval_}};
    p["train"] = spec_.train, p["test"] = spec_.test;
    p["dropped_missing"] = summary_.missing, p["dropped_incomplete"] = summary_.incomplete,
    p["dropped_neither"] = summary_.neither;
    p["files"] = files_;
    set_.provenance = p.dump();
  }

  const PrepareSpec& spec_;
  FrameStore store_;
  double dry_below_;
  FieldSet set_;
  PrepareSummary summary_;
  FrameLayout layout_;
  std::map<std::pair<int64_t, int64_t>, std::string> seen_;  // the file that holds a time and member
  int64_t next_ = 0;                                         // number of the next field without a date
  int64_t interval_ = 0;                                     // seconds between the times of a sequence
  json files_ = json::array();

 public:
  void count_windows() {
    summary_.windows = layout_.asked, summary_.covered = static_cast<int64_t>(layout_.windows.size());
  }
};

void check_spec(const PrepareSpec& spec) {
  spec.transform.check();
  if (spec.channels.empty())
    throw InputError("[variable] expected the variable to read, got none: give variable or code");
  if (spec.sequence < 1) throw InputError("[sequence] expected at least 1, got {}", spec.sequence);
}

}  // namespace

PrepareSummary prepare_fields(const std::vector<std::string>& files, const PrepareSpec& spec, const std::string& output,
                              const std::function<void(int64_t done)>& report) {
  if (files.empty()) throw InputError("[prepare] expected at least one file of fields, got none");
  check_spec(spec);
  Preparation all(spec, output);
  // Several files at a time; what they hold is kept in their order, whatever the number of threads.
  const auto together = static_cast<size_t>(std::max(1, thread_count()));
  for (size_t first = 0; first < files.size();) {
    if (!all.has_layout()) {
      try {
        all.look(files[first]);
        all.count_windows();
      } catch (const InputError& e) {
        if (!spec.skip_damaged) throw;
        all.skip(files[first++], e.what());
        continue;
      }
    }
    const size_t count = std::min(together, files.size() - first);
    std::vector<FileFrames> frames(count);
    std::vector<std::exception_ptr> failed(count);
    parallel_for(static_cast<int64_t>(count), [&](int64_t k) {
      const auto i = static_cast<size_t>(k);
      if (all.is_done(files[first + i])) return;
      try {
        frames[i] = all.read(files[first + i]);
      } catch (...) {
        failed[i] = std::current_exception();
      }
    });
    for (size_t k = 0; k < count; ++k) {
      if (all.is_done(files[first + k])) continue;
      try {
        if (failed[k]) std::rethrow_exception(failed[k]);
        all.keep(files[first + k], std::move(frames[k]));
      } catch (const InputError& e) {
        if (!spec.skip_damaged) throw;
        all.skip(files[first + k], e.what());
      }
    }
    first += count;
    if (report) report(static_cast<int64_t>(first));
  }
  if (!all.has_layout())
    throw InputError("[prepare] expected at least one file that can be read, got none of {}{}", files.size(),
                     all.skipped().empty() ? "" : ": " + all.skipped().front());
  return all.finish(output);
}

}  // namespace htfm
