#include "app/field_sample.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include "app/progress.h"
#include "htfm/io/npy.h"

namespace htfm::app {

Json sample_fields(const Model& model, const SampleOptions& options, const std::string& output, const std::string& area) {
  constexpr int64_t kBytes = int64_t{1} << 28;  // of the states of a part
  const ImageShape shape = *model.image();
  const int64_t part = std::max<int64_t>(1, kBytes / (8 * shape.size()));
  at::Tensor areas = at::empty({options.n}, at::kDouble);
  SampleResult all;
  atomic_write(output, [&](Sink& sink) {
    write_npy_header(sink, {options.n, shape.channels, shape.height, shape.width}, at::kFloat);
    for (int64_t first = 0; first < options.n; first += part) {
      SampleOptions own = options;
      own.first = options.first + first, own.n = std::min(part, options.n - first);
      const SampleResult drawn = sample_with_status(model, own, fmt::format("samples {} to {}", first + 1, first + own.n));
      const at::Tensor values = drawn.samples.to(at::kFloat).contiguous();
      sink.write(values.data_ptr(), values.nbytes());
      areas.narrow(0, first, own.n).copy_(drawn.area);
      all.evaluations += drawn.evaluations * static_cast<double>(own.n) / static_cast<double>(options.n);
      all.most_evaluations = std::max(all.most_evaluations, drawn.most_evaluations);
      all.diverged += drawn.diverged, all.incomplete += drawn.incomplete, all.seconds += drawn.seconds;
    }
  });
  if (!area.empty()) write_npy(area, areas);
  return {{"samples", options.n},
          {"file", output},
          {"shape", shape.text()},
          {"transform", model.field()->text()},
          {"clock", model.clock().describe()},
          {"solver", options.solver},
          {"nfe", all.evaluations},
          {"nfe_most", all.most_evaluations},
          {"diverged", all.diverged},
          {"incomplete", all.incomplete},
          {"weights", options.averaged ? "ema" : "raw"},
          {"step", model.step},
          {"seed", options.seed},
          {"seconds", all.seconds}};
}

}  // namespace htfm::app
