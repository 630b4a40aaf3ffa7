#include "app/common.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "htfm/base/dispatch.h"
#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/net/torchscript.h"
#include "htfm/version.h"

namespace htfm::app {

void Common::add(CLI::App& command, bool with_json) {
  command.add_option("--seed", seed, "Seed of everything that is drawn")
      ->check(not_negative())
      ->each([this](const std::string&) { seed_given = true; });
  command.add_option("--device", device, "cpu, cuda or auto")->check(CLI::IsMember({"cpu", "cuda", "auto"}));
  command.add_option("--threads", threads, "Threads to use; 0: one for each core")->check(between(0, 4096));
  if (with_json) command.add_flag("--json", json, "Print one JSON object on standard output");
}

void add_trust(CLI::App& command) {
  command.add_flag_callback(
      "--trust", [] { trust_torchscript(true); },
      "Run the code in the TorchScript file of net.path: only where you know who made it");
}

void Common::apply(bool cuda) {
  if (device == "cuda" && !cuda)
    throw InputError("[--device] expected cpu or auto: this build has no CUDA backend for this command, got cuda");
  set_thread_count(threads);
  if (threads > 0) at::set_num_threads(threads);  // feature networks run in LibTorch's own threads
}

void ClockChoice::add(CLI::App& command, bool required) {
  std::vector<std::string> names;
  for (const ClockFamily& f : clock_families()) names.push_back(f.name);
  family = command.add_option("--family", spec.family, "Family of the clock")->check(CLI::IsMember(names));
  if (required) family->required();
  for (const ClockFamily& f : clock_families())
    for (const ClockParameter& p : f.parameters)
      if (!command.get_option_no_throw("--" + p.name))
        command.add_option_function<double>(
            "--" + p.name, [this, name = p.name](double v) { given[name] = v; }, p.meaning + " (" + f.name + ")");
  command.add_option("--grid", spec.grid, "Steps of the grid on [0,1]")->capture_default_str();
  command.add_option("--scale", spec.scale, "What the source is multiplied by")->capture_default_str();
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

CLI::Option* add_count(CLI::App& command, const std::string& name, int64_t& count, const std::string& help) {
  return command
      .add_option_function<std::string>(
          name,
          [&count, name](const std::string& text) {
            double v = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
            if (error != std::errc{} || end != text.data() + text.size() || !(v >= 1 && v <= 1e15) ||
                v != std::floor(v))
              throw CLI::ValidationError(name, "expected a whole number of at least 1, got '" + text + "'");
            count = static_cast<int64_t>(v);
          },
          help)
      ->type_name("NUMBER");
}

namespace {

std::string value_text(const Json& v) {
  if (v.is_string()) return v.get<std::string>();
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

StatusLine::StatusLine(std::string prefix) : prefix_(std::move(prefix)), terminal_(::isatty(STDERR_FILENO) != 0) {}

StatusLine::~StatusLine() {
  if (terminal_ && shown_) std::fputc('\n', stderr);  // fmt may throw
}

void StatusLine::show(const std::string& text, bool last) {
  const auto now = std::chrono::steady_clock::now();
  if (!last && now < next_) return;
  next_ = now + (terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000));
  if (terminal_)
    fmt::print(stderr, "\r\033[K{}{}", prefix_, text);
  else
    fmt::print(stderr, "{}{}\n", prefix_, text);
  std::fflush(stderr);
  shown_ = true;
}

void say(const std::string& text) { fmt::print(stderr, "{}\n", text); }

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw Error("{}: cannot make the folder: {}", path, error.message());
}

std::string version_text() { return fmt::format("htfm {} ({}, {} threads)", HTFM_VERSION, isa_name(), thread_count()); }

report::KeyValues page_origin(const std::string& command) {
  return {{"command", command}, {"program", version_text()}};
}

}  // namespace htfm::app
