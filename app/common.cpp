#include "app/common.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>

#include "app/processes.h"
#include "htfm/base/dispatch.h"
#include "htfm/base/error.h"
#include "htfm/base/nearest.h"
#include "htfm/base/parallel.h"
#include "htfm/base/parse_number.h"
#include "htfm/device/choose_device.h"
#include "htfm/io/file.h"
#include "htfm/net/torchscript.h"
#include "htfm/version.h"

namespace htfm::app {

void Common::add(CLI::App& command, Used used) {
  command
      .add_option("--seed", seed,
                  used.seed ? "Seed of everything that is drawn" : "No effect: this command draws nothing")
      ->check(not_negative())
      ->each([this](const std::string&) { seed_given = true; });
  command
      .add_option("--device", device,
                  used.device ? "Where to compute; auto, the default: CUDA for image networks if there is a device"
                              : "Where to compute; this command uses the CPU only")
      ->check(one_of({"cpu", "cuda", "auto"}));
  command.add_option("--threads", threads, "Threads to use; 0: one for each core")
      ->check(between(0, 4.0 * std::max(1u, std::thread::hardware_concurrency())));
  command.add_flag("--json", json, "Print one JSON object on standard output");
}

void Common::add_comm(CLI::App& command) {
  comm = "auto";
  command
      .add_option("--comm", comm,
                  "How several processes work together: auto (as mpirun, srun or torchrun has started them), none, "
                  "mpi, nccl or store (doc/scaling.md)")
      ->check(one_of({"auto", "none", "mpi", "nccl", "store"}));
  command.add_flag("--share-device", share_device,
                   "For tests: let several processes share one CUDA device and add up through the host");
}

at::Device Common::device_for(const std::string& network_kind) const {
  const at::Device chosen = choose_device(device, network_kind);
  if (!processes()) return chosen;
  check_equal(*processes(), "device", chosen.is_cuda() ? "cuda" : "cpu");
  if (comm == "nccl" && !chosen.is_cuda())
    throw InputError("[--comm] expected mpi or store for a network that runs on the CPU, got nccl");
  if (comm == "nccl" && share_device)
    throw InputError("[--share-device] expected --comm mpi or store, got nccl, which wants a device for each process");
  return chosen.is_cuda() ? local_device(*processes(), share_device) : chosen;
}

void add_trust(CLI::App& command) {
  command.add_flag_callback(
      "--trust", [] { trust_torchscript(true); },
      "Allow the code in the TorchScript file of net.path to run; only if you know who made it");
}

void Common::apply(bool cuda) {
  if (device == "cuda" && !cuda)
    throw InputError("[--device] expected cpu or auto, got cuda: this command runs on the CPU alone");
  if (comm.empty()) {
    expect_one_process();
  } else {
    nccl = start_processes(comm).nccl;
    if (processes() && threads == 0) threads = threads_of_process(*processes());
  }
  set_thread_count(threads);
  if (threads > 0) at::set_num_threads(threads);  // feature networks run in LibTorch's own threads
}

void ClockChoice::add(CLI::App& command, bool required) {
  std::vector<std::string> names;
  for (const ClockFamily& f : clock_families())
    if (!required || !f.from_data) names.push_back(f.name);
  family = command.add_option("--family", spec.family, "Family of the clock")->check(one_of(names));
  if (required) family->required();
  std::vector<CLI::Option*> own{family};
  for (const ClockFamily& f : clock_families())
    for (const ClockParameter& p : f.parameters)
      if (!command.get_option_no_throw("--" + p.name))
        own.push_back(command.add_option_function<double>(
            "--" + p.name, [this, name = p.name](double v) { given[name] = v; }, p.meaning + " (" + f.name + ")"));
  own.push_back(grid = command.add_option("--grid", spec.grid, "Steps of the grid on [0,1]")->capture_default_str());
  own.push_back(
      scale =
          command.add_option("--scale", spec.scale, "Factor that the source is multiplied by")->capture_default_str());
  if (!required)
    for (CLI::Option* option : own) option->group("");
}

ClockSpec ClockChoice::get() const {
  ClockSpec out = spec;
  out.parameters = given;
  return out;
}

namespace {
CLI::Validator number(std::string expected, std::string type, std::function<bool(double)> holds) {
  const auto check = [expected = std::move(expected), holds = std::move(holds)](const std::string& text) {
    double v = 0;
    return CLI::detail::lexical_cast(text, v) && holds(v) ? std::string()
                                                          : fmt::format("expected {}, got '{}'", expected, text);
  };
  return CLI::Validator(check, std::move(type));
}
}  // namespace

CLI::Validator positive() {
  return number("a number above 0", "POSITIVE", [](double v) { return v > 0; });
}
CLI::Validator not_negative() {
  return number("a number of at least 0", "NONNEGATIVE", [](double v) { return v >= 0; });
}
CLI::Validator between(double least, double most) {
  return number(fmt::format("a number from {} to {}", least, most), fmt::format("from {} to {}", least, most),
                [=](double v) { return v >= least && v <= most; });
}

CLI::Validator one_of(std::vector<std::string> names) {
  const std::string list = fmt::format("{}", fmt::join(names, ","));
  const auto check = [names = std::move(names)](const std::string& text) {
    if (std::find(names.begin(), names.end(), text) != names.end()) return std::string();
    const std::string like = nearest_name(text, names, 2);
    return fmt::format("expected one of {}; got '{}'{}", fmt::join(names, ", "), text,
                       like.empty() ? "" : fmt::format(": did you mean {}?", like));
  };
  return CLI::Validator(check, "{" + list + "}");
}

CLI::Validator output_file(std::vector<std::string> endings) {
  const auto check = [endings = std::move(endings)](const std::string& path) {
    if (!endings.empty() &&
        std::none_of(endings.begin(), endings.end(), [&](const std::string& end) { return path.ends_with(end); }))
      return fmt::format("expected a file that ends in {}, got '{}'", fmt::join(endings, " or "), path);
    check_can_write(path);
    return std::string();
  };
  return CLI::Validator(check, "");
}
CLI::Validator output_folder() {
  const auto check = [](const std::string& path) {
    check_can_make_folder(path);
    return std::string();
  };
  return CLI::Validator(check, "");
}

CLI::Option* add_count(CLI::App& command, const std::string& name, int64_t& count, const std::string& help) {
  return command
      .add_option_function<std::string>(
          name,
          [&count, name](const std::string& text) {
            const std::optional<double> v = parse_finite(text);
            if (!v || *v < 1 || *v > 1e15 || *v != std::floor(*v))
              throw CLI::ValidationError(name, "expected a whole number of at least 1, got '" + text + "'");
            count = static_cast<int64_t>(*v);
          },
          help)
      ->type_name("NUMBER");
}

namespace {

std::string value_text(const Json& v) {
  if (v.is_string()) return v.get<std::string>();
  if (v.is_null() || (v.is_number_float() && std::isnan(v.get<double>()))) return "-";  // there is no such figure
  if (v.is_number_float()) return fmt::format("{:.6g}", v.get<double>());
  return v.dump();
}

void print_lines(const Json& figures, const std::string& indent) {
  size_t width = 0;
  for (const auto& [key, value] : figures.items())
    if (!value.is_structured()) width = std::max(width, key.size());
  for (const auto& [key, value] : figures.items()) {
    if (value.is_object()) {
      fmt::print("{}{}\n", indent, key);
      print_lines(value, indent + "  ");
    } else {
      fmt::print("{}{:<{}}  {}\n", indent, key, width, value_text(value));
    }
  }
}

}  // namespace

void print_figures(const Common& common, const Json& figures) {
  if (!speaks()) return;
  if (common.json)
    fmt::print("{}\n", figures.dump());
  else
    print_lines(figures, "");
  std::fflush(stdout);
}

void add_values(Json& figures, const std::vector<MetricValue>& values, bool json) {
  for (const MetricValue& v : values) {
    if (json || !(v.low <= v.high))
      figures[v.name] = v.value;
    else
      figures[v.name] = fmt::format("{:.6g}  [{:.4g}, {:.4g}]", v.value, v.low, v.high);
    if (json && v.interval) figures[v.name + "_low"] = v.low, figures[v.name + "_high"] = v.high;
  }
}

std::string version_text() { return fmt::format("htfm {} ({}, {} threads)", HTFM_VERSION, isa_name(), thread_count()); }

report::KeyValues page_origin(const std::string& command) {
  return {{"command", command}, {"program", version_text()}};
}

}  // namespace htfm::app
