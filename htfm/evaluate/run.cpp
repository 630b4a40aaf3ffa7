#include "htfm/evaluate/run.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "htfm/io/json_lines.h"
#include "htfm/model/description.h"
#include "htfm/model/run_folder.h"

namespace htfm {

RunReference make_run_reference(const RunConfig& config, int64_t n, bool yardstick) {
  RunReference r;
  if (!config.data.path.empty()) {
    r.data = load_dataset(config);
    r.description = fmt::format("the rows of {}", config.data.path);
    return r;
  }
  r.data = held_out(config, n);
  r.description = fmt::format("{} fresh points of {}", n, r.data.origin.substr(0, r.data.origin.rfind(',')));
  if (yardstick) r.yardstick = compute_metrics({}, r.data.rows, held_out(config, n, 1).rows);
  return r;
}

ScoredRun score_run(Model model, const SampleOptions& options, const RunReference& reference,
                    const std::string& run_folder) {
  const std::string name = variant_name(model.clock(), model.config().method);
  SampleResult sampled = sample(model, options);
  MetricReport scores = compute_metrics({}, reference.data.rows, sampled.samples);
  ScoredRun out{name, std::move(model), options, std::move(sampled), std::move(scores), read_losses(run_folder)};
  out.options.report = {};  // it may refer to what goes with the caller
  return out;
}

void check_comparable(const Model& first, const Model& other, const std::string& first_name,
                      const std::string& other_name) {
  if (other.field())
    throw InputError("[compare] {}: expected a run of points or a table, got one of fields: htfm report makes its page",
                     other_name);
  for (const std::string& key : config_differences(first.config(), other.config()))
    if (key.starts_with("data.") && key != "data.normalise" && key != "data.whiten" && key != "data.tail" &&
        key != "data.tail_index")
      throw InputError("[compare] expected runs on the same data; {} and {} differ in {}", first_name, other_name, key);
  if (first.data_hash() != other.data_hash() && !first.config().data.path.empty())
    throw InputError("[compare] expected runs on the same data; {} was trained on {}, {} on {}", first_name,
                     first.data_origin(), other_name, other.data_origin());
}

}  // namespace htfm
