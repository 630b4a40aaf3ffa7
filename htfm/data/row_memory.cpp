#include "htfm/data/row_memory.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include "htfm/base/error.h"
#include "htfm/base/parse_number.h"

namespace htfm {

namespace {

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

// The number that a file of the system holds; unbounded where there is none ("max").
int64_t number_of_file(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? value : kUnbounded;
}

// The least limit of a control group and those above it, in either version of them.
int64_t group_limit() {
  int64_t least = kUnbounded;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t at = line.rfind(':');
    if (at == std::string::npos) continue;
    std::string group = line.substr(at + 1);
    for (;; group.resize(group.rfind('/'))) {
      least = std::min({least, number_of_file("/sys/fs/cgroup" + group + "/memory.max"),
                        number_of_file("/sys/fs/cgroup/memory" + group + "/memory.limit_in_bytes")});
      if (group.find('/') == std::string::npos) break;
    }
  }
  return least;
}

int64_t free_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  for (int64_t kilobytes = 0; file >> name >> kilobytes; file.ignore(64, '\n'))
    if (name == "MemAvailable:") return kilobytes * 1024;
  return kUnbounded;
}

}  // namespace

std::optional<int64_t> asked_row_memory() {
  const char* text = std::getenv("HTFM_ROW_MEMORY");
  if (!text || !*text) return std::nullopt;
  const std::optional<int64_t> value = parse_number<int64_t>(text);
  if (!value || *value < 0 || *value > (kUnbounded >> 20))
    throw InputError("[HTFM_ROW_MEMORY] expected a number of MiB, got '{}'", text);
  return *value << 20;
}

int64_t host_row_memory() {
  if (const std::optional<int64_t> asked = asked_row_memory()) return *asked;
  return std::min(free_memory(), group_limit()) / 2;
}

}  // namespace htfm
