// Dates of a column that have something in common keep it in samples: the first or the last day of a month, midnight,
// whole hours and minutes.
#include "htfm/data/date_cells.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "htfm/base/random.h"
#include "htfm/data/dates.h"
#include "htfm/data/discrete_part.h"
#include "htfm/data/table_transform.h"

namespace htfm {
namespace {

double day_of(const char* text) { return *DateForm{"Y-M-D"}.parse(text); }
double second_of(const char* text) { return *DateForm{"Y-M-D h:m:s"}.parse(text); }
std::string text_of(double day) { return DateForm{"Y-M-D"}.format(day); }

TEST(DateCells, GridOfDays) {
  EXPECT_EQ(DateGrid::of({day_of("2020-01-01"), day_of("2020-02-01"), day_of("2020-04-01")}, false).day_of_month, 1);
  EXPECT_EQ(DateGrid::of({day_of("2020-01-31"), day_of("2020-02-29"), day_of("2021-02-28")}, false).day_of_month, 31);
  EXPECT_EQ(DateGrid::of({day_of("2020-01-30"), day_of("2020-02-29"), day_of("2021-04-30")}, false).day_of_month, 30);
  EXPECT_EQ(DateGrid::of({day_of("2020-01-15"), day_of("2020-02-15"), day_of("2020-04-16")}, false).day_of_month, 0);
  EXPECT_EQ(DateGrid::of({day_of("2020-01-01"), day_of("2020-02-01"), day_of("2020-01-01")}, false).day_of_month, 0)
      << "two months tell nothing";
  EXPECT_EQ(DateGrid::of({-10.0, -3.0, 40.0}, false).unit, 1);
}

TEST(DateCells, GridOfTimes) {
  const double noon = second_of("2020-03-05 12:00:00");
  EXPECT_EQ(DateGrid::of({noon, noon + 86400, noon + 5 * 86400}, true).unit, 86400);
  EXPECT_EQ(DateGrid::of({noon, noon + 6 * 3600, noon + 5 * 86400}, true).unit, 6 * 3600);
  EXPECT_EQ(DateGrid::of({noon, noon + 29 * 3600, noon + 3 * 29 * 3600}, true).unit, 3600)
      << "29 h is no part of a day";
  EXPECT_EQ(DateGrid::of({noon, noon + 60, noon + 7260}, true).unit, 60);
  EXPECT_EQ(DateGrid::of({noon, noon + 0.5}, true).unit, 0);
  const DateGrid monthly = DateGrid::of(
      {second_of("2020-01-01 06:00:00"), second_of("2020-02-01 06:00:00"), second_of("2020-07-01 06:00:00")}, true);
  EXPECT_EQ(monthly.day_of_month, 1);
  EXPECT_EQ(monthly.unit, 86400);
}

TEST(DateCells, NearestMonth) {
  const DateCells first(DatePart::year, false, {.unit = 1, .day_of_month = 1}, day_of("2010-02-01"),
                        day_of("2020-11-01"));
  EXPECT_EQ(first.of(day_of("2015-12-31")), 11);
  EXPECT_EQ(text_of(first.moved(day_of("2015-03-18"), 2)), "2015-03-01");
  EXPECT_EQ(text_of(first.moved(day_of("2015-03-18"), 11)), "2014-12-01");
  EXPECT_EQ(text_of(first.moved(day_of("2010-03-18"), 0)), "2011-01-01") << "not before the first date";
  EXPECT_EQ(text_of(first.moved(day_of("2020-11-18"), 11)), "2019-12-01") << "nor after the last";
  const DateCells end(DatePart::year, false, {.unit = 1, .day_of_month = 31}, day_of("2010-01-31"),
                      day_of("2020-12-31"));
  EXPECT_EQ(text_of(end.moved(day_of("2016-03-18"), 1)), "2016-02-29");
  EXPECT_EQ(text_of(end.moved(day_of("2015-03-18"), 1)), "2015-02-28");
}

// What a flow draws lies anywhere between the dates.
std::set<std::string> drawn_texts(const std::vector<double>& dates, const std::string& form) {
  const auto n = static_cast<int64_t>(dates.size());
  at::Tensor rows = at::empty({n, 2}, at::kDouble);
  for (int64_t i = 0; i < n; ++i) {
    rows.mutable_data_ptr<double>()[2 * i] = dates[static_cast<size_t>(i)];
    rows.mutable_data_ptr<double>()[2 * i + 1] = Key(1).uniform(static_cast<uint64_t>(i));
  }
  std::vector<TableColumn> columns(2);
  columns[0].kind = ColumnKind::date, columns[0].date_form = form;
  const TableTransform transform = TableTransform::fit("scores", rows, columns, {}, Key(3), true);
  at::Tensor z = at::empty({n, transform.dim()}, at::kDouble);
  fill_normal(Key(7), 0, z.numel(), z.mutable_data_ptr<double>());
  const at::Tensor drawn = transform.invert(z, Key(8));
  std::set<std::string> out;
  for (int64_t i = 0; i < n; ++i) out.insert(columns[0].text(drawn.const_data_ptr<double>()[2 * i]));
  return out;
}

TEST(DateCells, SamplesLieOnTheGrid) {
  std::vector<double> quarters, ends, midnights, half_hours;
  for (int i = 0; i < 400; ++i) {
    const int months = 3 * i % 240;
    const std::string month = fmt::format("{}-{:02}-", 2000 + months / 12, 1 + months % 12);
    quarters.push_back(day_of((month + "01").c_str()));
    ends.push_back(quarters.back() - 1);
    midnights.push_back(second_of("2019-05-01 00:00:00") + 86400.0 * (i * 37 % 1000));
    half_hours.push_back(second_of("2019-05-01 00:30:00") + 1800.0 * (i * 3701 % 40000));
  }
  for (const std::string& t : drawn_texts(quarters, "Y-M-D"))
    EXPECT_TRUE(t.ends_with("-01-01") || t.ends_with("-04-01") || t.ends_with("-07-01") || t.ends_with("-10-01")) << t;
  for (const std::string& t : drawn_texts(quarters, "Y-M"))
    EXPECT_TRUE(t.ends_with("-01") || t.ends_with("-04") || t.ends_with("-07") || t.ends_with("-10")) << t;
  for (const std::string& t : drawn_texts(ends, "Y-M-D"))
    EXPECT_TRUE(t.ends_with("-12-31") || t.ends_with("-03-31") || t.ends_with("-06-30") || t.ends_with("-09-30")) << t;
  for (const std::string& t : drawn_texts(midnights, "Y-M-D h:m:s")) EXPECT_TRUE(t.ends_with(" 00:00:00")) << t;
  for (const std::string& t : drawn_texts(half_hours, "Y-M-D h:m:s"))
    EXPECT_TRUE(t.ends_with(":00:00") || t.ends_with(":30:00")) << t;
}

TEST(DateCells, WhatDatesHaveInCommonIsSaid) {
  EXPECT_EQ((DateGrid{1, 1}).describe("Y-M-D"), ", each on day 1 of its month");
  EXPECT_EQ((DateGrid{1, 1}).describe("Y-M"), "");
  EXPECT_EQ((DateGrid{1, 31}).describe("Y-M-D"), ", each on the last day of its month");
  EXPECT_EQ((DateGrid{86400, 0}).describe("Y-M-D h:m:s"), ", all at the same time of day");
  EXPECT_EQ((DateGrid{60, 0}).describe("Y-M-D h:m:s"), ", in steps of 1 min");
  EXPECT_EQ((DateGrid{60, 0}).describe("Y-M-D h:m"), "");
  EXPECT_EQ((DateGrid{1, 0}).describe("Y-M-D"), "");
}

}  // namespace
}  // namespace htfm
