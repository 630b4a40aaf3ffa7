// Training steps and sampling in two dimensions.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "bench/measure.h"
#include "htfm/base/parallel.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

// The whole training step and the sampling of the 2D job.
void bench_job(Bench& b) {
  for (const int threads : {1, 2})
    for (const char* clock : {"stable", "deterministic"}) {
      set_thread_count(threads);
      std::vector<std::string> settings{fmt::format("clock.family={}", clock), "clock.alpha=1.7", "train.epochs=10",
                                        "train.log_steps=1"};
      const RunConfig config = parse_config("", "bench", settings);
      std::vector<double> times;
      auto last = std::chrono::steady_clock::now();
      TrainOptions options;
      options.report = [&](const TrainProgress& p) {
        const auto now = std::chrono::steady_clock::now();
        // The last batch of an epoch is smaller; it is not counted.
        if (p.step > 20 && p.step % 32 != 0) times.push_back(std::chrono::duration<double>(now - last).count());
        last = now;
      };
      const Model model = train(config, options);
      std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
      const double step = times[times.size() / 2];
      SampleOptions s;
      s.solve.nfe = 100;
      const double evaluation = median_seconds([&] { sample(model, s); }, 3) / 100;
      std::vector<PeerLine> step_rivals, evaluation_rivals;
      for (const char* mode : {"eager", "compile"})
        for (const Json& j :
             b.run_peer("mlp2d.py", {"--mode", mode, "--threads", fmt::format("{}", threads), "--clock", clock})) {
          if (j.value("bench", "") == "train2d") step_rivals.push_back(peer_line(j, j.value("ms_per_step", 0.0) / 1e3));
          if (j.value("bench", "") == "sample2d")
            evaluation_rivals.push_back(peer_line(j, j.value("ms_per_evaluation", 0.0) / 1e3));
        }
      const std::string where = fmt::format("{} clock, {} thread{}", clock, threads, threads > 1 ? "s" : "");
      b.add("train2d", "training step, batch 1024, " + where, step, fmt::format("{:.2f} ms", step * 1e3), step_rivals);
      b.add("sample2d", "24,000 samples, an evaluation, " + where, evaluation,
            fmt::format("{:.2f} ms", evaluation * 1e3), evaluation_rivals);
    }
}

// What a coupling adds to a training step, everything included: the least of three runs each, taken in turns.
void bench_couplings(Bench& b) {
  set_thread_count(1);
  for (const char* clock : {"inverse-gamma", "stable"}) {
    const std::vector<std::string> kinds{"independent", "radial", "clock", "pool", "ot"};
    std::vector<double> step(kinds.size(), std::numeric_limits<double>::infinity());
    for (int round = 0; round < 3; ++round)
      for (size_t k = 0; k < kinds.size(); ++k) {
        const RunConfig config = parse_config(
            "", "bench",
            {fmt::format("clock.family={}", clock), "clock.alpha=1.5", "clock.nu=1.5", "coupling.kind=" + kinds[k],
             "feature.area=on", "train.log_steps=16", fmt::format("train.epochs={}", kinds[k] == "ot" ? 2 : 9)});
        // From the 16th step on, so that what is made once a run does not count; pools that are drawn again do.
        std::chrono::steady_clock::time_point first, last;
        int64_t steps = 0;
        TrainOptions options;
        options.report = [&](const TrainProgress& p) {
          last = std::chrono::steady_clock::now();
          if (p.step == 16) first = last;
          steps = p.step - 16;
        };
        train(config, options);
        step[k] = std::min(step[k], std::chrono::duration<double>(last - first).count() / static_cast<double>(steps));
      }
    for (size_t k = 0; k < kinds.size(); ++k)
      b.add("coupling", fmt::format("training step, batch 1024, {} clock, {}, 1 thread", clock, kinds[k]), step[k],
            fmt::format("{:.2f} ms ({:+.1f} %)", step[k] * 1e3, 100 * (step[k] / step[0] - 1)), {});
  }
}

}  // namespace htfm::app
