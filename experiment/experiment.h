// Experiments of many cells: each cell trains and scores one model. A finished cell is kept in a file, so that a killed
// experiment goes on where it was.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "app/common.h"
#include "htfm/model/config.h"
#include "htfm/report/page.h"

namespace htfm::app {

struct Cell {
  std::string name;  ///< also its file's name
  RunConfig config;
};

/// Where an experiment prints its tables: standard output, or standard error with --json, whose object has standard
/// output for itself.
std::FILE* table_output();
void set_table_output(std::FILE* stream);

/// Runs the cells, as many at a time as there are threads unless `one_by_one`, and returns their results in order.
/// Results lie in folder/cells; one that was made with the same configuration is read instead of computed. InputError
/// where there are none.
std::vector<Json> run_cells(const std::vector<Cell>& cells, const std::string& folder,
                            const std::function<Json(const Cell&)>& work, bool one_by_one = false);

/// Puts the picture of each cell, folder/CELL.png, under a title of its own ("Maps"). A cell that was kept without its
/// picture has none.
void add_pictures(report::Page& page, const std::string& title, const std::vector<Cell>& cells,
                  const std::string& folder, const std::string& caption);

/// Writes NAME.html with the command at its foot, NAME.json and, where a figure is given, NAME.svg into the folder, and
/// says so.
void write_experiment(const std::string& folder, const std::string& name, report::Page& page, const Json& out,
                      const report::Figure* figure = nullptr);

struct Spread {
  double mean = 0, deviation = 0;
};
/// Mean and sample deviation.
Spread mean_spread(const std::vector<double>& values);
/// "0.9412 ± 0.0031"; the mean alone where there is no deviation, as of one seed.
std::string spread_text(const Spread& spread, int digits);

}  // namespace htfm::app
