// What the subcommands share: common options, output as text or JSON.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "app/status.h"
#include "htfm/clock/clock.h"
#include "htfm/metric/metric.h"
#include "htfm/report/page.h"

namespace htfm::app {

using Json = nlohmann::ordered_json;

/// Options that subcommands share.
struct Common {
  int64_t seed = 0;
  bool seed_given = false;
  std::string device = "auto";
  int threads = 0;
  bool json = false;
  std::string comm = {};  ///< where several processes can carry the command out; empty: one alone
  bool nccl = false;      ///< devices add up by NCCL, where there are devices
  bool share_device = false;

  /// Which of the options that every command takes make a difference to this one; the help of the others says that they
  /// make none.
  struct Used {
    bool seed = true, device = true;
  };
  /// Adds --seed, --device, --threads and --json.
  void add(CLI::App& command, Used used);
  void add(CLI::App& command) { add(command, {true, true}); }
  /// Adds --comm to a command that several processes can carry out; before add().
  void add_comm(CLI::App& command);
  /// Applies threads and checks the device; to be called first in a command. `cuda`: the command can use one.
  void apply(bool cuda = false);
  /// The device for a network of this kind; of several processes on a machine each has its own.
  at::Device device_for(const std::string& network_kind) const;
  /// Whether the devices of several processes add up by NCCL, or through the hosts.
  bool nccl_on(at::Device own) const { return nccl && own.is_cuda() && !share_device; }
  /// The device to draw on, where a command can use CUDA: auto is the CPU.
  at::Device where() const { return device == "cuda" ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU); }
};

/// Adds --trust to a command that builds a model, whose network may be a file with code.
void add_trust(CLI::App& command);

/// Options that name a clock: --family, --alpha, --nu, ... (one for each parameter in the registry) and --grid.
struct ClockChoice {
  ClockSpec spec;
  std::map<std::string, double> given;
  CLI::Option *family = nullptr, *grid = nullptr, *scale = nullptr;
  /// Those of a command that draws; of one that only checks what it is told against a run they are not listed.
  void add(CLI::App& command, bool required);
  /// The specification, with the parameters that were given.
  ClockSpec get() const;
};

/// What the number of an option must be; bad ones are refused in our words.
CLI::Validator positive();
CLI::Validator not_negative();
CLI::Validator between(double least, double most);
/// One of some names; a message about another one suggests the nearest.
CLI::Validator one_of(std::vector<std::string> names);

/// A file that a command writes at its end, named with one of these endings (any where none): refused before the work
/// where it could not be written.
CLI::Validator output_file(std::vector<std::string> endings = {});
/// The same of a folder.
CLI::Validator output_folder();

/// Adds an option for a number of things, at least one: 24000, or 1e6 for short.
CLI::Option* add_count(CLI::App& command, const std::string& name, int64_t& count, const std::string& help);

/// Figures of a command: printed as aligned lines, or as one JSON object with --json.
void print_figures(const Common& common, const Json& figures);

/// Adds values: their intervals as fields of their own in JSON, in brackets for the eye.
void add_values(Json& figures, const std::vector<MetricValue>& values, bool json);

/// The program's version and build, for provenance.
std::string version_text();
/// Command and program, as they stand first at the foot of a page.
report::KeyValues page_origin(const std::string& command);

}  // namespace htfm::app
