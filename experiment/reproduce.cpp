// htfm reproduce: the paper's tables and figures, ours beside the paper's.
#include "experiment/reproduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <set>

#include "htfm/base/error.h"
#include "htfm/base/registry.h"
#include "htfm/base/split.h"
#include "htfm/io/file.h"

namespace htfm::app {

namespace {
// The cells that an experiment has and those that were asked for, for a message.
std::set<std::string> offered;
std::string asked_for;
}  // namespace

InputError no_cell_matches() {
  return InputError("[--only] no cell matches '{}'; the cells are: {}", asked_for, fmt::join(offered, ", "));
}

bool ReproduceOptions::wants(const std::string& name) const {
  if (only.empty()) return true;
  offered.insert(name);
  asked_for = only;
  for (const std::string& part : split(only))
    if (part.starts_with('=') ? name == part.substr(1) : !part.empty() && name.find(part) != std::string::npos)
      return true;
  return false;
}

RunConfig config_2d(std::vector<std::string> settings, const ReproduceOptions& o) {
  // The paper's solver and evaluations, unless an experiment says otherwise; the grid by clock is ours.
  settings.insert(settings.begin(), {"sample.solver=euler", "sample.nfe=10", "sample.time_grid=clock"});
  if (o.published)  // config/published/2d.toml
    settings.insert(settings.end(), {"precondition.enabled=false", "feature.transform=per-path",
                                     "sample.time_grid=uniform", "train.clip=0"});
  settings.insert(settings.end(), o.settings.begin(), o.settings.end());
  return parse_config("", "reproduce", settings);
}

namespace {

struct Experiment {
  std::string name, summary;
  std::function<Json(const ReproduceOptions&)> run;
  bool in_paper = true;  // it has a form as the paper prints it
};

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> list{
      {"2d", "Table 1 on the 2D mixture: seven clocks, f1 at NFE 10", reproduce_2d},
      {"overview", "Figure 1: sources and samples given a small clock, given a large one, and over all clocks",
       reproduce_overview},
      {"toys", "five 2D targets under three clocks", reproduce_toys},
      {"panels", "the 2D mixture under flow matching and the baselines, NFE 20 and 100", reproduce_panels},
      {"tails", "far quantiles of the 2D mixture under couplings and clocks", reproduce_tails, false},
      {"tables",
       "far quantiles of two real tables and of synthetic twins with a known distribution, four models (--data)",
       reproduce_tables, false},
      {"rivals",
       "joint extremes compared with copulas and other flows, on samples of known distributions and on real tables "
       "(--python, --data)",
       reproduce_rivals, false},
      {"skew", "far quantiles on both sides of skewed tables, under a symmetric and a skewed source", reproduce_skew,
       false},
      {"auto", "verdicts of the tail diagnosis on 50 samples of each of several known distributions", reproduce_auto,
       false},
      {"margins", "far quantiles of columns of 200 to 3,000 values: as drawn, rounded, repeated and heaped",
       reproduce_margins, false},
      {"dimensions", "far quantiles of the radius in 8, 32 and 128 dimensions", reproduce_dimensions, false},
      {"cifar10lt", "CIFAR10-LT under the eight clocks of the paper (--data, --features)", reproduce_cifar10lt},
      {"cifar10lt-long", "CIFAR10-LT, 100,000 steps, five solvers (--data, --features)", reproduce_cifar10lt_long,
       false},
      {"cifar10lt-classes",
       "CIFAR10-LT by class: a network that is given the class, guidance 0 to 4 (--data, --features)",
       reproduce_cifar10lt_classes, false},
      {"baselines", "CIFAR10-LT under LIM, DLPM, DLIM and t-Flow, NFE 5 to 500 (--data, --features)",
       reproduce_baselines},
      {"weather", "fields under clocks and couplings (--data, a set of htfm prepare)", reproduce_weather},
      {"weather-given", "fields given their means on a grid of an eighth of the size (--data, a set of htfm prepare)",
       reproduce_weather_given, false},
      {"weather-cascade",
       "fields in two steps: means on a grid of an eighth of the size, then fields given these (--data, a set of htfm "
       "prepare)",
       reproduce_weather_cascade, false},
      {"flow-type",
       "schedules that depend on the clock and schedules that do not, on the 2D mixture; CIFAR10-LT with --data, "
       "--features",
       reproduce_flow_type},
      {"signature-order", "orders 0 to 3 of the signature, on the 2D mixture; CIFAR10-LT with --data, --features",
       reproduce_signature_order},
      {"nfe", "scores against network evaluations on the 2D mixture; CIFAR10-LT with --data, --features",
       reproduce_nfe},
      {"solver", "solvers at matched budgets on the 2D mixture; CIFAR10-LT with --data, --features", reproduce_solver},
  };
  return list;
}

// Removes a folder that holds folders at the most.
void remove_without_files(const std::string& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (!entry.is_directory()) return;
  std::filesystem::remove_all(folder);
}

}  // namespace

void add_reproduce(CLI::App& app) {
  struct Choice {
    ReproduceOptions options;
    std::string name;
    int64_t epochs = 0;
  };
  auto o = std::make_shared<Choice>();
  CLI::App* c = app.add_subcommand("reproduce", "Reproduce a table or figure of the paper");
  c->footer("Example: htfm reproduce 2d -o out    (if started again, it continues where it stopped)");
  std::string help = "Which:";
  std::vector<std::string> names;
  for (const Experiment& e : experiments())
    names.push_back(e.name), help += fmt::format("{} {} ({})", names.size() > 1 ? ";" : "", e.name, e.summary);
  c->add_option("name", o->name, help)->required()->check(one_of(names));
  c->add_option("-o,--output", o->options.folder, "Folder for results; by default reproduce-NAME")
      ->check(output_folder());
  c->add_option("--seeds", o->options.seeds, "Seeds for each cell")->check(between(1, 1000))->capture_default_str();
  c->add_option("--budget", o->epochs, "Epochs of each training run, instead of the paper's")->check(positive());
  c->add_option("--set", o->options.settings, "key=value for every cell; may be repeated")->allow_extra_args(false);
  c->add_flag("--published", o->options.published,
              "The algorithm as the paper prints it: no preconditioning, per-path features, uniform times and grid");
  c->add_option(
      "--only", o->options.only,
      "Only cells whose name contains this text, or with =NAME the cell of this name; several separated by commas");
  c->add_option("--data", o->options.data, "The data: a folder (tables, images), or a set of fields (weather)");
  c->add_option("--features", o->options.features, "Feature network, a TorchScript file (where images are scored)");
  c->add_option("--inception", o->options.inception,
                "SHA-256 of the 2015 Inception network: if --features is that file, distances are FIDs");
  c->add_option("--python", o->options.python,
                "Python with the rivals' packages (rivals); by default that of the variable HTFM_PEERS_PYTHON");
  c->add_option("--peers", o->options.peers, "Folder of the rivals' scripts (rivals)")->default_val("bench/peers");
  o->options.common.add_comm(*c);
  o->options.common.add(*c);
  c->callback([o] {
    o->options.common.apply(true);
    set_table_output(o->options.common.json ? stderr : stdout);
    const Experiment& experiment = find_named(experiments(), o->name, "reproduce");
    if (o->options.published && !experiment.in_paper)
      throw InputError("[--published] expected an experiment of the paper, got {}, which is ours alone", o->name);
    if (o->options.folder.empty())
      o->options.folder = "reproduce-" + o->name + (o->options.published ? "-published" : "");
    if (o->epochs > 0) o->options.settings.push_back(fmt::format("train.epochs={}", o->epochs));
    const bool new_folder = !std::filesystem::exists(o->options.folder);
    make_folder(o->options.folder);
    Json figures;
    try {
      figures = experiment.run(o->options);
    } catch (const InputError&) {
      if (new_folder) remove_without_files(o->options.folder);
      throw;
    }
    if (o->options.common.json) print_figures(o->options.common, figures);
  });
}

}  // namespace htfm::app
