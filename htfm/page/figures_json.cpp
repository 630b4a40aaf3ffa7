#include "htfm/page/figures_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace htfm {

namespace {

using FiguresJson = nlohmann::ordered_json;

// One line a class for the eye, an object for a program.
FiguresJson class_figures(const ImageEvaluation& evaluation, const std::optional<ClassScores>& by_class,
                          const std::vector<std::string>& names, bool for_the_eye) {
  FiguresJson out = FiguresJson::object();
  for (size_t c = 0; c < evaluation.scores.classes.size(); ++c) {
    const ClassCoverage& own = evaluation.scores.classes[c];
    const double expected = evaluation.expected(c);
    const ClassScore* score = by_class ? &by_class->classes[c] : nullptr;
    if (for_the_eye) {
      std::string text = fmt::format("real {:>6}  fake {:>6} ({:.0f} expected)  recall {:.4f}", own.real, own.fake,
                                     expected, own.recall);
      if (score)
        text += fmt::format("  asked {:>6}  distance {:.4g}  accuracy {:.4f}", score->fake, score->distance,
                            score->accuracy);
      out[names[c]] = text;
      continue;
    }
    FiguresJson& j =
        out[names[c]] = {{"real", own.real}, {"fake", own.fake}, {"fake_expected", expected}, {"recall", own.recall}};
    if (score)
      j.update({{"asked", score->fake},
                {"fd", score->distance},
                {"accuracy", score->accuracy},
                {"accuracy_nearest", score->nearest}});
  }
  return out;
}

}  // namespace

std::string sample_json(const Model& model, const SampleOptions& options, const SampleResult& result,
                        const std::string& file) {
  FiguresJson j{{"samples", options.n}};
  if (!file.empty()) j["file"] = file;
  if (model.field()) j["shape"] = model.image()->text(), j["transform"] = model.field()->text();
  j["clock"] = model.clock().describe();
  if (model.condition().there()) {
    j["condition"] = model.condition().describe();
    if (options.guidance > 0) j["guidance"] = options.guidance;
  }
  j["solver"] = options.solver;
  j["nfe"] = result.evaluations;
  j["nfe_most"] = result.most_evaluations;
  j["diverged"] = result.diverged;
  j["incomplete"] = result.incomplete;
  j["weights"] = options.averaged ? "ema" : "raw";
  j["step"] = model.step;
  j["seed"] = options.seed;
  j["seconds"] = result.seconds;
  return j.dump();
}

std::string image_scores_json(const ImageReference& real, const ImageEvaluation& evaluation,
                              const std::optional<ClassScores>& by_class, const std::string& distance,
                              bool for_the_eye) {
  const ImageScores& scores = evaluation.scores;
  FiguresJson j{{"data_hash", real.images.hash},
                {"features", real.network->name()},
                {"features_sha256", real.network->hash()},
                {"dimension", evaluation.dimension},
                {"n_real", scores.real},
                {"n_fake", scores.fake},
                {"nonfinite", evaluation.nonfinite},
                {"clipped_share", evaluation.clipped_share}};
  if (for_the_eye) {
    j[distance] = fmt::format("{:.6g}  (means {:.4g}, covariances {:.4g})", scores.distance.value, scores.distance.mean,
                              scores.distance.covariance);
  } else {
    j["fd_name"] = distance;
    j["fd"] = scores.distance.value;
    j["fd_mean"] = scores.distance.mean;
    j["fd_covariance"] = scores.distance.covariance;
  }
  j["precision"] = scores.neighbours.score.precision;
  j["recall"] = scores.neighbours.score.recall;
  j["f1"] = scores.neighbours.score.f1;
  j["k"] = scores.k;
  if (scores.classes.empty()) return j.dump();
  j["class_distance"] = scores.class_distance;
  if (by_class) {
    j["class_fd_mean"] = by_class->distance;
    j["class_accuracy"] = by_class->accuracy;
    j["class_accuracy_nearest"] = by_class->nearest;
  }
  j["classes"] = class_figures(evaluation, by_class, real.images.classes, for_the_eye);
  return j.dump();
}

std::string demo_json(const Demo& demo) {
  const auto one_in = [&](size_t k) { return fmt::format("one_in_{:.0f}", demo.far.one_in[k]); };
  FiguresJson out = FiguresJson::object();
  for (size_t m = 0; m < demo.runs.size(); ++m) {
    const ScoredRun& run = demo.runs[m];
    FiguresJson j{{"nfe", run.sampled.evaluations}, {"diverged", run.sampled.diverged}};
    for (const char* metric : {"f1_prd", "f1_knn", "w1_sliced", "log_q_0.999", "hill_fake"})
      j[metric] = run.scores[metric];
    for (size_t k = 0; k < demo.far.one_in.size(); ++k) j[one_in(k)] = demo.far.models[m].quantile[k];
    out[run.name] = j;
  }
  for (size_t k = 0; k < demo.far.one_in.size(); ++k) out["the law itself"][one_in(k)] = demo.far.law[k];
  const MetricReport& fresh = *demo.reference.yardstick;
  out["two fresh draws"] = {{"f1_prd", fresh["f1_prd"]}, {"w1_sliced", fresh["w1_sliced"]}};
  out["report"] = demo.page;
  return out.dump();
}

}  // namespace htfm
