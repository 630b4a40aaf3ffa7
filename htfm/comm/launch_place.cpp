#include "htfm/comm/launch_place.h"

#include <cstdlib>

namespace htfm {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int number(const char* name, int otherwise) {
  const std::string text = variable(name);
  return text.empty() ? otherwise : std::atoi(text.c_str());
}

// The first of a list of nodes as SLURM writes it: "gpu03" of "gpu[03-05,9],login".
std::string first_node(const std::string& list) {
  std::string out;
  for (size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      out += list[i];
      continue;
    }
    const size_t end = list.find(']', i), one = list.find_first_of(",-]", i);
    if (end == std::string::npos) break;
    out += list.substr(i + 1, one - i - 1);
    i = end;
  }
  return out;
}

// How many tasks a node has, of a list as SLURM writes it: 4 for nodes 0 and 1 of "4(x2),3".
int tasks_of_node(const std::string& list, int node) {
  int tasks = 1;
  for (const char* at = list.c_str(); *at != '\0';) {
    char* end = nullptr;
    tasks = static_cast<int>(std::strtol(at, &end, 10));
    long nodes = 1;
    if (end[0] == '(' && end[1] == 'x') nodes = std::strtol(end + 2, &end, 10), end += *end == ')';
    node -= static_cast<int>(nodes);
    if (node < 0 || end == at || *end != ',') break;
    at = end + 1;
  }
  return tasks;
}

// Jobs of one node meet at different ports, below those that the system gives to others.
int port_of_step(int job, int step) { return 10000 + (7 * job + step) % 20000; }

}  // namespace

LaunchPlace find_place() {
  LaunchPlace out;
  out.address = variable("MASTER_ADDR");
  const bool by_srun =
      variable("RANK").empty() && !variable("SLURM_PROCID").empty() && !variable("SLURM_STEP_NUM_TASKS").empty();
  if (!by_srun) {
    out.rank = number("RANK", 0), out.size = number("WORLD_SIZE", 1);
    out.local_rank = number("LOCAL_RANK", out.rank), out.local_size = number("LOCAL_WORLD_SIZE", out.size);
    out.one_machine = number("LOCAL_WORLD_SIZE", 1) == out.size;
    out.port = out.address.empty() ? 0 : number("MASTER_PORT", 29500);
    return out;
  }
  out.rank = number("SLURM_PROCID", 0), out.size = number("SLURM_STEP_NUM_TASKS", 1);
  out.local_rank = number("SLURM_LOCALID", 0);
  out.local_size = tasks_of_node(variable("SLURM_STEP_TASKS_PER_NODE"), number("SLURM_NODEID", 0));
  out.one_machine = out.local_size == out.size;
  if (out.address.empty()) out.address = first_node(variable("SLURM_STEP_NODELIST"));
  out.port = number("MASTER_PORT", port_of_step(number("SLURM_JOB_ID", 0), number("SLURM_STEP_ID", 0)));
  return out;
}

}  // namespace htfm
