#include "htfm/page/tail_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace htfm {

std::string index_text(double index) {
  return std::isinf(index) ? "∞" : std::isnan(index) ? "-" : fmt::format("{:.2f}", index);
}

std::string interval_text(const Interval& i) {
  return std::isnan(i.lower) ? "" : fmt::format("{} to {}", index_text(i.lower), index_text(i.upper));
}

std::string estimate_text(const TailEstimate& e) {
  return std::isnan(e.gamma) ? "-" : fmt::format("{} ({})", index_text(e.index()), interval_text(e.index_interval()));
}

std::vector<const TailReport*> listed_tails(const Diagnosis& d) {
  std::vector<const TailReport*> all{&d.radius};
  for (const TailReport& side : d.sides) all.push_back(&side);
  return all;
}

DirectionCounts count_directions(const Diagnosis& d) {
  DirectionCounts out;
  for (const TailReport& r : d.directions)
    ++(r.verdict == TailVerdict::heavy ? out.heavy : r.verdict == TailVerdict::light ? out.light : out.unclear);
  return out;
}

std::array<std::string, 5> skewness_cells(const Skewness& s) {
  const std::string verdict = skew_verdict_name(s.verdict);
  if (s.verdict == SkewVerdict::unclear) return {s.name, verdict, "-", "-", "-"};
  return {
      s.name, verdict,
      fmt::format("{:+.3f} ({:+.3f} to {:+.3f})", s.body, s.body_interval.lower, s.body_interval.upper),
      fmt::format("{:.2f} ({:.2f} to {:.2f}) beyond {:.2g}", s.ratio, s.ratio_interval.lower, s.ratio_interval.upper,
                  s.share),
      fmt::format("{:+.2f} ({:+.2f} to {:+.2f})", s.gamma_difference, s.gamma_interval.lower, s.gamma_interval.upper)};
}

std::string aligned_text(const std::vector<std::vector<std::string>>& rows) {
  const auto width = [](const std::string& s) {
    return static_cast<size_t>(
        std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  };
  std::vector<size_t> widest;
  for (const auto& row : rows) {
    widest.resize(std::max(widest.size(), row.size()), 0);
    for (size_t i = 0; i < row.size(); ++i) widest[i] = std::max(widest[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      out += row[i] + std::string(i + 1 < row.size() ? widest[i] - width(row[i]) + 2 : 0, ' ');
    out += "\n";
  }
  return out;
}

}  // namespace htfm
