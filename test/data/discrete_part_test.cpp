// The discrete part of a table: the laws that it must give back.
#include "htfm/data/discrete_part.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/data/far_dates.h"
#include "htfm/data/relations.h"
#include "htfm/data/state_net.h"
#include "htfm/data/table_transform.h"
#include "htfm/stat/estimators.h"

namespace htfm {
namespace {

// x normal; a category that depends on x; a number y = x + noise that is missing more often where x is large, and zero
// where the category is 2.
at::Tensor made_table(int64_t n, Key key) {
  at::Tensor rows = at::empty({n, 3}, at::kDouble);
  double* r = rows.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) {
    const auto u = [&](uint64_t k) { return key.child(k).uniform(static_cast<uint64_t>(i)); };
    const double x = normal_quantile(u(0)), up = 1 / (1 + std::exp(-2 * x));
    const double c = u(1) < 0.3 ? 2 : u(2) < up ? 1 : 0;
    double y = std::exp(x + 0.5 * normal_quantile(u(3)));
    if (c == 2) y = 0;
    if (u(4) < 0.4 * up) y = std::nan("");
    r[3 * i] = x, r[3 * i + 1] = c, r[3 * i + 2] = y;
  }
  return rows;
}

std::vector<TableColumn> made_columns() {
  std::vector<TableColumn> columns(3);
  columns[1].kind = ColumnKind::category, columns[1].categories = {"a", "b", "c"};
  return columns;
}

// Shares of an event among the rows with x below and above 0.
template <class Event>
std::array<double, 2> shares(const at::Tensor& rows, const Event& event) {
  std::array<double, 2> out{}, count{};
  const double* r = rows.const_data_ptr<double>();
  for (int64_t i = 0; i < rows.size(0); ++i) {
    const size_t side = r[3 * i] > 0;
    out[side] += event(r + 3 * i), ++count[side];
  }
  return {out[0] / count[0], out[1] / count[1]};
}

TEST(DiscretePart, FindsCategoriesAtomsAndGaps) {
  const DiscretePart part = DiscretePart::find(made_table(5000, Key(1)), made_columns());
  ASSERT_EQ(part.list().size(), 2U);
  EXPECT_FALSE(part.list()[0].flows);
  EXPECT_EQ(part.list()[0].states(), 3);
  EXPECT_TRUE(part.list()[1].flows);
  ASSERT_EQ(part.list()[1].states(), 3) << "a number, zero, missing";
  EXPECT_EQ(part.list()[1].values[1], 0);
  EXPECT_TRUE(std::isnan(part.list()[1].values[2]));
  EXPECT_EQ(part.of(0), nullptr);
}

// Given the numbers that a flow would draw, here those of fresh rows, the states follow their law given x. The bound is
// 4 standard errors of the difference of two shares of about 6,000 rows each, and 0.02 for the network.
// -9999 for what was not measured, in 12 of 6,000 rows; a largest value that occurs twice; a heavy tail.
TEST(DiscretePart, AValueFarFromAllOthersInSeveralRowsIsAState) {
  const int64_t n = 6000;
  at::Tensor rows = at::empty({n, 3}, at::kDouble);
  double* r = rows.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) {
    const auto u = [&](uint64_t k) { return Key(3).child(k).uniform(static_cast<uint64_t>(i)); };
    r[3 * i] = i % 500 == 7 ? -9999 : std::round(80 * normal_quantile(u(0))) / 10;
    r[3 * i + 1] = std::round(10 * normal_quantile(u(1)));
    r[3 * i + 2] = std::floor(10 / u(2));
  }
  r[1] = r[4] = 39, r[2] = r[5] = 1e6;
  const DiscretePart part = DiscretePart::find(rows, std::vector<TableColumn>(3));
  ASSERT_EQ(part.list().size(), 1U);
  EXPECT_EQ(part.list()[0].column, 0);
  EXPECT_TRUE(part.list()[0].flows);
  EXPECT_EQ(part.list()[0].values, (std::vector<double>{0, -9999}));
  EXPECT_NEAR(part.list()[0].shares[1], 12.0 / n, 1e-9);
}

TEST(DiscretePart, StatesFollowTheirLawGivenTheNumbers) {
  const at::Tensor train = made_table(12000, Key(1)), fresh = made_table(12000, Key(2));
  const Key key(3);
  TableTransform transform = TableTransform::fit("scores", train, made_columns(), {}, key, true);
  transform.learn_discrete(train, key);
  const at::Tensor drawn = transform.invert(transform.apply(fresh, key).to(at::kDouble), Key(5));
  const double bound = 4 * std::sqrt(2 * 0.25 / 6000) + 0.02;
  const auto compare = [&](const char* what, const auto& event) {
    const auto real = shares(fresh, event), own = shares(drawn, event);
    for (size_t side : {0, 1}) EXPECT_NEAR(own[side], real[side], bound) << what << (side ? ", x > 0" : ", x < 0");
  };
  compare("category b", [](const double* r) { return r[1] == 1; });
  compare("missing", [](const double* r) { return std::isnan(r[2]); });
  compare("zero", [](const double* r) { return r[2] == 0; });
  compare("zero without category c", [](const double* r) { return r[2] == 0 && r[1] != 2; });
}

// A state that goes with single values of a number, as a term of a policy does: x is a whole number below 40, and the
// state is 1 in 90 % of the rows with one of eight values that lie apart, in 10 % of the others. The bound is 4
// standard errors of the difference of two shares of about 2,400 rows, and 0.05 for the network.
TEST(DiscretePart, StatesFollowSingleValuesOfANumber) {
  const auto table = [](Key key) {
    at::Tensor rows = at::empty({12000, 2}, at::kDouble);
    double* r = rows.mutable_data_ptr<double>();
    for (int64_t i = 0; i < rows.size(0); ++i) {
      const auto x = static_cast<double>(key.child("x").below(40, static_cast<uint64_t>(i)));
      const double share = std::fmod(x, 5) == 2 ? 0.9 : 0.1;
      r[2 * i] = x, r[2 * i + 1] = key.child("state").uniform(static_cast<uint64_t>(i)) < share;
    }
    return rows;
  };
  const at::Tensor train = table(Key(1)), fresh = table(Key(2));
  std::vector<TableColumn> columns(2);
  columns[1].kind = ColumnKind::category, columns[1].categories = {"a", "b"};
  TableTransform transform = TableTransform::fit("scores", train, columns, {}, Key(3), true);
  transform.learn_discrete(train, Key(3));
  const at::Tensor drawn = transform.invert(transform.apply(fresh, Key(3)).to(at::kDouble), Key(5));
  const double* d = drawn.const_data_ptr<double>();
  double sum = 0, count = 0;
  for (int64_t i = 0; i < drawn.size(0); ++i)
    if (std::fmod(d[2 * i], 5) == 2) sum += d[2 * i + 1], ++count;
  EXPECT_NEAR(sum / count, 0.9, 4 * std::sqrt(2 * 0.09 / 2400) + 0.05);
}

// 60 products, each with its price; a weight that a twentieth of the rows has differently; a number of its own.
at::Tensor products(int64_t n, int64_t count, Key key) {
  at::Tensor rows = at::empty({n, 4}, at::kDouble);
  double* r = rows.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) {
    const auto row = static_cast<uint64_t>(i);
    const auto product = key.child("product").below(static_cast<uint64_t>(count), row);
    r[4 * i] = static_cast<double>(product);
    r[4 * i + 1] = std::round(100 * std::exp(2 * normal_quantile(key.child("price").uniform(product)))) / 100;
    r[4 * i + 2] = key.child("other").uniform(row) < 0.05 ? 0.5 : static_cast<double>(product * product);
    r[4 * i + 3] = normal_quantile(key.child("own").uniform(row));
  }
  return rows;
}

std::vector<TableColumn> product_columns(int64_t count) {
  std::vector<TableColumn> columns(4);
  columns[0].kind = ColumnKind::category;
  for (int64_t c = 0; c < count; ++c) columns[0].categories.push_back("p" + std::to_string(c));
  return columns;
}

TEST(DiscretePart, ANumberThatACategoryDeterminesIsOneOfItsValues) {
  const at::Tensor rows = products(3000, 60, Key(6));
  std::vector<TableColumn> columns = product_columns(60);
  const DiscretePart part = DiscretePart::find(rows, columns);
  ASSERT_EQ(part.list().size(), 2U);
  EXPECT_EQ(part.list()[1].column, 1);
  EXPECT_FALSE(part.list()[1].flows);
  columns[1].asked = true;
  EXPECT_EQ(DiscretePart::find(rows, columns).list().size(), 1U) << "--kind price=number";
  const DiscretePart alone = DiscretePart::find(rows.narrow(1, 0, 2).contiguous(), {columns[0], {}});
  ASSERT_EQ(alone.list().size(), 1U) << "the only number stays with the flow";
  EXPECT_EQ(alone.list()[0].column, 0);
}

// A country whose code was changed: most of its rows have one code, and the first row the other one.
TEST(DiscretePart, TheFirstRowOfACategoryMayBeAnException) {
  constexpr int64_t kRows = 3000;
  at::Tensor rows = products(kRows, 60, Key(6));
  double* r = rows.mutable_data_ptr<double>();
  for (int64_t product = 0; product < 60; ++product)
    for (int64_t i = 0; product % 3 == 0 && i < kRows; ++i)
      if (r[4 * i] == static_cast<double>(product)) {
        r[4 * i + 1] += 0.5;
        break;
      }
  EXPECT_EQ(DiscretePart::find(rows, product_columns(60)).list().size(), 2U) << "20 exceptions of 3,000 rows";
}

// The bound is 0.05 for the network.
TEST(DiscretePartSlow, ANumberThatACategoryDeterminesGoesWithIt) {
  constexpr int64_t kRows = 3000, kProducts = 60;
  const at::Tensor rows = products(kRows, kProducts, Key(6));
  TableTransform transform = TableTransform::fit("scores", rows, product_columns(kProducts), {}, Key(3), true);
  transform.learn_discrete(rows, Key(3));
  const at::Tensor drawn = transform.invert(transform.apply(rows, Key(3)).to(at::kDouble), Key(5));
  const double *r = rows.const_data_ptr<double>(), *d = drawn.const_data_ptr<double>();
  std::vector<double> price(kProducts);
  for (int64_t i = 0; i < kRows; ++i) price[static_cast<size_t>(r[4 * i])] = r[4 * i + 1];
  int64_t wrong = 0;
  for (int64_t i = 0; i < kRows; ++i) wrong += d[4 * i + 1] != price[static_cast<size_t>(d[4 * i])];
  EXPECT_LT(wrong, kRows / 20);
}

// A small table with many numbers, as of a survey: a state of 19 values that goes with one of them, correlation 0.4.
// Networks that learn such a table by heart before they are first looked at draw it independent of all. The bound is 4
// standard errors of a correlation of 3,000 rows, and 0.05 for the network.
void expect_dependence(int64_t most_steps) {
  constexpr int64_t kRows = 3000, kNumbers = 8;
  at::Tensor rows = at::empty({kRows, kNumbers + 1}, at::kDouble);
  double* r = rows.mutable_data_ptr<double>();
  fill_normal(Key(1), 0, rows.numel(), r);
  std::vector<TableColumn> columns(kNumbers + 1);
  columns[kNumbers].kind = ColumnKind::category;
  for (int k = 0; k < 19; ++k) columns[kNumbers].categories.push_back(std::to_string(k));
  for (int64_t i = 0; i < kRows; ++i) {
    double* row = r + i * (kNumbers + 1);
    const double score = 0.4 * row[0] + std::sqrt(1 - 0.16) * row[kNumbers];
    row[kNumbers] = std::clamp(std::round(9 + 3.5 * score), 0.0, 18.0);
  }
  TableTransform transform = TableTransform::fit("scores", rows, columns, {}, Key(3), true);
  transform.learn_discrete(rows, Key(3), {}, most_steps);
  const at::Tensor drawn = transform.invert(transform.apply(rows, Key(3)).to(at::kDouble), Key(5));
  const auto correlation = [&](const at::Tensor& table) {
    const at::Tensor x = table.select(1, 0).sub(table.select(1, 0).mean());
    const at::Tensor y = table.select(1, kNumbers).sub(table.select(1, kNumbers).mean());
    const auto sum = [](const at::Tensor& v) { return v.sum().item().toDouble(); };
    return sum(x.mul(y)) / std::sqrt(sum(x.square()) * sum(y.square()));
  };
  EXPECT_NEAR(correlation(drawn), correlation(rows), 4 / std::sqrt(kRows) + 0.05);
}

TEST(DiscretePart, StatesOfSmallTablesAreNotIndependent) { expect_dependence(0); }

// As in a fit with a limit of time.
TEST(DiscretePart, NorAreThoseThatAreLearnedInAHurry) { expect_dependence(40); }

// Laws that were learned before numbers had knots see them as a flow does, and a checkpoint of them is read.
TEST(DiscretePart, LawsWithoutKnotsDrawAsTheyDid) {
  const at::Tensor train = made_table(4000, Key(1));
  const Key key(3);
  TableTransform transform = TableTransform::fit("scores", train, made_columns(), {}, key, true);
  const at::Tensor seen = transform.apply(train, key);
  std::map<std::string, at::Tensor> state;
  transform.save_state(state);
  StateInputs inputs{seen.to(at::kDouble).asinh().to(at::kFloat)};
  std::vector<int64_t> counts;
  const at::Tensor category = train.select(1, 1).to(at::kLong).contiguous();
  for (const DiscreteColumn& c : transform.discrete().list()) {
    const std::string name = "transform.state." + std::to_string(counts.size());
    StateNet net(transform.dim(), counts, c.states());
    net.train(inputs, category, key);  // of the second law the same states: only the first is looked at
    state[name + ".net"] = net.weights(), state[name + ".shift"] = at::zeros({c.states()}, at::kFloat);
    counts.push_back(c.states()), inputs.states.push_back(category);
  }
  const TableTransform old = TableTransform::load_state(state, "test");
  EXPECT_TRUE(old.discrete().told_as_seen());
  const at::Tensor drawn = old.invert(seen.to(at::kDouble), Key(5));
  const auto b = [](const double* r) { return r[1] == 1; };
  const auto real = shares(train, b), own = shares(drawn, b);
  for (size_t side : {0, 1}) EXPECT_NEAR(own[side], real[side], 4 * std::sqrt(2 * 0.25 / 2000) + 0.02);

  state["transform.state.knots"] = at::zeros({transform.dim(), 3}, at::kFloat);
  EXPECT_THROW(TableTransform::load_state(state, "test"), InputError) << "knots that do not ascend";
}

TEST(DiscretePart, ARowDoesNotDependOnTheOthers) {
  const at::Tensor train = made_table(2000, Key(1));
  const Key key(3);
  TableTransform transform = TableTransform::fit("scores", train, made_columns(), {}, key, true);
  transform.learn_discrete(train, key);
  const at::Tensor z = transform.apply(train, key).to(at::kDouble), all = transform.invert(z, Key(5), 0);
  const at::Tensor part = transform.invert(z.narrow(0, 700, 300), Key(5), 700);
  EXPECT_TRUE(part.nan_to_num(-1).equal(all.narrow(0, 700, 300).nan_to_num(-1)));
  std::map<std::string, at::Tensor> state;
  transform.save_state(state);
  const TableTransform loaded = TableTransform::load_state(state, "test");
  EXPECT_TRUE(loaded.invert(z, Key(5)).nan_to_num(-1).equal(all.nan_to_num(-1)));
}

TEST(DiscretePartSlow, AThousandCategories) {
  const int64_t n = 4000;
  at::Tensor rows = at::empty({n, 2}, at::kDouble);
  for (int64_t i = 0; i < n; ++i) {
    rows.mutable_data_ptr<double>()[2 * i] = normal_quantile(Key(1).uniform(static_cast<uint64_t>(i)));
    rows.mutable_data_ptr<double>()[2 * i + 1] = static_cast<double>(Key(2).below(1000, static_cast<uint64_t>(i)));
  }
  std::vector<TableColumn> columns(2);
  columns[1].kind = ColumnKind::category;
  for (int k = 0; k < 1000; ++k) columns[1].categories.push_back(std::to_string(k));
  TableTransform transform = TableTransform::fit("scores", rows, columns, {}, Key(3), true);
  transform.learn_discrete(rows, Key(3));
  const at::Tensor drawn = transform.invert(transform.apply(rows, Key(3)).to(at::kDouble), Key(5));
  double mean = 0;
  for (int64_t i = 0; i < n; ++i) mean += drawn.const_data_ptr<double>()[2 * i + 1] / static_cast<double>(n);
  // Uniform codes: 4 standard errors of a mean of 4,000 draws, twice for those that were trained on, and as much again.
  EXPECT_NEAR(mean, 499.5, 4 * 289 / std::sqrt(4000.0) * 3);
}

TEST(DiscretePart, ATableOfCategoriesAlone) {
  const int64_t n = 1500;
  at::Tensor rows = at::empty({n, 2}, at::kDouble);
  for (int64_t i = 0; i < n; ++i) {
    const double a = static_cast<double>(Key(1).below(3, static_cast<uint64_t>(i)));
    rows.mutable_data_ptr<double>()[2 * i] = a;
    rows.mutable_data_ptr<double>()[2 * i + 1] = Key(2).uniform(static_cast<uint64_t>(i)) < 0.9 ? a : 3;
  }
  std::vector<TableColumn> columns(2);
  columns[0].kind = ColumnKind::category, columns[0].categories = {"a", "b", "c"};
  columns[1].kind = ColumnKind::category, columns[1].categories = {"a", "b", "c", "d"};
  TableTransform transform = TableTransform::fit("scores", rows, columns, {}, Key(3), true);
  ASSERT_EQ(transform.dim(), 1) << "a flow sees one of them";
  transform.learn_discrete(rows, Key(3));
  const at::Tensor drawn = transform.invert(transform.apply(rows, Key(3)).to(at::kDouble), Key(5));
  int64_t wrong = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double* r = drawn.const_data_ptr<double>() + 2 * i;
    wrong += r[1] != 3 && r[1] != r[0];
  }
  EXPECT_LT(wrong, n / 20) << "where b is not d it equals a";
}

TEST(DiscretePartSlow, DaysKeepTheirWeekdaysAndSeasons) {
  // Working days of five years; y is large in winter.
  const int64_t n = 6000;
  at::Tensor rows = at::empty({n, 2}, at::kDouble);
  double* r = rows.mutable_data_ptr<double>();
  const auto weekday = [](double day) { return static_cast<int64_t>(day + 3) % 7; };  // 1970-01-01 was a Thursday
  const auto winter = [](double day) { return std::cos(2 * M_PI * day / 365.2425) > 0; };
  for (int64_t i = 0; i < n; ++i) {
    double day = 18000 + static_cast<double>(Key(1).below(5 * 365, static_cast<uint64_t>(i)));
    while (weekday(day) > 4) ++day;
    r[2 * i] = day;
    r[2 * i + 1] = (winter(day) ? 2 : -2) + normal_quantile(Key(2).uniform(static_cast<uint64_t>(i)));
  }
  std::vector<TableColumn> columns(2);
  columns[0].kind = ColumnKind::date, columns[0].date_form = "Y-M-D";
  TableTransform transform = TableTransform::fit("scores", rows, columns, {}, Key(3), true);
  transform.learn_discrete(rows, Key(3));
  // A flow that knows how y goes with the day as little as a line can.
  at::Tensor z = at::empty({n, 2}, at::kDouble);
  fill_normal(Key(7), 0, z.numel(), z.mutable_data_ptr<double>());
  const at::Tensor drawn = transform.invert(z, Key(8));
  const double* d = drawn.const_data_ptr<double>();
  int64_t weekends = 0, agree = 0;
  for (int64_t i = 0; i < n; ++i) {
    EXPECT_EQ(d[2 * i], std::round(d[2 * i]));
    weekends += weekday(d[2 * i]) > 4;
    agree += winter(d[2 * i]) == (d[2 * i + 1] > 0);
  }
  EXPECT_LT(weekends, n / 100);
  EXPECT_GT(agree, n * 4 / 5) << "y and the season go together, as they do in 97.7 % of the rows";
}

TEST(DiscretePart, DatesFarFromAllOthersAreStates) {
  EXPECT_EQ(far_dates({18000, 18100, 18200, 18300, 18400, 18500, 2932896}, 365), (std::vector<double>{2932896}));
  EXPECT_EQ(far_dates({-25567, 18000, 18100, 18200, 18300, 18400, 18500}, 365), (std::vector<double>{-25567}));
  EXPECT_TRUE(far_dates({18000, 18100, 18200, 18300, 18400, 18500, 21000}, 365).empty()) << "seven years";
  EXPECT_TRUE(far_dates({0, 3000, 6000, 9000, 12000, 15000, 25000}, 365).empty()) << "less than three times the range";

  // Policies of at least 30 days, of which a fifth has no end: 9999-12-31. One in ten has no known end.
  const int64_t n = 3000;
  const double open_end = 2932896;
  at::Tensor rows = at::empty({n, 2}, at::kDouble);
  double* r = rows.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) {
    const auto u = [&](uint64_t k) { return Key(k).uniform(static_cast<uint64_t>(i)); };
    r[2 * i] = std::floor(17000 + 1500 * u(1));
    r[2 * i + 1] = u(2) < 0.2 ? open_end : u(2) < 0.3 ? std::nan("") : std::floor(r[2 * i] + 30 + 700 * u(3));
  }
  std::vector<TableColumn> columns(2);
  for (TableColumn& c : columns) c.kind = ColumnKind::date, c.date_form = "Y-M-D";
  for (const bool bound : {false, true}) {
    const auto constraints = bound ? parse_constraints("start <= end", {"start", "end"}) : std::vector<Constraint>();
    const TableTransform transform = TableTransform::fit("scores", rows, columns, constraints, Key(1), true);
    at::Tensor z = at::empty({n, transform.dim()}, at::kDouble);
    fill_normal(Key(7), 0, z.numel(), z.mutable_data_ptr<double>());
    const at::Tensor drawn = transform.invert(z, Key(8));
    const double* d = drawn.const_data_ptr<double>();
    int64_t open = 0, missing = 0, near = 0, late = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double start = d[2 * i], end = d[2 * i + 1];
      open += end == open_end, missing += std::isnan(end);
      near += end > 25000 && end != open_end;
      late += start > 17750;
      if (bound && !std::isnan(end)) {
        EXPECT_LE(start, end);
      }
    }
    EXPECT_NEAR(static_cast<double>(open) / n, 0.2, 0.03) << bound;
    EXPECT_NEAR(static_cast<double>(missing) / n, 0.1, 0.02) << bound;
    EXPECT_NEAR(static_cast<double>(late) / n, 0.5, 0.04) << "of all starts, whatever their end";
    EXPECT_EQ(near, 0) << bound;
    std::map<std::string, at::Tensor> state;
    transform.save_state(state);
    EXPECT_TRUE(
        at::equal(TableTransform::load_state(state, "test").invert(z, Key(8)).nan_to_num(), drawn.nan_to_num()));
  }
}

TEST(Relations, AreKeptByConstruction) {
  const int64_t n = 2000;
  at::Tensor rows = at::empty({n, 4}, at::kDouble);
  double* r = rows.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) {
    const auto u = [&](uint64_t k) { return Key(k).uniform(static_cast<uint64_t>(i)); };
    const double paid = std::round(1000 * -std::log(u(1))) / 10, net = std::round(1000 * u(2)) / 10;
    r[4 * i] = paid, r[4 * i + 1] = u(3) < 0.3 ? paid : paid + std::round(500 * u(4)) / 10;
    r[4 * i + 2] = net, r[4 * i + 3] = net + paid;
  }
  const std::vector<std::string> names{"paid", "incurred", "net", "total"};
  const auto constraints = parse_constraints("paid <= incurred; total = net + paid", names);
  const Relations relations = Relations::fit(constraints, rows);
  at::Tensor back = relations.apply(rows);
  relations.invert(back);
  EXPECT_LT(back.sub(rows).abs().max().item().toDouble(), 1e-9);

  const std::vector<TableColumn> columns(4);
  TableTransform transform = TableTransform::fit("scores", rows, columns, constraints, Key(1), true);
  at::Tensor z = at::empty({n, transform.dim()}, at::kDouble);
  fill_normal(Key(7), 0, z.numel(), z.mutable_data_ptr<double>());
  const at::Tensor drawn = transform.invert(z, Key(8));
  const double* d = drawn.const_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) {
    EXPECT_LE(d[4 * i], d[4 * i + 1] + 1e-9);
    EXPECT_NEAR(d[4 * i + 3], d[4 * i + 2] + d[4 * i], 1e-6);
  }
  r[4 * 17] = 1e6;
  try {
    Relations::fit(constraints, rows);
    FAIL() << "a row that breaks a constraint";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("in row 18 of the data"), std::string::npos) << e.what();
  }
  EXPECT_THROW(Relations::fit(parse_constraints("paid <= net; net <= paid", names), rows), InputError);
}

}  // namespace
}  // namespace htfm
