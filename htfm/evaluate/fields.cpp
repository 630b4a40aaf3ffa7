#include "htfm/evaluate/fields.h"

#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "htfm/base/error.h"
#include "htfm/data/image_set.h"
#include "htfm/field/field_set.h"
#include "htfm/io/npy.h"
#include "htfm/sample/sample_fields.h"

namespace htfm {
namespace {

struct OpenFields {
  FieldStream stream;
  std::string description, hash;
};

OpenFields fields_of_set(const std::shared_ptr<const FieldSet>& set, const std::string& path, const std::string& part,
                         int64_t channel) {
  auto index = std::make_shared<std::vector<int64_t>>();
  if (part != "train") *index = set->part(true);
  if (part != "held-out") {
    const std::vector<int64_t> own = set->part(false);
    index->insert(index->end(), own.begin(), own.end());
    std::sort(index->begin(), index->end());
  }
  if (index->empty())
    throw InputError(
        "[part] {}: expected fields of the part {}, got none among {}: htfm prepare --test holds some out, and --part "
        "of "
        "htfm eval takes another part",
        path, part, set->size());
  if (channel < 0 || channel >= set->fields.size(1))
    throw InputError("[channel] {}: expected one below {}, got {}", path, set->fields.size(1), channel);
  OpenFields out;
  out.stream = {static_cast<int64_t>(index->size()), set->fields.size(2), set->fields.size(3),
                [set, index, channel](int64_t begin, int64_t end) {
                  return set->take({index->begin() + begin, index->begin() + end}).select(1, channel);
                }};
  out.description = fmt::format("{} fields of {} ({})", index->size(), path, part);
  out.hash = set->hash;
  return out;
}

OpenFields fields_of_samples(const std::string& path, const ImageShape& shape, int64_t channel) {
  auto rows = std::make_shared<NpyRows>(path);
  if (rows->row_size() != shape.size())
    throw InputError("[fake] {}: expected fields of {} = {} numbers, got {}", path, shape.text(), shape.size(),
                     rows->row_size());
  OpenFields out;
  out.stream = {
      rows->rows(), shape.height, shape.width, [rows, shape, channel](int64_t begin, int64_t end) {
        return rows->read(begin, end).view({end - begin, shape.channels, shape.height, shape.width}).select(1, channel);
      }};
  out.description = fmt::format("{} samples of {}", rows->rows(), path);
  return out;
}

constexpr int64_t kLooked = 256;  // fields that examples are chosen from

at::Tensor fields_evenly(const FieldStream& s, int64_t count) {
  std::vector<at::Tensor> out;
  count = std::min(count, s.n);
  for (int64_t k = 0; k < count; ++k) out.push_back(s.read(s.n * k / count, s.n * k / count + 1));
  return at::cat(out);
}

// Evenly over the upper half of the ranks.
at::Tensor fields_by_maximum(const at::Tensor& fields, int64_t count) {
  const at::Tensor order = std::get<1>(fields.amax({1, 2}).sort());
  const int64_t n = fields.size(0), shown = std::min(n, count), low = shown < n ? std::min(n / 2, n - shown) : 0;
  std::vector<at::Tensor> out;
  for (int64_t k = 0; k < shown; ++k)
    out.push_back(fields.select(0, order[low + (n - 1 - low) * (k + 1) / shown].item<int64_t>()).unsqueeze(0));
  return at::cat(out);
}

// A file that goes when this goes.
struct PassingFile {
  ~PassingFile() {
    std::error_code none;
    std::filesystem::remove(path, none);
  }
  std::string path;
};

}  // namespace

FieldEvaluation evaluate_fields(const std::string& real, const std::string& fake, const FieldEvaluationOptions& o) {
  if (o.part != "held-out" && o.part != "train" && o.part != "all")
    throw InputError("[part] expected held-out, train or all; got '{}'", o.part);
  const auto set = std::make_shared<const FieldSet>(open_field_set(real));
  const OpenFields own = fields_of_set(set, real, o.part, o.channel);
  const ImageShape shape{set->fields.size(1), set->fields.size(2), set->fields.size(3)};
  const OpenFields other = is_field_set(fake) ? fields_of_set(std::make_shared<const FieldSet>(open_field_set(fake)),
                                                              fake, fake == real ? "train" : o.part, o.channel)
                                              : fields_of_samples(fake, shape, o.channel);
  FieldEvaluation out;
  out.options = o.scores;
  out.options.wet = o.wet >= 0 ? o.wet : set->transform.threshold.value_or(0.1);
  out.scores = field_scores(own.stream, other.stream, out.options);
  out.reference = own.description, out.source = other.description, out.data_hash = own.hash;
  out.channel = set->channels[static_cast<size_t>(o.channel)], out.unit = set->units[static_cast<size_t>(o.channel)];
  out.south_first = set->south_first;
  if (o.shown > 0) {
    out.examples.range = fields_evenly(own.stream, kLooked);
    out.examples.real = fields_by_maximum(out.examples.range, o.shown);
    out.examples.fake = fields_by_maximum(fields_evenly(other.stream, kLooked), o.shown);
  }
  return out;
}

std::vector<MetricValue> field_values(const FieldScores& s) {
  std::vector<MetricValue> out;
  const auto add = [&](const std::string& name, const Scored& v) {
    out.push_back({name, v.value, v.low, v.high, true});
  };
  add("kr", s.kr), add("sr", s.sr), add("tail_ks", s.tail_ks), add("tail_ks_own", s.tail_ks_own);
  add("tail_share", s.tail_share);
  out.push_back({"tail_cut", s.cut});
  add("kurtosis_real", s.kurtosis_real), add("kurtosis_fake", s.kurtosis_fake);
  add("skewness_real", s.skewness_real), add("skewness_fake", s.skewness_fake);
  add("wet_real", s.wet_real), add("wet_fake", s.wet_fake), add("spectrum_distance", s.spectrum_distance);
  for (size_t k = 0; k < s.return_levels.x.size(); ++k) {
    add(fmt::format("return_level_{}_real", s.return_levels.x[k]), s.return_levels.real[k]);
    add(fmt::format("return_level_{}_fake", s.return_levels.x[k]), s.return_levels.fake[k]);
  }
  return out;
}

ScoredFieldRun score_field_run(const Model& model, const SampleOptions& options, const std::string& scratch,
                               const FieldEvaluationOptions& evaluation) {
  {  // a part without fields is told of before the samples are drawn
    const std::string& path = model.config().data.path;
    fields_of_set(std::make_shared<const FieldSet>(open_field_set(path)), path, evaluation.part, evaluation.channel);
  }
  const PassingFile samples{scratch};
  SampleResult sampled = sample_fields(model, options, samples.path);
  return {std::move(sampled), evaluate_fields(model.config().data.path, samples.path, evaluation)};
}

}  // namespace htfm
