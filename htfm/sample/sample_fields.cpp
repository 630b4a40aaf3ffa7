#include "htfm/sample/sample_fields.h"

#include "htfm/base/error.h"
#include "htfm/sample/sample_file.h"

namespace htfm {

SampleResult sample_fields(const Model& model, const SampleOptions& options,
                           const std::function<void(const at::Tensor& values)>& receive) {
  constexpr int64_t kBytes = int64_t{1} << 28;  // of the states of a part
  if (!model.field())
    throw InputError("[sample] expected a model of prepared fields, got one of {}", model.data_origin());
  const int64_t part = std::max<int64_t>(1, kBytes / (8 * model.image()->size()));
  SampleResult all;
  all.area = at::empty({options.n}, at::kDouble);
  for (int64_t first = 0; first < options.n; first += part) {
    SampleOptions own = options;
    own.first = options.first + first, own.n = std::min(part, options.n - first);
    if (options.report) own.report = [&](int64_t done, int64_t) { options.report(first + done, options.n); };
    const SampleResult drawn = sample(model, own);
    receive(drawn.samples.to(at::kFloat).contiguous());
    all.area.narrow(0, first, own.n).copy_(drawn.area);
    all.evaluations += drawn.evaluations * static_cast<double>(own.n) / static_cast<double>(options.n);
    all.most_evaluations = std::max(all.most_evaluations, drawn.most_evaluations);
    all.diverged += drawn.diverged, all.incomplete += drawn.incomplete, all.seconds += drawn.seconds;
  }
  return all;
}

SampleResult sample_fields(const Model& model, const SampleOptions& options, const std::string& path) {
  if (!model.field())
    throw InputError("[sample] expected a model of prepared fields, got one of {}", model.data_origin());
  return sample_to_file(model, options, {.path = path});
}

}  // namespace htfm
