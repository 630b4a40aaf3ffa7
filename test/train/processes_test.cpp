// Several processes that train one model, or sample it, give the bits of one. Threads stand for the processes: what MPI
// does with them is in test/app/processes_test.cpp.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>

#include "htfm/base/error.h"
#include "htfm/base/split.h"
#include "htfm/io/hash.h"
#include "htfm/io/npy.h"
#include "htfm/sample/sample_file.h"
#include "htfm/train/trainer.h"
#include "test/data.h"
#include "test/golden_file.h"
#include "test/temporary_folder.h"
#include "test/thread_communicator.h"

namespace htfm {
namespace {

std::string only_checkpoint(const std::string& folder) { return sha256_file(RunFolder(folder).newest().path); }

// The checkpoint of a training by so many processes; 0: without any.
std::string trained(const RunConfig& config, const Dataset& data, int processes, const std::string& folder) {
  if (processes == 0) {
    train(config, data, {.folder = folder});
    return only_checkpoint(folder);
  }
  test::run_processes(processes, [&](Communicator& c) { train(config, data, {.folder = folder, .processes = {&c}}); });
  return only_checkpoint(folder);
}

// Every method, and couplings of each kind, out of the golden bits (`bench/processes.sh bits` runs them all, under
// MPI); short, since a step that differs stays different.
const std::set<std::string> kCases{"stable",
                                   "signature-2",
                                   "radial",
                                   "by-clock-rank",
                                   "pool-student",
                                   "pool-stable",
                                   "transport",
                                   "low-rank",
                                   "time-warp-learned",
                                   "validation",
                                   "lim",
                                   "dlpm",
                                   "dlpm-median",
                                   "dlim",
                                   "tflow",
                                   "tedm",
                                   "clock-diffusion"};

TEST(ManyProcesses, TheCheckpointOfOne) {
  std::ifstream file(test::golden_file("bits.txt"));
  const test::TemporaryFolder folder;
  std::string line;
  int cases = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::vector<std::string> parts = split(line, '|');
    if (!kCases.contains(parts[0].substr(0, parts[0].find(' ')))) continue;
    std::vector<std::string> settings{"data.n=2400",  "train.batch=1200", "train.epochs=1",
                                      "net.width=32", "net.blocks=2",     "coupling.pool=4096"};
    for (const std::string& s : split(parts[1], ' '))
      if (!s.empty()) settings.push_back(s);
    const RunConfig config = parse_config("", "test", settings);
    const Dataset data = load_dataset(config);
    const std::string name = folder / std::to_string(cases);
    const std::string expected = trained(config, data, 0, name + "-0");
    const int processes = 2 + cases % 3;
    EXPECT_EQ(trained(config, data, processes, name + "-k"), expected) << parts[0] << " with " << processes;
    ++cases;
  }
  EXPECT_EQ(cases, static_cast<int>(kCases.size()));
}

Dataset stripes() {
  Dataset data;
  data.rows = at::empty({48, 64}, at::kFloat);
  float* x = data.rows.mutable_data_ptr<float>();
  for (int64_t i = 0; i < 48; ++i)
    for (int64_t k = 0; k < 64; ++k)
      x[i * 64 + k] = static_cast<float>(((k + i) % 4 < 2 ? 0.5 : -0.5) * static_cast<double>(1 + i % 5));
  data.image = ImageShape{1, 8, 8}, data.hash = "stripes", data.origin = "stripes";
  return data;
}

TEST(ManyProcesses, ImagesToo) {
  const RunConfig config =
      parse_config("", "test",
                   {"net.kind=unet", "unet.base=8", "unet.groups=4", "unet.multipliers=1,2", "unet.blocks=1",
                    "unet.attention=4", "unet.heads=2", "train.batch=20", "train.epochs=2",
                    "clock.family=inverse-gamma", "clock.nu=3", "data.flip=true"});
  const Dataset data = stripes();
  const test::TemporaryFolder folder;
  const std::string expected = trained(config, data, 0, folder / "0");
  for (const int processes : {1, 2, 3, 4})
    EXPECT_EQ(trained(config, data, processes, folder / std::to_string(processes)), expected) << processes;
}

TEST(ManyProcesses, AnotherNumberGoesOn) {
  const test::TemporaryFolder folder;
  const auto config = [](int epochs) {
    return parse_config(
        "", "test",
        {"data.n=1200", "train.batch=600", "train.checkpoint_steps=3", "train.epochs=" + std::to_string(epochs),
         "clock.family=stable", "clock.alpha=1.7", "coupling.kind=pool", "coupling.pool=1024"});
  };
  const Dataset data = load_dataset(config(6));
  const std::string expected = trained(config(6), data, 0, folder / "0");
  // Interrupted in the middle of an epoch by a signal that one of three processes got, and taken up by two.
  std::atomic<int> stopped = 0;
  test::run_processes(3, [&](Communicator& c) {
    int steps = 0;
    try {
      train(config(6), data,
            {.folder = folder / "k", .stop = [&] { return ++steps == 5 && c.rank() == 1; }, .processes = {&c}});
    } catch (const Interrupted&) {
      ++stopped;
    }
  });
  EXPECT_EQ(stopped, 3);
  EXPECT_EQ(RunFolder(folder / "k").newest().step, 5);
  test::run_processes(
      2, [&](Communicator& c) { train(config(6), data, {.folder = folder / "k", .resume = true, .processes = {&c}}); });
  EXPECT_EQ(only_checkpoint(folder / "k"), expected);
}

TEST(ManyProcesses, MustDoTheSame) {
  const auto config = [](int batch) {
    return parse_config("", "test", {"data.n=1200", "train.epochs=1", "train.batch=" + std::to_string(batch)});
  };
  const Dataset data = load_dataset(config(600));
  const auto reason = [](const std::function<void(Communicator&)>& body) -> std::string {
    try {
      test::run_processes(2, body);
    } catch (const InputError& e) {
      return e.what();
    }
    return "nothing";
  };
  EXPECT_EQ(reason([&](Communicator& c) { train(config(c.rank() == 0 ? 600 : 300), data, {.processes = {&c}}); }),
            "[train.batch] expected the same in every process, got another on rank 1 (here) than on rank 0 (here)");
  const std::string other = reason([&](Communicator& c) {
    Dataset own = data;
    if (c.rank() == 1) own.hash = "other";
    train(config(600), own, {.processes = {&c}});
  });
  EXPECT_NE(other.find("expected the same data in every process"), std::string::npos) << other;
  EXPECT_NE(other.find("of hash other on rank 1 (here)"), std::string::npos) << other;
}

class SampledFile : public testing::Test {
 protected:
  SampledFile()
      : model(train(parse_config("", "test",
                                 {"data.n=1200", "train.batch=600", "train.epochs=1", "net.width=16", "net.blocks=1",
                                  "clock.family=stable", "clock.alpha=1.7", "clock.grid=20"}))) {
    options = sample_options(model.config());
    options.solver = "euler", options.solve.nfe = 2, options.n = 540000;  // a little more than one part
    const SampleResult result = sample(model, options);
    write_npy(folder / "one.npy", result.samples);
    write_npy(folder / "one-area.npy", result.area);
  }
  bool same(const std::string& name) {
    return test::slurp(folder / name) == test::slurp(folder / "one.npy") &&
           test::slurp(folder / ("area-" + name)) == test::slurp(folder / "one-area.npy");
  }
  test::TemporaryFolder folder;
  Model model;
  SampleOptions options;
};

TEST_F(SampledFile, HasTheBytesOfOneProcess) {
  const SampleResult alone = sample_to_file(model, options, {.path = folder / "k.npy", .area = folder / "area-k.npy"});
  EXPECT_TRUE(same("k.npy"));
  EXPECT_EQ(alone.evaluations, 2);
  test::run_processes(2, [&](Communicator& c) {
    sample_to_file(model, options, {.path = folder / "k2.npy", .area = folder / "area-k2.npy", .processes = &c});
  });
  EXPECT_TRUE(same("k2.npy"));
}

TEST_F(SampledFile, GoesOnAfterAKill) {
  // One of two processes has written its part, the other dies.
  EXPECT_THROW(test::run_processes(2,
                                   [&](Communicator& c) {
                                     SampleOptions own = options;
                                     if (c.rank() == 1) own.report = [](int64_t, int64_t) { throw Error("killed"); };
                                     sample_to_file(
                                         model, own,
                                         {.path = folder / "k.npy", .area = folder / "area-k.npy", .processes = &c});
                                   }),
               std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(folder / "k.npy"));
  ASSERT_TRUE(std::filesystem::exists(folder / "k.npy.part"));
  SampleOptions other = options;
  other.seed = 5;
  const SampleFileOptions file{.path = folder / "k.npy", .area = folder / "area-k.npy", .resume = true};
  EXPECT_THROW(sample_to_file(model, other, file), InputError);
  sample_to_file(model, options, file);
  EXPECT_TRUE(same("k.npy"));
  EXPECT_FALSE(std::filesystem::exists(folder / "k.npy.part"));
}

}  // namespace
}  // namespace htfm
