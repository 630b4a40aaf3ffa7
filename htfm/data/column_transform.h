// The transform of one column of a table for the model. Whole numbers and other lattices are spread over their cells, a
// lower bound is moved to minus infinity, a share of equal values at the bound becomes an interval below it; then
// median and quantile range set centre and scale. Far from the bound the map is affine: a power law stays a power law
// with the same index.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"

namespace htfm HTFM_PUBLIC {

/// The map and what it honours. All fields but the values are numbers, so that a checkpoint keeps them as one row of a
/// matrix.
struct ColumnTransform {
  bool constant = false;  ///< the column is `origin` everywhere; the model does not see it
  bool flip = false;      ///< the bound is above: y = -x takes the place of x
  /// Values are (origin + k gap) / 10^decimals with whole k; gap 0: any number. The origin is the least value then.
  double origin = 0, gap = 0, decimals = 0;
  bool bounded = false, atom = false;
  double bound = 0;      ///< the lower bound of y
  double bend = 0;       ///< width over which a bound without atom is bent to minus infinity
  double width = 0;      ///< of the interval that stands for an atom at the bound
  bool touched = false;  ///< the data hold the bound itself, if only rarely
  /// Least and most that is given out: the bound, and ends of the scale where many values lie.
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  double centre = 0, scale = 1;
  /// Ascending; where not empty the column is one of these, and their places 0, 1, ... take the place of its values
  /// above.
  std::vector<double> values = {};

  /// Recognises the kind of a column; the values are finite. Reads at most all of them, in any order.
  static ColumnTransform recognise(std::vector<double> values, Key key);
  /// y = (x - centre) / scale and nothing else.
  static ColumnTransform affine(double centre, double scale);

  /// Into the model's units. `u`: a uniform number in (0,1) for what is spread.
  double apply(double x, double u) const;
  /// Back; any finite number gives a value of the column's kind.
  double invert(double z) const;
  /// The value itself, or its place among `values`, spread over its cell where the column is a lattice; and back, to a
  /// value of the column's kind. For laws that are fitted to the values as they are.
  double spread(double x, double u) const;
  double settle(double y) const;
  /// Significant digits that the model can tell apart: those of float32, and more where the column lies far from zero.
  int digits() const;
  /// Step of the lattice in the column's units, 0 where there is none.
  double step() const;

  /// Whether a bound is felt at z and below.
  bool bends(double z) const;

  /// "whole numbers, at least 0, often equal to it": for logs and reports.
  std::string describe() const;

  static constexpr int kNumbers = 15;
  std::vector<double> numbers() const;
  static ColumnTransform from_numbers(const double* v);

 private:
  double bent(double y, double u) const;
  double unbent(double z) const;
  double snapped(double x) const;
  double place(double x) const;
};

}  // namespace htfm
