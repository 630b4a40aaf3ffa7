// The experiments of `htfm reproduce`, one file each.
#pragma once

#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "htfm/base/error.h"

namespace htfm::app {

void add_reproduce(CLI::App& app);

/// For where none of the cells that were asked after (ReproduceOptions::wants) is wanted.
InputError no_cell_matches();

struct ReproduceOptions {
  Common common;
  std::string folder;
  int64_t seeds = 3;
  std::vector<std::string> settings;
  std::string
      only;  ///< run only cells whose name contains one of these (commas between), or is it where it begins with =
  std::string data;           ///< folder with the data, where an experiment needs some
  std::string python, peers;  ///< a Python with the rivals' packages, and the folder of bench/peers
  std::string features;       ///< a feature network (TorchScript), where images are scored
  std::string inception;      ///< SHA-256 of the 2015 Inception network: with it as features the distance is an FID
  bool published = false;     ///< the algorithm as the paper prints it (config/published), not ours

  bool wants(const std::string& name) const;
};

/// Table 1, 2D columns: seven clocks on the mixture, f1 at Euler, NFE 10.
Json reproduce_2d(const ReproduceOptions& options);
/// Figure 1 from a trained model: two clocks, their sources and samples, and the mixture over clocks.
Json reproduce_overview(const ReproduceOptions& options);
/// Figure of toy targets: five sets under three clocks.
Json reproduce_toys(const ReproduceOptions& options);
/// Solver table, on the 2D mixture.
Json reproduce_solver(const ReproduceOptions& options);

/// Far quantiles of the 2D mixture under couplings and clocks.
Json reproduce_tails(const ReproduceOptions& options);

/// How often the diagnosis of tails is right on laws that are known.
Json reproduce_auto(const ReproduceOptions& options);
/// How far out the margins of small tables are right.
Json reproduce_margins(const ReproduceOptions& options);
/// Far quantiles of the radius in 8, 32 and 128 dimensions.
Json reproduce_dimensions(const ReproduceOptions& options);

/// Far quantiles of real tables, and of twins of them whose law is known, under four models.
Json reproduce_tables(const ReproduceOptions& options);

/// Joint extremes beside copulas and other flows, on draws of a known law.
Json reproduce_rivals(const ReproduceOptions& options);

/// Tables of skewed laws under a symmetric and a skewed source.
Json reproduce_skew(const ReproduceOptions& options);

/// CIFAR10-LT under eight clocks.
Json reproduce_cifar10lt(const ReproduceOptions& options);
Json reproduce_cifar10lt_long(const ReproduceOptions& options);
/// CIFAR10-LT by class, with guidance.
Json reproduce_cifar10lt_classes(const ReproduceOptions& options);
Json reproduce_baselines(const ReproduceOptions& options);

/// Weather fields under clocks and couplings.
Json reproduce_weather(const ReproduceOptions& options);

/// Weather fields given their coarse means, against interpolation and neighbours among unconditional samples.
Json reproduce_weather_given(const ReproduceOptions& options);

/// Weather fields by a model of their coarse means and one of the fields given these. A setting that begins with
/// "coarse." is that of the coarse model, any other that of the fine one.
Json reproduce_weather_cascade(const ReproduceOptions& options);

/// The 2D mixture under flow matching and the baselines.
Json reproduce_panels(const ReproduceOptions& options);

/// Schedules that see the clock and those that do not, and orders of the signature.
Json reproduce_flow_type(const ReproduceOptions& options);
Json reproduce_signature_order(const ReproduceOptions& options);
/// Scores against network evaluations.
Json reproduce_nfe(const ReproduceOptions& options);

/// The configuration of the 2D experiments with settings on top, the user's last.
RunConfig config_2d(std::vector<std::string> settings, const ReproduceOptions& options);

}  // namespace htfm::app
