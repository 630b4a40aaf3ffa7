// htfm bench sums: the time in which several processes add up a gradient, through their hosts and by NCCL.
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "app/processes.h"
#include "bench/bench.h"
#include "htfm/base/error.h"
#include "htfm/comm/device_sum.h"
#include "htfm/device/choose_device.h"
#include "htfm/device/device.h"

namespace htfm::app {

namespace {

struct SumBench {
  Common common;
  std::vector<int64_t> values{134914, 39602691};  // of the 2D network and of the U-Net of CIFAR
  int64_t rounds = 20;
};

// Milliseconds of the slowest process, the median of some rounds that all begin together.
double milliseconds_of(Communicator* processes, int64_t rounds, const std::function<void()>& body) {
  std::vector<double> times;
  for (int64_t k = -2; k < rounds; ++k) {
    if (processes) processes->barrier();
    const auto started = std::chrono::steady_clock::now();
    body();
    const double own = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
    const std::vector<double> all = processes ? gather_values(*processes, own) : std::vector<double>{own};
    if (k >= 0) times.push_back(*std::max_element(all.begin(), all.end()));
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<size_t>(rounds / 2)];
}

void add_line(Json& lines, const char* what, int64_t values, double milliseconds) {
  const int size = processes() ? processes()->size() : 1;
  const double megabytes = static_cast<double>(values) * 4e-6;
  lines.push_back({{"sum", what}, {"processes", size}, {"MB", megabytes}, {"ms", milliseconds}});
  say(fmt::format("{}, {} processes, {:.2f} MB: {:.3f} ms", what, size, megabytes, milliseconds));
}

void sums_of_hosts(const SumBench& o, Json& lines) {
  Communicator& c = *processes();
  for (const int64_t n : o.values) {
    const at::Tensor own = at::ones({n}, at::kFloat), sum = at::empty({n}, at::kFloat);
    const float* part[] = {own.const_data_ptr<float>()};
    add_line(lines, fmt::format("through the hosts ({})", c.engine()).c_str(), n,
             milliseconds_of(&c, o.rounds, [&] { sum_in_order(c, c.size(), part, n, sum.mutable_data_ptr<float>()); }));
    if (sum.min().item<float>() != static_cast<float>(c.size())) throw Error("[bench] the sum is wrong");
  }
}

void sums_of_devices(const SumBench& o, at::Device device, Json& lines) {
  const auto queue = image_device().queue();
  std::unique_ptr<DeviceSum> by_nccl;
  if (o.common.nccl_on(device)) queue->run([&] { by_nccl = make_nccl_sum(*processes()); });
  for (const int64_t n : o.values) {
    at::Tensor values, copy;
    queue->run([&] {
      values = at::ones({n}, at::TensorOptions().dtype(at::kFloat).device(device)), copy = at::empty_like(values);
    });
    // What memory alone would take.
    add_line(lines, "a copy on the device", n, milliseconds_of(processes(), o.rounds, [&] {
               queue->run([&] { copy.copy_(values); });
               queue->wait();
             }));
    if (!by_nccl) continue;
    queue->run([&] { by_nccl->sum(values); });
    queue->wait();
    const int recorded = queue->record([&] { by_nccl->sum(values); });
    add_line(lines, "by NCCL, recorded", n, milliseconds_of(processes(), o.rounds, [&] {
               queue->replay(recorded);
               queue->wait();
             }));
  }
}

}  // namespace

void add_bench_sums(CLI::App& bench) {
  auto o = std::make_shared<SumBench>();
  CLI::App* c = bench.add_subcommand("sums", "Measure how long several processes take to add up a gradient");
  c->footer(
      "Example: mpirun -n 2 htfm bench sums    and, on GPUs, torchrun --no-python --nproc-per-node 8 htfm bench sums "
      "--device cuda");
  c->add_option("--values", o->values, "Numbers of float32 values")->delimiter(',')->check(positive());
  add_count(*c, "--rounds", o->rounds, "Rounds, of which the median is printed (default 20)");
  o->common.add_comm(*c);
  o->common.device = "cpu";
  o->common.add(*c);
  c->callback([o] {
    o->common.apply(true);
    if (!processes()) throw InputError("[--comm] expected several processes: mpirun -n 2 htfm bench sums; got one");
    Json lines = Json::array();
    sums_of_hosts(*o, lines);
    if (o->common.device != "cpu") sums_of_devices(*o, o->common.device_for("unet"), lines);
    if (o->common.json && speaks()) fmt::print("{}\n", lines.dump());
  });
}

}  // namespace htfm::app
