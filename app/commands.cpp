#include "app/commands.h"

namespace htfm::app {

void add_commands(CLI::App& app) {
  add_demo(app);
  add_clock(app);
  add_source(app);
  add_signature(app);
  add_data(app);
  add_prepare(app);
  add_coarsen(app);
  add_export(app);
  add_train(app);
  add_sweep(app);
  add_calibrate(app);
  add_sample(app);
  add_fit(app);
  add_eval(app);
  add_compare(app);
  add_tails(app);
  add_risk(app);
  add_grid(app);
  add_report(app);
  add_companion(app, "reproduce", "Reproduce a table or figure of the paper");
  add_info(app);
  add_companion(app, "bench", "Measure speed, compared with other packages");
  add_completion(app);
}

}  // namespace htfm::app
