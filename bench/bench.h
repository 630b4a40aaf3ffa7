// The benchmarks of `htfm bench`.
#pragma once

#include "app/common.h"

namespace htfm::app {

void add_bench(CLI::App& app);
void add_bench_unet(CLI::App& bench);

}  // namespace htfm::app
