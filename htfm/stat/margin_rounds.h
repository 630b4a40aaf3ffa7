// Laws of a column that its rows leave possible, one a round: the body of rows drawn with replacement, and tails drawn
// in proportion to their likelihood. Columns that share the rounds' rows share their errors.
#pragma once

#include <cstdint>
#include <vector>

#include "htfm/base/random.h"
#include "htfm/stat/gpd_posterior.h"
#include "htfm/stat/margin.h"

namespace htfm {

/// Rows drawn with replacement, round after round.
struct RowRounds {
  int64_t rows = 0, rounds = 0;
  Key key{0};
  /// How often each row is drawn in a round.
  std::vector<int32_t> counts(int64_t round) const;
  /// The rows of a round, in their order.
  std::vector<int64_t> drawn(int64_t round) const;
};

class MarginRounds {
 public:
  /// `values`: of the rows, in their order; `margin` was fitted to those that are finite, the others are missing.
  MarginRounds(const Margin& margin, std::vector<double> values, const RowRounds& rows, Key key);
  /// The law of a round; `counts` are those of the round's rows.
  Margin law(int64_t round, const std::vector<int32_t>& counts) const;

 private:
  // Ranks the rounds by how far their refitted tails reach, and gives each the draw of the same rank: what lies far out
  // in two columns of a round is then as dependent as refits of both.
  void pair_draws();
  std::vector<double> expanded(const std::vector<int32_t>& counts) const;

  Margin margin_;
  RowRounds rows_;
  std::vector<int64_t> order_;  // of the rows by value
  std::vector<double> sorted_;
  std::vector<GpdDraw> below_, above_;  // one a round; empty: the tail stays as it was fitted
};

}  // namespace htfm
