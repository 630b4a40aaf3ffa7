// The subcommands.
#pragma once

#include "app/common.h"

namespace htfm::app {

void add_demo(CLI::App& app);
void add_clock(CLI::App& app);
void add_source(CLI::App& app);
void add_signature(CLI::App& app);
void add_data(CLI::App& app);
void add_prepare(CLI::App& app);
void add_coarsen(CLI::App& app);
void add_export(CLI::App& app);
void add_train(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_sample(CLI::App& app);
void add_sweep(CLI::App& app);
void add_compare(CLI::App& app);
void add_fit(CLI::App& app);
void add_eval(CLI::App& app);
void add_tails(CLI::App& app);
void add_risk(CLI::App& app);
void add_grid(CLI::App& app);
void add_report(CLI::App& app);
void add_info(CLI::App& app);
void add_completion(CLI::App& app);
/// A command of htfm-experiment.
void add_companion(CLI::App& app, const std::string& name, const std::string& summary);
/// All of them, in the order of the help.
void add_commands(CLI::App& app);

}  // namespace htfm::app
