#include "htfm/method/states.h"

#include <algorithm>
#include <cmath>

namespace htfm {

HostStates::HostStates(const Velocity& velocity, int64_t rows, int64_t dim, double* x)
    : velocity_(velocity), rows_(rows), dim_(dim), registers_{x} {}

int HostStates::add() {
  own_.emplace_back(static_cast<size_t>(rows_ * dim_));
  registers_.push_back(own_.back().data());
  return static_cast<int>(registers_.size()) - 1;
}

void HostStates::evaluate(int x, const double* t, int v) {
  velocity_(registers_[static_cast<size_t>(x)], t, registers_[static_cast<size_t>(v)]);
}

void HostStates::combine(int out, std::span<const Term> terms) {
  double* to = registers_[static_cast<size_t>(out)];
  std::vector<double> coefficient(terms.size());
  std::vector<const double*> from;
  for (const Term& t : terms) from.push_back(registers_[static_cast<size_t>(t.from)]);
  for (int64_t r = 0; r < rows_; ++r) {
    for (size_t j = 0; j < terms.size(); ++j)
      coefficient[j] = terms[j].factor ? terms[j].constant * terms[j].factor[r] : terms[j].constant;
    for (int64_t k = r * dim_; k < (r + 1) * dim_; ++k) {
      double sum = coefficient[0] * from[0][k];
      for (size_t j = 1; j < from.size(); ++j) sum += coefficient[j] * from[j][k];
      to[k] = sum;
    }
  }
}

double HostStates::worst_error(int e, int a, int b, double atol, double rtol) {
  const double *error = registers_[static_cast<size_t>(e)], *x = registers_[static_cast<size_t>(a)],
               *y = registers_[static_cast<size_t>(b)];
  double worst = 0;
  for (int64_t row = 0; row < rows_; ++row) {
    double sum = 0;
    for (int64_t i = row * dim_; i < (row + 1) * dim_; ++i) {
      const double scale = atol + rtol * std::max(std::abs(x[i]), std::abs(y[i]));
      sum += (error[i] / scale) * (error[i] / scale);
    }
    const double norm = std::sqrt(sum / static_cast<double>(dim_));
    if (std::isfinite(norm)) worst = std::max(worst, norm);
  }
  return worst;
}

void HostStates::noise(int out, Key key, int64_t first) {
  fill_normal(key, static_cast<uint64_t>(first * dim_), rows_ * dim_, registers_[static_cast<size_t>(out)]);
}

void HostStates::fill(int out, std::span<const double> row) {
  for (int64_t r = 0; r < rows_; ++r)
    std::copy(row.begin(), row.end(), registers_[static_cast<size_t>(out)] + r * dim_);
}

void HostStates::clamp(int x, double bound) {
  double* p = registers_[static_cast<size_t>(x)];
  for (int64_t k = 0; k < rows_ * dim_; ++k) p[k] = std::clamp(p[k], -bound, bound);
}

}  // namespace htfm
