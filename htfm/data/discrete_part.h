// What is discrete in a table: categories, numbers of few values, values that occur very often, and whether a value is
// missing at all. Everything else is a flow's; the states are drawn after it, one column after the other, each given
// the flow's numbers and the states before: p(x) p(c1 | x) p(c2 | x, c1) ..., which is any joint law.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"
#include "htfm/data/table_column.h"

namespace htfm HTFM_PUBLIC {

/// Which part of a date the states stand for: none (the column's value), the twelfth of the year (its month, where all
/// dates have the same day of the month), the day of the week, or the hour.
enum class DatePart { none, year, week, day };

/// The states of a column and what each stands for.
struct DiscreteColumn {
  int64_t column = 0;
  DatePart part = DatePart::none;  ///< a flow draws the date, and the nearest one with this part takes its place
  /// The first state stands for the flow's number; else the flow does not see it. Of a part of a date: it counts
  /// seconds, else days.
  bool flows = false;
  /// Of the states: codes, numbers, NaN for a missing one; the flow's own: not used. Of a part of a date as DateCells
  /// has them: the first and the last date, and their grid.
  std::vector<double> values = {};
  std::vector<double> shares = {};  ///< of the states, in the rows that it was found in

  int64_t states() const { return static_cast<int64_t>(values.size()); }
  /// Whether a value of a column whose numbers a flow draws is a state of its own.
  bool draws_as_state(double value) const;
  /// "one of 5 values, 3.1 % missing"; of a flow's column what stands beside its numbers.
  std::string describe() const;
};

class HTFM_PUBLIC DiscretePart {
 public:
  DiscretePart();
  ~DiscretePart();
  DiscretePart(const DiscretePart& other);
  DiscretePart& operator=(const DiscretePart& other);
  DiscretePart(DiscretePart&&) noexcept;
  DiscretePart& operator=(DiscretePart&&) noexcept;

  /// Looks at rows n x columns (float64, NaN where a value is missing). One column is always left to a flow.
  static DiscretePart find(const at::Tensor& rows, const std::vector<TableColumn>& columns);

  bool empty() const { return list_.empty(); }
  const std::vector<DiscreteColumn>& list() const { return list_; }
  /// The states of a column, parts of its date aside; null where it has none.
  const DiscreteColumn* of(int64_t column) const;
  /// Rows with NaN wherever a value is not the flow's.
  at::Tensor flowing(const at::Tensor& rows) const;
  /// Whether flows leave holes: NaN in columns that a flow sees.
  bool has_holes() const;

  /// Learns the laws of the states from rows and from what is told of them (n x d, float32); of the numbers that
  /// `smooth` names a smooth function alone counts. Until then states are drawn by their shares alone. `most_steps`: of
  /// each law's network, 0 for as many as its size allows.
  void learn(const at::Tensor& rows, const at::Tensor& seen, Key key, const std::vector<bool>& smooth = {},
             int64_t most_steps = 0);
  bool learned() const;
  /// Whether the laws were learned before numbers had knots (StateNet): they were told them as a flow sees them.
  bool told_as_seen() const;
  /// States for rows of numbers (n x d), n x list().size() int64; those of row i are a function of key and first + i.
  at::Tensor draw(const at::Tensor& seen, Key key, int64_t first = 0) const;
  /// The same, after every law was shifted so that the shares of states among these rows are those of the data.
  at::Tensor draw_balanced(const at::Tensor& seen, Key key);
  /// Writes what the states stand for into rows n x columns (float64).
  void put(const at::Tensor& states, at::Tensor& rows) const;

  void save_state(std::map<std::string, at::Tensor>& out) const;
  static DiscretePart load_state(const std::map<std::string, at::Tensor>& in, const std::string& path, int64_t columns,
                                 int64_t dim);

 private:
  struct Laws;
  void add_date_parts(const at::Tensor& rows, const std::vector<TableColumn>& columns);
  at::Tensor states_of(const at::Tensor& rows) const;
  at::Tensor draw_with(const at::Tensor& seen, Key key, int64_t first, bool balance,
                       std::vector<at::Tensor>& shifts) const;
  std::vector<DiscreteColumn> list_;
  std::unique_ptr<Laws> laws_;
};

}  // namespace htfm
