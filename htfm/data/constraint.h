// Simple relations between the columns of a table that every row keeps: "paid <= incurred", "total = net + tax".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// One column against a sum of others: column <= sum, column >= sum or column = sum (< and > where it is strict), where
/// the sum is constant + sign_1 column_1 + ...
struct Constraint {
  enum class Sense { at_most, at_least, equal };
  struct Term {
    int64_t column = 0;
    double sign = 1;
    bool operator==(const Term&) const = default;
  };
  int64_t column = 0;
  Sense sense = Sense::at_most;
  std::vector<Term> terms = {};
  double constant = 0;
  std::string text = {};  ///< as the user wrote it
  bool strict = false;    ///< the two sides differ in every row

  bool operator==(const Constraint&) const = default;
};

/// Reads constraints, separated by semicolons: names of columns (in double quotes where they have blanks or signs) and
/// numbers with + and -, on both sides of <=, >=, <, > or =. InputError for anything else.
std::vector<Constraint> parse_constraints(const std::string& text, const std::vector<std::string>& names);

}  // namespace htfm
