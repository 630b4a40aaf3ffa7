// Zolotarev and Kanter's form of the positive stable law, E exp(-s V) = exp(-s^rho): V = (a(U) / E)^((1-rho)/rho), U
// uniform on (0, pi) and E exponential.
#pragma once

#include <cmath>
#include <vector>

namespace htfm {

/// Means over U as plain sums, sum of weight f(a). In the logit of U / pi the integrand is smooth and falls
/// exponentially on both sides, so that a sum over small steps is exact to rounding.
struct KanterNodes {
  std::vector<double> a, weight;

  /// Logits from -end to end.
  KanterNodes(double rho, double step, double end) {
    const double rest = 1 - rho;
    for (double t = -end; t < end; t += step) {
      const double left = 1 / (1 + std::exp(t)), u = M_PI / (1 + std::exp(-t));
      weight.push_back(step * left * u / M_PI);
      a.push_back(std::exp(std::log(std::sin(rest * u)) + rho / rest * std::log(std::sin(rho * u)) -
                           std::log(std::sin(u < 1 ? u : M_PI * left)) / rest));
    }
  }
};

}  // namespace htfm
