// The figures of the page of a fitted table.
#pragma once

#include "htfm/fit/fit_table.h"
#include "htfm/report/page.h"

namespace htfm {

/// The values of a column in ascending order.
std::vector<double> sorted_column(const at::Tensor& rows, int64_t column);

/// Survival and quantiles of the radius, on log axes.
void add_radius_figures(report::Page& page, const TableFit& fit);
/// For each of the first columns its quantiles and return levels, with intervals, and its quantile plot.
void add_column_figures(report::Page& page, const TableFit& fit);
/// Scatter plots of pairs of columns, data and models.
void add_pairs(report::Page& page, const TableFit& fit);
/// How often two columns are extreme together.
void add_tail_dependence(report::Page& page, const TableFit& fit);

}  // namespace htfm
