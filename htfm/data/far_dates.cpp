#include "htfm/data/far_dates.h"

#include <algorithm>

namespace htfm {

namespace {

constexpr double kYears = 10, kSpans = 3;
constexpr size_t kLeastOthers = 5;

}  // namespace

std::vector<double> far_dates(const std::vector<double>& dates, double year) {
  std::vector<double> far, others = dates;
  for (const bool last : {true, false}) {
    if (others.empty()) break;
    const auto [first_date, last_date] = std::minmax_element(others.begin(), others.end());
    const double end = last ? *last_date : *first_date;
    std::vector<double> inside = others;
    std::erase(inside, end);
    if (inside.size() < kLeastOthers) continue;
    const auto [least, most] = std::minmax_element(inside.begin(), inside.end());
    const double gap = last ? end - *most : *least - end;
    if (gap < kYears * year || gap < kSpans * (*most - *least)) continue;
    far.push_back(end);
    others = std::move(inside);
  }
  return far;
}

}  // namespace htfm
