#include "htfm/field/prepare.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "htfm/base/error.h"
#include "htfm/field/calendar.h"
#include "htfm/field/time_part.h"
#include "htfm/io/mapped_file.h"

namespace htfm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<Window> choose_windows(const PrepareSpec& spec, const Grid& grid, const std::string& file) {
  const int ways = spec.offset.has_value() + spec.centre.has_value() + spec.box.has_value() + (spec.tiles > 0);
  if (ways > 1) throw InputError("[window] expected one of offset, centre, box and tiles, got {}", ways);
  if ((spec.height > 0) != (spec.width > 0))
    throw InputError("[size] expected rows and columns, got {} x {}", spec.height, spec.width);
  if (spec.box && spec.height > 0) throw InputError("[size] expected none with box, which has its own");
  if ((spec.offset || spec.centre || spec.tiles > 0) && spec.height < 1)
    throw InputError("[size] expected the size of a window");
  std::vector<Window> out;
  if (spec.tiles > 0) {
    for (int64_t j = 0; j + spec.height <= grid.height; j += spec.tiles)
      for (int64_t i = 0; i + spec.width <= grid.width; i += spec.tiles) out.push_back({j, i, spec.height, spec.width});
    if (out.empty()) grid.check({0, 0, spec.height, spec.width}, file);
  } else if (spec.box) {
    out.push_back(grid.between(spec.box->first, spec.box->second, file));
  } else if (spec.centre) {
    out.push_back(grid.around(*spec.centre, spec.height, spec.width, file));
  } else if (spec.height > 0) {
    const auto [row, column] = spec.offset.value_or(std::pair<int64_t, int64_t>{0, 0});
    out.push_back({row, column, spec.height, spec.width});
  } else {
    out.push_back(grid.whole());
  }
  grid.check(out.back(), file);
  return out;
}

Window hull(const std::vector<Window>& windows) {
  Window out = windows.front();
  for (const Window& w : windows) {
    const int64_t bottom = std::max(out.row + out.height, w.row + w.height),
                  right = std::max(out.column + out.width, w.column + w.width);
    out.row = std::min(out.row, w.row), out.column = std::min(out.column, w.column);
    out.height = bottom - out.row, out.width = right - out.column;
  }
  return out;
}

// The windows of one frame, channel by channel; NaN where missing.
struct Frame {
  std::vector<std::vector<float>> channels;
};

class Preparation {
 public:
  Preparation(const PrepareSpec& spec, const std::string& output)
      : spec_(spec), scratch_(fs::path(output).parent_path().string()) {
    spec.transform.check();
    if (spec.channels.empty()) throw InputError("[variable] expected the variable to read");
    set_.channels.resize(spec.channels.size()), set_.units.resize(spec.channels.size());
    dry_below_ = spec.transform.threshold.value_or(std::numeric_limits<double>::denorm_min());
  }

  void read(const std::string& file) {
    std::map<int64_t, Frame> frames;  // by time
    for (size_t c = 0; c < spec_.channels.size(); ++c)
      visit_fields(file, spec_.channels[c], [&](const FieldMessage& m) {
        Frame& frame = frames[m.time];
        frame.channels.resize(spec_.channels.size());
        if (!frame.channels[c].empty())
          throw InputError("[prepare] {}: expected one field for '{}' at {}, got another: {} (choose by level or step)",
                           file, spec_.channels[c].text(), moment_text(m.time), m.text);
        if (set_.channels[c].empty()) name_channel(c, m);
        look_at_grid(m, file);
        frame.channels[c] = read_windows(m);
      });
    int64_t kept = 0;
    for (auto& [time, frame] : frames) kept += keep(time, frame, file);
    files_.push_back({{"name", fs::path(file).filename().string()}, {"bytes", fs::file_size(file)}, {"fields", kept}});
    ++summary_.files;
  }

  PrepareSummary finish(const std::string& output) {
    const int64_t channels = static_cast<int64_t>(spec_.channels.size()), n = static_cast<int64_t>(times_.size());
    const TimePart test(spec_.test, "test"), train(spec_.train, "train");
    if (n == 0)
      throw InputError(
          "[prepare] {}: expected a field without missing values, got none: {} of {} frames' fields dropped",
          first_file_, summary_.missing, summary_.frames);
    const std::vector<bool> held = test.of(times_), taught = train.of(times_);
    std::vector<int64_t> index;
    for (int64_t i = 0; i < n; ++i) {
      if (!held[i] && !train.empty() && !taught[i]) continue;
      index.push_back(i);
      ++(held[i] ? summary_.test : summary_.train);
    }
    summary_.neither = n - static_cast<int64_t>(index.size());
    if (summary_.train == 0)
      throw InputError("[prepare] {}: expected fields to train on ({}), got none: times run from {} to {}", first_file_,
                       spec_.train.empty() ? "all but " + spec_.test : spec_.train,
                       moment_text(*std::min_element(times_.begin(), times_.end())),
                       moment_text(*std::max_element(times_.begin(), times_.end())));
    const Window& size = windows_.front();
    // Fields of neither part have a place in the scratch file; they are left out by copying the others, where there are
    // any.
    std::shared_ptr<const MappedFile> all = scratch_.map();
    ScratchFile chosen(fs::path(output).parent_path().string());
    const auto bytes = static_cast<size_t>(channels * size.size()) * sizeof(float);
    if (summary_.neither > 0) {
      for (const int64_t i : index) chosen.append(all->bytes().data() + static_cast<size_t>(i) * bytes, bytes);
      all = chosen.map();
    }
    const auto count = static_cast<int64_t>(index.size());
    set_.fields = mapped_tensor(all, 0, {count, channels, size.height, size.width}, at::kFloat);
    set_.time = at::empty({count}, at::kLong), set_.held_out = at::empty({count}, at::kByte);
    set_.place = at::empty({count, 2}, at::kLong), set_.corners = at::empty({count, 4}, at::kDouble);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = index[static_cast<size_t>(k)];
      const Window& w = windows_[static_cast<size_t>(window_of_[i])];
      set_.time.mutable_data_ptr<int64_t>()[k] = times_[i];
      set_.held_out.mutable_data_ptr<uint8_t>()[k] = held[i];
      set_.place.mutable_data_ptr<int64_t>()[2 * k] = w.row,
                                                 set_.place.mutable_data_ptr<int64_t>()[2 * k + 1] = w.column;
      double* corner = set_.corners.mutable_data_ptr<double>() + 4 * k;
      std::fill_n(corner, 4, std::numeric_limits<double>::quiet_NaN());
      if (grid_->has_places()) {
        const Place a = grid_->at(w.row, w.column), b = grid_->at(w.row + w.height - 1, w.column + w.width - 1);
        corner[0] = a.latitude, corner[1] = a.longitude, corner[2] = b.latitude, corner[3] = b.longitude;
      }
    }
    fit_transform();
    set_.south_first = grid_->south_first;
    describe();
    write_field_set(output, set_);
    return summary_;
  }

 private:
  void name_channel(size_t c, const FieldMessage& m) {
    set_.channels[c] = c < spec_.names.size() ? spec_.names[c]
                       : m.name == "unknown"  ? spec_.channels[c].text()
                                              : m.name;
    set_.units[c] = c < spec_.units.size() ? spec_.units[c] : m.units == "unknown" || m.units == "~" ? "" : m.units;
    texts_.push_back(m.text);
  }

  void look_at_grid(const FieldMessage& m, const std::string& file) {
    if (grid_) {
      if (m.grid->key != grid_->key)
        throw InputError("[prepare] {}: expected the grid of {} ({}), got {}{}", file, first_file_, grid_->text(),
                         m.grid->text() == grid_->text() ? "another " : "", m.grid->text());
      return;
    }
    grid_ = m.grid, first_file_ = file;
    windows_ = choose_windows(spec_, *grid_, file);
    summary_.windows = static_cast<int64_t>(windows_.size());
    if (spec_.tiles > 0) {  // those inside the coverage of the first frame
      const std::vector<float> values = read_windows(m);
      const int64_t size = windows_.front().size();
      std::vector<Window> inside;
      for (size_t k = 0; k < windows_.size(); ++k) {
        const float* own = values.data() + static_cast<int64_t>(k) * size;
        if (std::none_of(own, own + size, [](float v) { return std::isnan(v); })) inside.push_back(windows_[k]);
      }
      if (inside.empty())
        throw InputError("[prepare] {}: expected windows of {} x {} inside the coverage, got none of {}", file,
                         spec_.height, spec_.width, windows_.size());
      windows_ = std::move(inside);
    }
    summary_.covered = static_cast<int64_t>(windows_.size());
  }

  std::vector<float> read_windows(const FieldMessage& m) const {
    const Window all = hull(windows_);
    const int64_t size = windows_.front().size();
    std::vector<float> out(windows_.size() * static_cast<size_t>(size));
    m.visit_rows(all, [&](int64_t j, const double* row) {
      for (size_t k = 0; k < windows_.size(); ++k) {
        const Window& w = windows_[k];
        const int64_t at = all.row + j - w.row;
        if (at < 0 || at >= w.height) continue;
        float* to = out.data() + static_cast<int64_t>(k) * size + at * w.width;
        const double* from = row + (w.column - all.column);
        for (int64_t i = 0; i < w.width; ++i)
          to[i] = spec_.mask_below && from[i] < *spec_.mask_below ? std::numeric_limits<float>::quiet_NaN()
                                                                  : static_cast<float>(from[i]);
      }
    });
    return out;
  }

  int64_t keep(int64_t time, const Frame& frame, const std::string& file) {
    if (std::any_of(frame.channels.begin(), frame.channels.end(), [](const auto& c) { return c.empty(); })) {
      ++summary_.incomplete;
      return 0;
    }
    if (const auto [at, fresh] = seen_.emplace(time, file); !fresh)
      throw InputError("[prepare] {}: expected another time than {}, which {} holds", file, moment_text(time),
                       at->second);
    ++summary_.frames;
    const int64_t size = windows_.front().size();
    int64_t kept = 0;
    for (size_t k = 0; k < windows_.size(); ++k) {
      bool whole = true;
      for (const std::vector<float>& c : frame.channels) {
        const float* own = c.data() + static_cast<int64_t>(k) * size;
        whole = whole && std::all_of(own, own + size, [](float v) { return std::isfinite(v); });
      }
      if (!whole) {
        ++summary_.missing;
        continue;
      }
      for (const std::vector<float>& c : frame.channels)
        scratch_.append(c.data() + static_cast<int64_t>(k) * size, static_cast<size_t>(size) * sizeof(float));
      times_.push_back(time), window_of_.push_back(static_cast<int64_t>(k));
      ++kept;
    }
    return kept;
  }

  // Mean and deviation of the training part, after the logarithm; two passes, field by field, so that nothing cancels.
  void fit_transform() {
    FieldTransform& t = set_.transform = spec_.transform;
    const int64_t n = set_.size(), channels = set_.fields.size(1), plane = set_.fields.size(2) * set_.fields.size(3);
    const float* x = set_.fields.const_data_ptr<float>();
    const auto* held = set_.held_out.const_data_ptr<uint8_t>();
    t.mean.assign(static_cast<size_t>(channels), 0), t.deviation.assign(static_cast<size_t>(channels), 1);
    summary_.lowest = std::numeric_limits<double>::infinity(), summary_.highest = -summary_.lowest;
    int64_t dry = 0;
    double (*const bend)(double) = t.bend();
    const double first = t.dry_moment(1), second = t.dry_moment(2);  // of what a dry value becomes
    const double count = static_cast<double>(summary_.train) * static_cast<double>(plane);
    for (int64_t c = 0; c < channels; ++c) {
      const auto field = [&](int64_t i) { return x + (i * channels + c) * plane; };
      double sum = 0, squares = 0;
      int64_t spread = 0;  // dry values of the training part
      for (int64_t i = 0; i < n; ++i) {
        double own = 0;
        for (int64_t k = 0; k < plane; ++k) {
          const double v = field(i)[k];
          summary_.lowest = std::min(summary_.lowest, v), summary_.highest = std::max(summary_.highest, v);
          dry += v < dry_below_;
          if (held[i]) continue;
          if (t.is_dry(v))
            ++spread;
          else
            own += bend(v / t.unit);
        }
        sum += own;
      }
      const double mean = (sum + static_cast<double>(spread) * first) / count;
      if (!std::isfinite(mean))
        throw InputError("[transform] expected values above {}, got {} (choose asinh or none)", -t.unit,
                         summary_.lowest);
      for (int64_t i = 0; i < n; ++i) {
        double own = 0;
        for (int64_t k = 0; k < plane && !held[i]; ++k)
          if (const double v = field(i)[k]; !t.is_dry(v)) own += (bend(v / t.unit) - mean) * (bend(v / t.unit) - mean);
        squares += own;
      }
      squares += static_cast<double>(spread) * (second - 2 * mean * first + mean * mean);
      t.mean[static_cast<size_t>(c)] = mean;
      t.deviation[static_cast<size_t>(c)] = std::sqrt(squares / count);
      if (!(squares > 0) || static_cast<double>(spread) == count)
        throw InputError("[prepare] {}: expected values of '{}' that vary, got {}", first_file_,
                         set_.channels[static_cast<size_t>(c)], spread > 0 ? "dry ones alone" : "one value alone");
    }
    summary_.dry = static_cast<double>(dry) / static_cast<double>(set_.fields.numel());
  }

  void describe() {
    json p;
    p["recipe"] = spec_.recipe;
    p["fields"] = texts_;
    p["grid"] = grid_->text();
    p["window"] = {windows_.front().height, windows_.front().width};
    p["windows"] = summary_.covered;
    if (spec_.tiles > 0) p["tiles"] = spec_.tiles;
    if (spec_.mask_below) p["mask_below"] = *spec_.mask_below;
    p["train"] = spec_.train, p["test"] = spec_.test;
    p["dropped_missing"] = summary_.missing, p["dropped_incomplete"] = summary_.incomplete,
    p["dropped_neither"] = summary_.neither;
    p["files"] = files_;
    set_.provenance = p.dump();
  }

  const PrepareSpec& spec_;
  ScratchFile scratch_;
  double dry_below_;
  FieldSet set_;
  PrepareSummary summary_;
  std::shared_ptr<const Grid> grid_;
  std::vector<Window> windows_;
  std::string first_file_;
  std::vector<std::string> texts_;
  std::map<int64_t, std::string> seen_;  // the file that holds a time
  std::vector<int64_t> times_, window_of_;
  json files_ = json::array();
};

}  // namespace

PrepareSummary prepare_fields(const std::vector<std::string>& files, const PrepareSpec& spec, const std::string& output,
                              const std::function<void(int64_t done)>& report) {
  if (files.empty()) throw InputError("[prepare] expected files of fields");
  Preparation all(spec, output);
  for (size_t k = 0; k < files.size(); ++k) {
    all.read(files[k]);
    if (report) report(static_cast<int64_t>(k) + 1);
  }
  return all.finish(output);
}

}  // namespace htfm
