// The program htfm-experiment: the paper's tables and figures, and the benchmarks. `htfm reproduce` and `htfm bench`
// start it.
#include "app/program.h"
#include "bench/bench.h"
#include "experiment/reproduce.h"

int main(int argc, char** argv) {
  return htfm::app::run_program(argc, argv, [](CLI::App& app) {
    htfm::app::add_reproduce(app);
    htfm::app::add_bench(app);
  });
}
