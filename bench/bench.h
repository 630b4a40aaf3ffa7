// The benchmarks of `htfm bench`.
#pragma once

#include "app/common.h"

namespace htfm::app {

/// A text as one word of a shell's command line.
inline std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void add_bench(CLI::App& app);
void add_bench_unet(CLI::App& bench);
void add_bench_sums(CLI::App& bench);
void add_bench_fields(CLI::App& bench);

}  // namespace htfm::app
