#include "htfm/schedule/time_polynomial.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/parse_number.h"
#include "htfm/base/split.h"
#include "htfm/signature/limits.h"

namespace htfm {

namespace {

constexpr size_t kMostCoefficients = 17;

// Bernstein's coefficients on [0,1]: b_i = sum_k C(i,k) / C(n,k) c_k.
std::vector<double> bernstein(const std::vector<double>& c) {
  const size_t n = c.size();
  std::vector<double> b(n, 0.0);
  for (size_t i = 0; i < n; ++i) {
    double ratio = 1;
    for (size_t k = 0; k <= i; ++k) {
      b[i] += ratio * c[k];
      ratio *= static_cast<double>(i - k) / static_cast<double>(n - 1 - k + (k + 1 == n));
    }
  }
  return b;
}

struct Search {
  MayVanish ends;
  double rounding;  // of a value

  bool good(double value, bool may_vanish) const { return may_vanish ? value >= -rounding : value > 0; }
  std::optional<double> in(const std::vector<double>& b, double from, double to, int depth) const {
    const bool left = ends.at_0 && from == 0, right = ends.at_1 && to == 1;
    if (!good(b.front(), left)) return from;
    if (!good(b.back(), right)) return to;
    const auto inner = [&](size_t i) { return i == 0 || i + 1 == b.size() || b[i] > 0; };
    bool all = true;
    for (size_t i = 0; i < b.size(); ++i) all = all && inner(i);
    if (all) return std::nullopt;
    const double middle = (from + to) / 2;
    if (depth == 0) return middle;  // as good as a zero
    std::vector<double> first(b.size()), second = b;
    for (size_t k = 0; k < b.size(); ++k) {  // de Casteljau
      first[k] = second[0];
      for (size_t i = 0; i + 1 + k < b.size(); ++i) second[i] = (second[i] + second[i + 1]) / 2;
    }
    if (const auto found = in(first, from, middle, depth - 1)) return found;
    return in(second, middle, to, depth - 1);
  }
};

double parse_coefficient(const std::string& key, const std::string& text) {
  const std::optional<double> v = parse_finite(text);
  if (!v) throw InputError("[{}] expected numbers as coefficients of t, got '{}'", key, text);
  return *v;
}

}  // namespace

TimePolynomial TimePolynomial::derivative() const {
  std::vector<double> d;
  for (size_t k = 1; k < c_.size(); ++k) d.push_back(static_cast<double>(k) * c_[k]);
  return TimePolynomial(std::move(d));
}

TimePolynomial operator+(const TimePolynomial& a, const TimePolynomial& b) {
  std::vector<double> sum(std::max(a.c_.size(), b.c_.size()), 0.0);
  for (size_t k = 0; k < sum.size(); ++k) sum[k] = (k < a.c_.size() ? a.c_[k] : 0) + (k < b.c_.size() ? b.c_[k] : 0);
  return TimePolynomial(std::move(sum));
}

TimePolynomial operator*(const TimePolynomial& a, const TimePolynomial& b) {
  if (a.c_.empty() || b.c_.empty()) return {};
  std::vector<double> product(a.c_.size() + b.c_.size() - 1, 0.0);
  for (size_t i = 0; i < a.c_.size(); ++i)
    for (size_t k = 0; k < b.c_.size(); ++k) product[i + k] += a.c_[i] * b.c_[k];
  return TimePolynomial(std::move(product));
}

TimePolynomial operator*(double factor, const TimePolynomial& p) { return TimePolynomial({factor}) * p; }

std::optional<double> not_positive(const TimePolynomial& p, MayVanish ends) {
  std::vector<double> b = bernstein(p.coefficients());
  if (b.empty()) return 0;
  if (b.size() == 1) b.push_back(b[0]);
  double largest = 0;
  for (const double c : p.coefficients()) largest = std::max(largest, std::abs(c));
  return Search{ends, 1e-14 * largest}.in(b, 0, 1, 40);
}

TimePolynomial parse_polynomial(const std::string& key, const std::string& text) {
  std::vector<double> c;
  for (const std::string& part : split_words(text, " ,\t")) c.push_back(parse_coefficient(key, part));
  if (c.empty() || c.size() > kMostCoefficients)
    throw InputError("[{}] expected 1 to {} coefficients of t, got {}", key, kMostCoefficients, c.size());
  return TimePolynomial(std::move(c));
}

CoefficientCurve parse_curve(const std::string& key, const std::string& text) {
  CoefficientCurve out;
  for (const std::string& part : split_words(text, ";")) {
    const size_t colon = part.find(':');
    const std::vector<std::string> name = split_words(part.substr(0, colon), " \t");
    if (name.empty() && colon == std::string::npos) continue;
    std::string word = name.size() == 1 ? name[0] : "";
    const bool known =
        word == "1" || (!word.empty() && word.find_first_not_of("tc") == std::string::npos && word.size() <= kMaxDepth);
    if (colon == std::string::npos || !known)
      throw InputError("[{}] expected word: coefficients, with 1 or a word of at most {} letters t and c, got '{}'",
                       key, kMaxDepth, part);
    if (word == "1") word.clear();
    if (std::find(out.words.begin(), out.words.end(), word) != out.words.end())
      throw InputError("[{}] expected each word once, got '{}' twice", key, name[0]);
    out.words.push_back(word);
    out.curves.push_back(parse_polynomial(key, part.substr(colon + 1)));
  }
  return out;
}

}  // namespace htfm
