// The configuration of a run: every key of a TOML file or of --set, with its default, range and meaning.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/condition/condition_table.h"
#include "htfm/method/methods.h"
#include "htfm/net/networks.h"

namespace htfm HTFM_PUBLIC {

struct DataConfig {
  std::string name = "mixture2d";  ///< a synthetic set; not used when path is given
  double alpha = 1.5;
  int64_t n = 32000;
  int64_t dim = 2;
  double nu = 3;
  std::string path;                ///< a table or images
  std::string kind = "auto";       ///< auto (by the path) | table | cifar10 | png | images | fields
  std::string subset = "all";      ///< all | long-tail, of images
  double imbalance = 0.01;         ///< of the long tail
  bool flip = false;               ///< images are mirrored at random
  std::string columns, drop;       ///< comma-separated columns of a table: only these, all but these
  std::string missing = "refuse";  ///< refuse | drop | keep: rows with missing values
  std::string kinds = "numbers";   ///< numbers | auto: what columns may hold, and what overrules it
  std::string decimal = "auto";    ///< auto | point | comma: the mark of decimals in texts
  std::string independent;         ///< groups of columns that do not depend on each other: "1;2,3"
  std::string constraints;         ///< between columns: "paid <= incurred; total = net + tax"
  bool log_returns = false;
  int64_t rows = 0;                ///< of a file: only so many, at random; 0: all
  double holdout = 0;              ///< share of these rows that is set apart
  std::string normalise = "none";  ///< none | zscore | robust | log | table | scores, column by column
  std::string scores = "normal";   ///< normal | logistic: the law that scores have
  bool whiten = false;             ///< turn and stretch by a robust scatter matrix afterwards
  double tail_index = 0;  ///< sides of columns with clearly another tail index are brought to this one; 0: none
  std::string tail =
      "empirical";  ///< empirical | pareto: the largest sizes as they are, or smoothed and continued by a Pareto law
};

struct TrainConfig {
  double lr = 5e-3, weight_decay = 0.01, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  std::string optimiser = "adamw";  ///< adamw | muon (htfm/train/muon.h)
  double muon_rate = 0.2, muon_momentum = 0.95;
  double clip = 1;  ///< largest gradient norm; 0: no clipping
  double ema = 0.99;
  bool ema_warmup = false;  ///< averages of the first steps reach less far back: at most (1 + k) / (10 + k) of the last
  std::string times = "auto";  ///< uniform | normal: of the logarithm of signal to noise (TrainingTimes) | auto
  double times_centre = 0.5, times_spread = 1.2;
  std::string precision = "bf16";  ///< on a device: bf16 | tf32 | float32
  bool graph = true;               ///< on a device: the step recorded and replayed
  bool deterministic = false;      ///< on a device: the same bits in every run
  int64_t batch = 1024, epochs = 100;
  int64_t warmup = 0;   ///< steps of linear warm-up
  double lr_decay = 1;  ///< factor of StepLR
  int64_t lr_decay_steps = 1000;
  int64_t cooldown = 0;             ///< last steps, over which the rate falls to 0 along a line
  int64_t state_steps = 0;          ///< the most of a network of states (StateNet); 0: by its size
  int64_t max_bad_steps = 50;       ///< non-finite steps in a row before training stops
  int64_t checkpoint_steps = 1000;  ///< and at the end
  int64_t keep = 2;                 ///< newest checkpoints kept
  int64_t keep_every = 0;           ///< and each multiple of so many steps, for good
  int64_t log_steps = 50;
  double validation = 0;         ///< share of the rows that is not trained on but tells when to stop; 0: none
  int64_t validate_steps = 100;  ///< steps between validations
  int64_t patience = 20;         ///< validations without a better one before training ends
};

struct SampleConfig {
  std::string solver = "auto";  ///< fitted; ab2 for images, fields and where nothing is preconditioned
  int64_t nfe = 20;
  std::string precision = "auto";  ///< on a device: fp8, or as in training
  std::string time_grid = "auto";  ///< angle; clock for images and fields (htfm/sample/sampler.h)
  double time_power = 1;           ///< grid 1 - (1-u)^power
  double time_centre = 0;          ///< of the grid's logit, after the power
  double time_spread = 1;          ///< and the factor of that logit
  double rtol = 1e-5, atol = 1e-5;
  double eta = 1, eta_from = 0;  ///< stochastic
  double guidance = 0;           ///< how far beyond the conditional velocity, away from the unconditional one
  bool exact_means = false;      ///< of samples that are given a field
  int64_t n = 24000;
};

struct RunConfig {
  int64_t seed = 0;
  std::string method = "htfm";
  MethodOptions method_options;
  DataConfig data;
  ConditionSpec condition;
  ClockSpec clock;
  FeatureSpec feature;
  ScheduleSpec path;
  std::string feature_saturate =
      "auto";  ///< show no clock larger than nearly all: on, off, or auto, where a coupling makes them matter
  std::string feature_squash = "auto";  ///< on, off, or auto, where a coupling makes the largest clocks matter
  std::string feature_area = "auto";  ///< join the area: on, off, or auto, where a coupling makes the data depend on it
  CouplingSpec coupling;
  std::optional<double> coupling_noise = 0;  ///< coupling.noise; none: what is best for points and tables
  SourceMeanSpec source;
  SourceCovarianceSpec covariance;
  std::string source_law;  ///< a named skewed source, which has its own clock; empty: none
  bool precondition = true;
  std::string scale = "constant";  ///< s_d of the preconditioning: constant or clock
  std::string time = "auto";       ///< what the network is told: path, clock or auto
  double data_scale = 0;           ///< s_d of the preconditioning; 0: from the data
  NetConfig net;
  TrainConfig train;
  SampleConfig sample;

  FlowMatchingSpec flow() const;
  /// That of evaluations on a device: fp8, bf16, tf32 or float32.
  const std::string& sample_precision() const {
    return sample.precision == "auto" ? train.precision : sample.precision;
  }
  /// What `auto` stands for: image networks that learn a preconditioned flow without a coupling are told the clock's
  /// time and train at normal times; all else has the path's time and uniform ones.
  bool uses_clock_time() const;
  bool uses_normal_times() const;
  /// The clock, or a stand-in for one that has no law until a data set gives it one, where the method takes such
  /// clocks.
  ClockSpec provisional_clock() const;
  /// The method for a clock that may come from the data.
  std::unique_ptr<Method> make_method(const ClockSpec& chosen, DataScale own_scale = DataScale()) const;
};

/// One key, for `--help`, the documents and error messages.
struct ConfigKey {
  std::string name, type, default_value, meaning;
};
std::vector<ConfigKey> config_keys();
/// All of them as a table in Markdown, for the documents.
std::string config_key_table();

/// A configuration from a TOML file and settings "key=value" on top. InputError names file, line and key, and for an
/// unknown key the nearest known one.
RunConfig load_config(const std::string& path, const std::vector<std::string>& settings = {});
/// The same from text; `origin` is for messages.
RunConfig parse_config(const std::string& text, const std::string& origin,
                       const std::vector<std::string>& settings = {});
/// The same from a checkpoint: keys that are no longer known are left out.
RunConfig parse_saved_config(const std::string& text, const std::string& origin);
/// A configuration with settings "key=value" on top. InputError for an unknown key, a value out of range or values that
/// do not go together.
RunConfig with_settings(RunConfig config, const std::vector<std::string>& settings = {});
/// Keys and values as text; those without a value are left out.
std::vector<std::pair<std::string, std::string>> config_entries(const RunConfig& config);
/// The resolved configuration as TOML, every key written.
std::string format_config(const RunConfig& config);
/// Keys in which two configurations differ.
std::vector<std::string> config_differences(const RunConfig& a, const RunConfig& b);
/// Whether a resumed run may change this key: it does not touch what is computed.
bool may_change_on_resume(const std::string& key);

}  // namespace htfm
