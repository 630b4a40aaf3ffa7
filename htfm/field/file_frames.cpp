#include "htfm/field/file_frames.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "htfm/base/error.h"
#include "htfm/field/same_time.h"
#include "htfm/field/windows.h"
#include "htfm/io/text.h"
#include "htfm/io/unit.h"

namespace htfm {
namespace {

std::vector<float> read_windows(const FieldMessage& m, const PrepareSpec& spec, const std::vector<Window>& windows) {
  const Window all = hull(windows);
  const int64_t size = windows.front().size();
  std::vector<float> out(windows.size() * static_cast<size_t>(size));
  m.visit_window(all, [&](int64_t j, const double* row) {
    for (size_t k = 0; k < windows.size(); ++k) {
      const Window& w = windows[k];
      const int64_t at = all.row + j - w.row;
      if (at < 0 || at >= w.height) continue;
      float* to = out.data() + static_cast<int64_t>(k) * size + at * w.width;
      const double* from = row + (w.column - all.column);
      for (int64_t i = 0; i < w.width; ++i)
        to[i] = spec.mask_below && from[i] < *spec.mask_below ? std::numeric_limits<float>::quiet_NaN()
                                                              : static_cast<float>(from[i]);
    }
  });
  return out;
}

// The wet points outside each window that are the nearest to some point of it, as far as the transform looks.
std::vector<std::vector<int32_t>> find_outside(const FieldMessage& m, const FieldTransform& t,
                                               const std::vector<Window>& windows) {
  const Window all = grown(hull(windows), static_cast<int64_t>(std::ceil(t.reach)), *m.grid);
  std::vector<uint8_t> wet(static_cast<size_t>(all.size()));
  m.visit_window(all, [&](int64_t j, const double* row) {
    for (int64_t i = 0; i < all.width; ++i)  // as the window holds it
      wet[static_cast<size_t>(j * all.width + i)] = static_cast<double>(static_cast<float>(row[i])) >= *t.threshold;
  });
  const NearestWet grid(wet, all.height, all.width);
  using Point = std::pair<int32_t, int32_t>;
  std::vector<std::vector<Point>> found(windows.size());
  std::vector<NearestWet::Site> nearest;
  for (int64_t j = 0; j < all.height; ++j) {
    bool ready = false;
    for (size_t k = 0; k < windows.size(); ++k) {
      const Window& w = windows[k];
      const int64_t row = all.row + j - w.row, left = w.column - all.column;
      if (row < 0 || row >= w.height) continue;
      if (!ready) grid.row(j, nearest);
      ready = true;
      for (int64_t i = 0; i < w.width; ++i) {
        const NearestWet::Site& s = nearest[static_cast<size_t>(left + i)];
        if (s.row < 0) continue;
        const auto down = static_cast<int32_t>(all.row + s.row - w.row), across = static_cast<int32_t>(s.column - left);
        const bool inside = down >= 0 && down < w.height && across >= 0 && across < w.width;
        const double away =
            std::hypot(static_cast<double>(down) - static_cast<double>(row), static_cast<double>(across - i));
        if (inside || away > t.reach) continue;
        if (found[k].empty() || found[k].back() != Point{down, across}) found[k].emplace_back(down, across);
      }
    }
  }
  std::vector<std::vector<int32_t>> out(windows.size());
  for (size_t k = 0; k < windows.size(); ++k) {
    std::sort(found[k].begin(), found[k].end());
    found[k].erase(std::unique(found[k].begin(), found[k].end()), found[k].end());
    for (const auto& [row, column] : found[k]) out[k].push_back(row), out[k].push_back(column);
  }
  return out;
}

// Where the corners of a grid lie.
std::string ends_text(const Grid& g) {
  if (!g.has_places()) return "";
  const Place first = g.at(0, 0), last = g.at(g.height - 1, g.width - 1);
  return fmt::format(", from {:.8g}, {:.8g} to {:.8g}, {:.8g}", first.latitude, first.longitude, last.latitude,
                     last.longitude);
}

struct FirstIsEnough {};  // ends a visit

// A second field of a channel for one time and member.
struct Another {
  std::string text;
  int64_t time;
  std::optional<int64_t> member;
  bool dated;
};

}  // namespace

FrameLayout look_at_first(const std::string& file, const PrepareSpec& spec) {
  FrameLayout out{.file = file};
  for (size_t c = 0; c < spec.channels.size(); ++c) {
    try {
      visit_fields(file, spec.channels[c], [&](const FieldMessage& m) {
        out.names.push_back(c < spec.names.size() ? spec.names[c]
                            : m.name == "unknown" ? spec.channels[c].text()
                                                  : m.name);
        out.units.push_back(c < spec.units.size() ? spec.units[c] : is_no_unit(m.units) ? "" : m.units);
        out.own_units.push_back(m.units);
        out.texts.push_back(m.text);
        if (c > 0) throw FirstIsEnough{};
        out.grid = m.grid, out.calendar = m.calendar, out.dated = m.dated;
        out.windows = choose_windows(spec, *m.grid, file);
        out.asked = static_cast<int64_t>(out.windows.size());
        if (spec.tiles > 0) {  // those inside the coverage of the first frame
          const std::vector<float> values = read_windows(m, spec, out.windows);
          const int64_t size = out.windows.front().size();
          std::vector<Window> inside;
          for (size_t k = 0; k < out.windows.size(); ++k) {
            const float* own = values.data() + static_cast<int64_t>(k) * size;
            if (std::none_of(own, own + size, [](float v) { return std::isnan(v); })) inside.push_back(out.windows[k]);
          }
          if (inside.empty())
            throw InputError("[prepare] {}: expected windows of {} x {} inside the coverage, got none of {}", file,
                             spec.height, spec.width, out.windows.size());
          out.windows = std::move(inside);
        }
        throw FirstIsEnough{};
      });
    } catch (const FirstIsEnough&) {
    }
  }
  return out;
}

FileFrames read_frames(const std::string& file, const PrepareSpec& spec, const FrameLayout& layout) {
  FileFrames out;
  for (size_t c = 0; c < spec.channels.size(); ++c) try {
      visit_fields(file, spec.channels[c], [&](const FieldMessage& m) {
        if (m.grid->key != layout.grid->key) {
          const bool alike = m.grid->text() == layout.grid->text();
          const auto shown = [&](const Grid& g) { return alike ? g.text() + ends_text(g) : g.text(); };
          throw InputError("[prepare] {}: expected the grid of {} ({}), got {}{}", file, layout.file,
                           shown(*layout.grid), alike ? "another " : "", shown(*m.grid));
        }
        if (!is_no_unit(m.units) && !is_no_unit(layout.own_units[c]) && !is_same_unit(m.units, layout.own_units[c]))
          throw InputError("[prepare] {}: expected '{}' in {}, as in {}, got {}: convert one of them first", file,
                           m.name, in_quotes(layout.own_units[c]), layout.file, in_quotes(m.units));
        if (m.dated != layout.dated)
          throw InputError("[prepare] {}: expected fields {}, as in {}, got '{}' {}", file,
                           layout.dated ? "with a date" : "without dates", layout.file, m.name,
                           layout.dated ? "without" : "with dates");
        if (m.dated && m.calendar != layout.calendar)
          throw InputError("[prepare] {}: expected the calendar of {} ({}), got {}", file, layout.file,
                           calendar_name(layout.calendar), calendar_name(m.calendar));
        Frame& frame = out[{m.time, m.member.value_or(-1)}];
        frame.channels.resize(spec.channels.size());
        if (!frame.channels[c].empty()) throw Another{m.text, m.time, m.member, m.dated};
        frame.channels[c] = read_windows(m, spec, layout.windows);
        if (!(spec.transform.reach > 0)) return;
        frame.outside.resize(spec.channels.size());
        const bool plain = std::find(spec.plain.begin(), spec.plain.end(), layout.names[c]) != spec.plain.end();
        frame.outside[c] = plain ? std::vector<std::vector<int32_t>>(layout.windows.size())
                                 : find_outside(m, spec.transform, layout.windows);
      });
    } catch (const Another& a) {
      const FieldChoice& choice = spec.channels[c];
      throw InputError("[prepare] {}: expected one field for '{}'{}, got several: {} ({})", file, choice.text(),
                       a.dated ? " at " + moment_text(a.time, layout.calendar) : "", a.text,
                       same_time_text(file, choice, a.time, a.member));
    }
  return out;
}

}  // namespace htfm
