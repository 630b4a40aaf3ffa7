// htfm bench unet: the time of a training step and of an evaluation of the image network on a device, beside PyTorch's
// in the same run.
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <cstdio>
#include <numeric>

#include "bench/bench.h"
#include "htfm/base/error.h"
#include "htfm/model/config.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/device_trainer.h"

namespace htfm::app {

namespace {

using Stopwatch = std::chrono::steady_clock;

double milliseconds(Stopwatch::time_point since) {
  return std::chrono::duration<double, std::milli>(Stopwatch::now() - since).count();
}

struct UNetBench {
  Common common;
  std::string net = "unet", python, peer = "bench/peers/unet.py", modes = "graphs";
  std::vector<std::string> settings;
  int64_t steps = 1000, batch = 0, sample_batch = 0, images = 12406;
  std::string profile;
  bool methods = false;
};

// Images of noise: the time of a step does not depend on what they show.
at::Tensor noise_images(int64_t n, int64_t dim) {
  at::Tensor rows = at::empty({n, dim}, at::kFloat);
  fill_normal(Key(1), 0, n * dim, rows.mutable_data_ptr<float>());
  return rows.mul_(0.5).clamp_(-1, 1);
}

// Milliseconds that one more evaluation costs a sampler of a method, all of its own work included: the difference of
// two runs.
double sampler_milliseconds(const UNetBench& o, const std::vector<std::string>& settings) {
  const RunConfig config = parse_config("", "bench", settings);
  Dataset data;
  data.image = o.net == "ncsnpp" ? ImageShape{1, 128, 128} : ImageShape{3, 32, 32};
  data.rows = noise_images(256, data.image->size()), data.hash = "noise", data.origin = "noise";
  Model model(config, data);
  std::vector<int64_t> index(static_cast<size_t>(data.rows.size(0)));
  std::iota(index.begin(), index.end(), 0);
  model.method().pairs(Key(2), {data.rows, index, 0}, model.standardiser);  // statistics of what the network is told
  SampleOptions options = sample_options(config);
  options.n = options.device_rows = o.sample_batch, options.device = at::Device(at::kCUDA, 0),
  options.precision = config.sample_precision();
  constexpr int64_t few = 20, many = 100;
  const auto seconds = [&](int64_t nfe) {
    options.solve.nfe = nfe;
    const SampleResult r = sample(model, options);
    return r.seconds;
  };
  seconds(few);
  const double short_run = seconds(few);
  return 1000 * (seconds(many) - short_run) / static_cast<double>(many - few);
}

// The samplers of the methods with the same network, and what they cost beside flow matching.
Json run_methods(const UNetBench& o, const std::vector<std::string>& settings) {
  Json out = Json::object();
  double flow = 0;
  for (const char* method : {"htfm", "dlpm", "dlim", "lim", "tflow"}) {
    std::vector<std::string> own = settings;
    own.push_back(fmt::format("method={}", method));
    if (std::string(method) == "htfm") own.insert(own.end(), {"sample.solver=euler", "sample.time_grid=clock"});
    if (std::string(method) == "tflow") own.insert(own.end(), {"clock.family=inverse-gamma", "clock.nu=3"});
    const double ms = sampler_milliseconds(o, own);
    if (flow == 0) flow = ms;
    out[method] = ms;
    say(fmt::format(
        "{:<6} batch {}: {:.2f} ms an evaluation with all of its sampler's work, {:.3f} times flow matching's", method,
        o.sample_batch, ms, ms / flow));
  }
  return out;
}

Json run(UNetBench o) {
  const bool fields = o.net == "ncsnpp";
  if (o.batch == 0) o.batch = fields ? 128 : 100;
  if (o.sample_batch == 0) o.sample_batch = fields ? 128 : 500;
  if (fields) o.images = 1024;
  std::vector<std::string> settings{fmt::format("net.kind={}", o.net),
                                    "clock.family=stable",
                                    "clock.alpha=1.7",
                                    "train.lr=2e-4",
                                    "train.ema=0.9999",
                                    fmt::format("train.batch={}", o.batch)};
  if (fields) settings.insert(settings.end(), {"unet.base=32", "unet.multipliers=1,2,2,4,4", "unet.blocks=4"});
  settings.insert(settings.end(), o.settings.begin(), o.settings.end());
  if (o.methods) return run_methods(o, settings);
  RunConfig config = parse_config("", "bench", settings);
  if (fields) config.net.unet.channels = 1, config.net.unet.height = config.net.unet.width = 128;
  const auto network = make_unet(config.net.unet);
  const at::Tensor rows = noise_images(o.images, network->dim());
  FlowMatching flow(config.flow(), DataScale(0.5));
  flow.fit_to_data({rows, {}, Key(3)});
  RunningStandardiser standardiser(flow.feature().size());
  const at::Tensor weights = network->layout().initial(Key(0));
  const OptimiserState state = OptimiserState::initial(weights, weights.clone());
  DeviceTrainer trainer(*network, state, {}, rows, config.train, {}, {});
  std::vector<int64_t> index(static_cast<size_t>(o.batch));
  const std::vector<uint8_t> flip(index.size(), 1);
  int64_t step = 0;
  const auto train = [&](int64_t count) {
    for (const int64_t end = step + count; step < end; ++step) {
      for (size_t i = 0; i < index.size(); ++i) index[i] = (step * o.batch + static_cast<int64_t>(i)) % o.images;
      const at::Tensor own = rows.narrow(0, index[0], std::min(o.batch, o.images - index[0]));
      const DataBatch batch{own.size(0) == o.batch ? own : rows.narrow(0, 0, o.batch), index, step * o.batch};
      trainer.step(flow.plan_pairs(Key(5).child(static_cast<uint64_t>(step)), batch, standardiser), index, flip, 2e-4);
    }
    trainer.wait();
  };
  train(20);
  if (!o.profile.empty()) {
    if (o.profile == "step")
      trainer.profile();
    else
      time_evaluation(*network, state, config.sample_precision(), o.sample_batch, 1, true);
    return {};
  }
  const auto started = Stopwatch::now();
  train(o.steps);
  const double ms = milliseconds(started) / static_cast<double>(o.steps);
  const StepState counters = trainer.counters();
  const double memory = trainer.peak_bytes() / (1 << 30);
  say(fmt::format(
      "{}: {} parameters; training, batch {}, {}: {:.2f} ms a step over {} steps, peak {:.2f} GiB, mean loss {:.4f}",
      image_device().name(), network->layout().count(), o.batch, config.train.precision, ms, o.steps, memory,
      counters.loss_sum / static_cast<double>(std::max<int64_t>(1, counters.loss_count))));
  const double evaluation = time_evaluation(*network, state, config.sample_precision(), o.sample_batch, 100);
  say(fmt::format("sampling, batch {}, {}: {:.2f} ms an evaluation", o.sample_batch, config.sample_precision(),
                  evaluation));
  return {{"device", image_device().name()},
          {"train_ms", ms},
          {"train_batch", o.batch},
          {"peak_gib", memory},
          {"evaluation_ms", evaluation},
          {"sample_batch", o.sample_batch},
          {"sample_precision", config.sample_precision()},
          {"precision", config.train.precision}};
}

}  // namespace

void add_bench_unet(CLI::App& bench) {
  auto o = std::make_shared<UNetBench>();
  CLI::App* c = bench.add_subcommand("unet", "Measure the image network on a CUDA device");
  c->footer("Example: htfm bench unet --python python3");
  c->add_option("--net", o->net, "The U-Net of 32x32 images, or NCSN++ of 128x128 fields")
      ->check(one_of({"unet", "ncsnpp"}))
      ->capture_default_str();
  c->add_option("--python", o->python, "Python with torch: runs the peer in the same run");
  c->add_option("--peer", o->peer, "The peer's script")->capture_default_str();
  c->add_option("--modes", o->modes, "The peer's modes, comma-separated: tf32, bf16, compile, graphs, max")
      ->capture_default_str();
  c->add_option("--steps", o->steps, "Training steps that are timed")->capture_default_str();
  c->add_option("--batch", o->batch, "Images in a training step; by default 100, for ncsnpp 128");
  c->add_option("--sample-batch", o->sample_batch, "Images in an evaluation; by default 500, for ncsnpp 128");
  c->add_option("--set", o->settings, "key=value; may be repeated")->allow_extra_args(false);
  c->add_flag("--methods", o->methods,
              "Only measure the time of an evaluation in the samplers of flow matching and of the baselines");
  c->add_option("--profile", o->profile, "Only one training step or one evaluation, marked for a profiler")
      ->check(one_of({"step", "evaluation"}));
  o->common.add(*c);
  c->callback([o] {
    o->common.apply();
    const Json figures = run(*o);
    if (o->common.json) print_figures(o->common, figures);
    if (!o->python.empty() && o->profile.empty() && !o->methods &&
        std::system(fmt::format("{} {} {} {}", shell_word(o->python), shell_word(o->peer), shell_word(o->net),
                                shell_word(o->modes))
                        .c_str()) != 0)
      throw Error("[bench] the peer {} did not run", o->peer);
  });
}

}  // namespace htfm::app
