#include "htfm/clock/radial_law.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/clock/kanter_nodes.h"

namespace htfm {

namespace {

// Knots of log r. Beyond the last one both laws are powers to more digits than a table has.
constexpr double kFirst = -9, kStep = 0.01;
constexpr int64_t kKnots = 2601;

double knot(int64_t i) { return kFirst + kStep * static_cast<double>(i); }

}  // namespace

RadialLaw::RadialLaw(RadialFamily family, double index, int64_t dim)
    : family_(family), index_(index), dim_(static_cast<double>(dim)) {
  if (!(index > 0) || (family == RadialFamily::stable && !(index < 2)))
    throw Error("[radial law] expected an index above 0, and below 2 for a stable law, got {}", index);
  log_density_.resize(kKnots), log_weight_.resize(kKnots), log_survival_.resize(kKnots);
  family == RadialFamily::student ? fill_student() : fill_stable();
  // Shells from outside inwards, powers of r between knots and beyond the last one.
  const double log_sphere = std::log(2.0) + dim_ / 2 * std::log(M_PI) - std::lgamma(dim_ / 2);
  const auto shell = [&](int64_t i) { return std::exp(log_sphere + dim_ * knot(i) + log_density_[i]); };
  const auto between = [](double a, double b) {
    const double fall = std::log(a / b);
    return kStep * (std::abs(fall) > 1e-6 ? (a - b) / fall : (a + b) / 2);
  };
  double outside = shell(kKnots - 1), beyond = outside / index_;
  log_survival_.back() = std::log(beyond);
  for (int64_t i = kKnots - 2; i >= 0; --i) {
    const double inside = shell(i);
    beyond += between(inside, outside), outside = inside;
    log_survival_[i] = std::min(0.0, std::log(beyond));
  }
}

void RadialLaw::fill_student() {
  const double nu = index_,
               constant = std::lgamma((nu + dim_) / 2) - std::lgamma(nu / 2) - dim_ / 2 * std::log(nu * M_PI);
  for (int64_t i = 0; i < kKnots; ++i) {
    const double square = std::exp(2 * knot(i));
    log_density_[i] = constant - (nu + dim_) / 2 * std::log1p(square / nu);
    log_weight_[i] = std::log((nu + dim_) / (nu + square));
  }
}

namespace {

// The law of V = 2 S in nodes (ScoreTable::positive_stable has more digits, and takes longer than a search for an index
// can wait). With y = S^(-rho/(1-rho)) the density of log y is the mean of a(U) y exp(-a(U) y); nodes lie closer where
// it bends.
struct Nodes {
  std::vector<double> log_v, log_share;
};
Nodes stable_nodes(double rho) {
  constexpr double kReach = 2 * 20;  // in log r the nodes reach to 20
  const double rest = 1 - rho;
  const auto [a, weight] = KanterNodes(rho, 0.1, 60);
  std::vector<double> log_y;
  double step = 0.04;
  for (double at = std::log(60 / (rest * std::pow(rho, rho / rest))); at > -kReach * rho / rest; at -= step) {
    log_y.push_back(at);
    if (at < -2) step = std::min(step * 1.03, std::max(0.04, 0.06 / rest));
  }
  Nodes out;
  for (size_t j = 1; j + 1 < log_y.size(); ++j) {
    const double y = std::exp(log_y[j]);
    double density = 0;
    for (size_t k = 0; k < a.size(); ++k) {
      const double x = a[k] * y;
      if (x < 60) density += weight[k] * x * std::exp(-x);
    }
    if (!(density > 0)) continue;
    out.log_v.push_back(std::log(2.0) - rest / rho * log_y[j]);
    out.log_share.push_back(std::log(density * (log_y[j - 1] - log_y[j + 1]) / 2));
  }
  return out;
}

}  // namespace

// The mean over V of the normal densities.
void RadialLaw::fill_stable() {
  const Nodes nodes = stable_nodes(index_ / 2);
  std::vector<double> inverse, log_weight;
  for (size_t k = 0; k < nodes.log_v.size(); ++k) {
    inverse.push_back(std::exp(-nodes.log_v[k]));
    log_weight.push_back(nodes.log_share[k] - dim_ / 2 * (std::log(2 * M_PI) + nodes.log_v[k]));
  }
  parallel_ranges(kKnots, 64, [&](int64_t begin, int64_t end) {
    std::vector<double> term(inverse.size());
    for (int64_t i = begin; i < end; ++i) {
      const double half = std::exp(2 * knot(i)) / 2;
      double top = -std::numeric_limits<double>::infinity();
      for (size_t k = 0; k < term.size(); ++k) top = std::max(top, term[k] = log_weight[k] - half * inverse[k]);
      double sum = 0, weighted = 0;
      for (size_t k = 0; k < term.size(); ++k) {
        if (term[k] < top - 40) continue;
        const double share = std::exp(term[k] - top);
        sum += share, weighted += share * inverse[k];
      }
      log_density_[i] = top + std::log(sum);
      log_weight_[i] = std::log(weighted / sum);
    }
  });
}

double RadialLaw::at(const std::vector<double>& table, double r, double slope) const {
  const double place = (std::log(std::max(r, 1e-300)) - kFirst) / kStep;
  if (place <= 0) return table.front();
  if (place >= kKnots - 1) return table.back() + slope * kStep * (place - (kKnots - 1));
  const auto i = static_cast<int64_t>(place);
  return std::lerp(table[i], table[i + 1], place - static_cast<double>(i));
}

double RadialLaw::weight(double r) const { return std::exp(at(log_weight_, r, -2)); }

}  // namespace htfm
