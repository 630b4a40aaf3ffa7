// htfm bench: our speed, and the ratio against what a user would pick instead where that is installed.
#include "bench/bench.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bench/measure.h"
#include "htfm/base/dispatch.h"
#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/single_thread_guard.h"
#include "htfm/coupling/assignment.h"
#include "htfm/data/synthetic.h"
#include "htfm/io/npy.h"
#include "htfm/metric/frechet.h"
#include "htfm/metric/metric.h"
#include "htfm/net/unet.h"
#include "htfm/signature/signature.h"
#include "htfm/source/source.h"

namespace htfm::app {

namespace {

void bench_stable(Bench& b) {
  set_thread_count(1);
  constexpr int64_t n = 204800;
  constexpr double rho = 0.85;
  std::vector<double> x(n);
  const double s = median_seconds([&] { fill_positive_stable(Key(1), rho, 1, 0, n, x.data()); });
  std::vector<PeerLine> rivals;
  for (const Json& j : b.run_peer("stable.py"))
    rivals.push_back(peer_line(j, static_cast<double>(n) / j.value("per_second", 1.0)));
  b.add("stable", "positive stable draws, double, 1 thread", s,
        fmt::format("{:.1f} million/s", static_cast<double>(n) / s / 1e6), rivals);
}

void bench_signature(Bench& b) {
  set_thread_count(1);
  constexpr int64_t n = 1024, points = 201;
  at::Tensor paths = at::empty({n, points, 2}, at::kFloat);
  const ClockSample clocks =
      make_clock({.family = "stable", .parameters = {{"alpha", 1.7}}})->sample(Key(1), {.count = n});
  float* p = paths.mutable_data_ptr<float>();
  for (int64_t i = 0; i < n * points; ++i) {
    p[2 * i] = static_cast<float>(i % points) / (points - 1);
    p[2 * i + 1] = static_cast<float>(clocks.paths.const_data_ptr<double>()[i]);
  }
  const double sig = median_seconds([&] { signature(paths, 3); }),
               log = median_seconds([&] { logsignature(paths, 3, LogBasis::brackets); });
  std::vector<PeerLine> sig_rivals, log_rivals;
  for (const Json& j : b.run_peer("signature.py")) {
    const PeerLine line = peer_line(j, static_cast<double>(n) / j.value("per_second", 1.0));
    (j.value("case", "") == "logsig" ? log_rivals : sig_rivals).push_back(line);
  }
  b.add("signature", "signatures, depth 3, 200 steps, float32, 1 thread", sig,
        fmt::format("{:.2f} million/s", n / sig / 1e6), sig_rivals);
  b.add("signature", "logsignatures, the same", log, fmt::format("{:.2f} million/s", n / log / 1e6), log_rivals);
}

// A folder for the peers' input that goes when the benchmark is done.
struct PeerFolder {
  std::filesystem::path path;
  PeerFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "htfm-bench-XXXXXX";
    if (!::mkdtemp(pattern.data())) throw Error("[bench] {}: cannot make the folder", pattern);
    path = pattern;
  }
  ~PeerFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string file(const char* name) const { return (path / name).string(); }
};

void bench_assignment(Bench& b) {
  set_thread_count(1);
  constexpr int64_t n = 1024;
  const PeerFolder folder;
  const at::Tensor data = draw_synthetic(Key(1), {"mixture2d", 1.5}, n);
  write_npy(folder.file("data.npy"), data);
  const at::Tensor y = data.to(at::kDouble);
  for (const auto& [name, spec] :
       {std::pair{"normal", ClockSpec{}}, {"Student-t 1.5", ClockSpec{"inverse-gamma", {{"nu", 1.5}}, 1}}}) {
    const at::Tensor x = sample_source(Key(2), make_clock(spec)->sample(Key(3), {.count = n, .paths = false}).area, 2);
    write_npy(folder.file("source.npy"), x);
    for (const double p : {1.0, 1.5, 2.0}) {
      const double s = median_seconds([&] { assign(n, x.const_data_ptr<double>(), y.const_data_ptr<double>(), 2, p); });
      std::vector<PeerLine> rivals;
      for (const Json& j : b.run_peer("assignment.py", {"--source", folder.file("source.npy"), "--data",
                                                        folder.file("data.npy"), "-p", fmt::format("{}", p)}))
        rivals.push_back(peer_line(j, j.value("seconds", 0.0)));
      b.add("assignment", fmt::format("assignment of {} {} points, p = {}, 1 thread", n, name, p), s,
            fmt::format("{:.1f} ms", s * 1e3), rivals);
    }
  }
}

void bench_scores(Bench& b) {
  set_thread_count(1);
  const at::Tensor real = draw_synthetic(Key(1), {"mixture2d", 1.5}, 24000),
                   fake = draw_synthetic(Key(2), {"mixture2d", 1.6}, 24000);
  const PeerFolder folder;
  write_npy(folder.file("real.npy"), real);
  write_npy(folder.file("fake.npy"), fake);
  double knn_value = 0, prd_value = 0;
  const double knn = median_seconds([&] { knn_value = f1_knn(real, fake).f1; }),
               prd = median_seconds([&] { prd_value = f1_prd(real, fake).f1; }, 5);
  std::vector<PeerLine> knn_rivals, prd_rivals;
  for (const Json& j :
       b.run_peer("scores.py", {"--real", folder.file("real.npy"), "--fake", folder.file("fake.npy")})) {
    const PeerLine line = peer_line(j, j.value("seconds", 0.0),
                                    j.contains("value") ? fmt::format("(score {:.4f})", j["value"].get<double>()) : "");
    (j.value("case", "") == "f1_knn" ? knn_rivals : prd_rivals).push_back(line);
  }
  b.add("scores", fmt::format("f1_knn, 24,000 points, 1 thread (score {:.4f})", knn_value), knn,
        fmt::format("{:.1f} ms", knn * 1e3), knn_rivals);
  b.add("scores", fmt::format("f1_prd, 24,000 points, 1 thread (score {:.4f})", prd_value), prd,
        fmt::format("{:.0f} ms", prd * 1e3), prd_rivals);
}

// Features like pooled activations: not negative, with a covariance whose spectrum is a power law.
at::Tensor bench_features(Key key, int64_t n, int64_t dim, float shift) {
  at::Tensor mix = at::empty({dim, dim}, at::kFloat), z = at::empty({n, dim}, at::kFloat);
  fill_normal(Key(7), 0, dim * dim, mix.mutable_data_ptr<float>());
  fill_normal(key, 0, n * dim, z.mutable_data_ptr<float>());
  for (int64_t i = 0; i < dim; ++i) mix.select(0, i).mul_(10 * std::pow(1 + i, -0.6) / std::sqrt(dim));
  return at::mm(z.add_(shift), mix).add_(0.1).clamp_min_(0);
}

void bench_frechet(Bench& b) {
  set_thread_count(1);
  at::set_num_threads(1);  // or threads of LibTorch that wait for work count as processor time
  constexpr int64_t n = 12406, dim = 2048;
  const at::Tensor real = bench_features(Key(1), n, dim, 0), fake = bench_features(Key(2), n, dim, 0.05F);
  const PeerFolder folder;
  write_npy(folder.file("real.npy"), real);
  write_npy(folder.file("fake.npy"), fake);
  FeatureMoments m[2];
  const auto collect = [&](const at::Tensor& x) {
    MomentCollector all;
    for (const at::Tensor& part : x.split(500)) all.add(part);
    return all.moments();
  };
  const auto moments_once = [&] { m[0] = collect(real), m[1] = collect(fake); };
  moments_once();  // as the peers, which are warm too
  const double moments = processor_seconds(moments_once);
  double value = 0;
  const auto root_once = [&] { value = frechet_distance(m[0], m[1]).value; };
  root_once();
  std::array<double, 5> times;
  for (double& t : times) t = processor_seconds(root_once);
  std::sort(times.begin(), times.end());
  std::vector<PeerLine> moments_rivals, root_rivals;
  for (const Json& j :
       b.run_peer("frechet.py", {"--real", folder.file("real.npy"), "--fake", folder.file("fake.npy")})) {
    const std::string difference =
        j.contains("value") ? fmt::format("(differs by {:.1e})", j["value"].get<double>() - value) : "";
    (j.value("case", "") == "root" ? root_rivals : moments_rivals)
        .push_back(peer_line(j, j.value("seconds", 0.0), difference));
  }
  b.add("frechet", fmt::format("mean and covariance, 2 x {} x {}, 1 thread", n, dim), moments,
        fmt::format("{:.2f} s", moments), moments_rivals);
  b.add("frechet", fmt::format("distance from these (value {:.6f})", value), times[2],
        fmt::format("{:.2f} s", times[2]), root_rivals);
}

// The sum of squares of the output: any loss would do.
class SquareLoss final : public SampleLoss {
 public:
  explicit SquareLoss(int64_t dim) : dim_(dim) {}
  double operator()(int64_t, int64_t rows, const float* output, float* gradient) const override {
    double sum = 0;
    for (int64_t i = 0; i < rows * dim_; ++i) sum += output[i] * output[i], gradient[i] = 2 * output[i];
    return sum;
  }

 private:
  int64_t dim_;
};

// A small U-Net on the CPU.
void bench_images(Bench& b) {
  UNetOptions o;
  o.feature = 2, o.base = 32, o.multipliers = {1, 2, 2};
  const auto network = make_unet(o);
  constexpr int64_t batch = 32, images = 64;
  const at::Tensor weights = network->layout().initial(Key(0));
  const auto normal = [](Key key, const std::vector<int64_t>& shape) {
    at::Tensor x = at::empty(shape, at::kFloat);
    fill_normal(key, 0, x.numel(), x.mutable_data_ptr<float>());
    return x;
  };
  const at::Tensor x = normal(Key(1), {images, network->dim()}), t = normal(Key(2), {images}).sigmoid(),
                   feature = normal(Key(3), {images, 2});
  at::Tensor gradient = at::empty({network->layout().size()}, at::kFloat), out = at::empty_like(x);
  const float* w = weights.const_data_ptr<float>();
  const double backward = median_seconds([&] {
    network->gradient(w, {x.narrow(0, 0, batch), t.narrow(0, 0, batch), feature.narrow(0, 0, batch)},
                      SquareLoss(network->dim()), gradient.mutable_data_ptr<float>());
  });
  const int64_t rows = network->evaluation_rows();
  const double evaluation = median_seconds([&] {  // as in sampling
    parallel_ranges(images, rows, [&](int64_t first, int64_t last) {
      const SingleThreadGuard alone;
      (*network->evaluator(w, last - first, feature.const_data_ptr<float>() + 2 * first))(
          x.const_data_ptr<float>() + first * network->dim(), t.const_data_ptr<float>() + first,
          out.mutable_data_ptr<float>() + first * network->dim());
    });
  });
  std::vector<PeerLine> gradient_rivals, evaluation_rivals;
  for (const Json& j : b.run_peer("images.py", {"--threads", fmt::format("{}", thread_count())}))
    (j.value("case", "") == "gradient" ? gradient_rivals : evaluation_rivals)
        .push_back(peer_line(j, j.value("seconds", 0.0)));
  b.add("images", fmt::format("U-Net of {} parameters, gradient, batch {}", network->layout().count(), batch), backward,
        fmt::format("{:.0f} ms", 1e3 * backward), gradient_rivals);
  b.add("images", fmt::format("evaluation of {} images", images), evaluation,
        fmt::format("{:.0f} ms", 1e3 * evaluation), evaluation_rivals);
}

}  // namespace

void add_bench(CLI::App& app) {
  struct Options {
    Common common;
    Bench bench;
    std::vector<std::string> only;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("bench", "Measure speed, compared with other packages where they are installed");
  c->footer("Example: htfm bench --python venv/bin/python --peers bench/peers --only stable,scores");
  c->add_option("--python", o->bench.python, "Python with the other packages; without it only htfm is measured");
  c->add_option("--peers", o->bench.peers, "Folder of the scripts that run the other packages")
      ->default_val("bench/peers");
  if (const char* python = std::getenv("HTFM_PEERS_PYTHON")) o->bench.python = python;
  c->add_option("--only", o->only, "stable, signature, scores, frechet, assignment, coupling, images, job")
      ->delimiter(',')
      ->check(one_of({"stable", "signature", "scores", "frechet", "assignment", "coupling", "images", "job"}));
  add_bench_unet(*c);
  add_bench_sums(*c);
  add_bench_fields(*c);
  o->common.add(*c);
  c->callback([o, c] {
    if (!c->get_subcommands().empty()) return;
    o->common.apply();
    if (!o->bench.python.empty() && !std::filesystem::exists(o->bench.peers))
      throw InputError("[--peers] expected the folder of the peers' scripts, got nothing at '{}'", o->bench.peers);
    const auto wanted = [&](const char* name) {
      return o->only.empty() || std::find(o->only.begin(), o->only.end(), name) != o->only.end();
    };
    say(version_text());
    if (wanted("stable")) bench_stable(o->bench);
    if (wanted("signature")) bench_signature(o->bench);
    if (wanted("scores")) bench_scores(o->bench);
    if (wanted("frechet")) bench_frechet(o->bench);
    if (wanted("assignment")) bench_assignment(o->bench);
    if (wanted("coupling")) bench_couplings(o->bench);
    if (wanted("images")) bench_images(o->bench);
    if (wanted("job")) bench_job(o->bench);
    if (o->common.json) fmt::print("{}\n", Json{{"program", version_text()}, {"results", o->bench.lines}}.dump());
  });
}

}  // namespace htfm::app
