// Kill the process at any moment: nothing is lost, and the resumed run ends with the same bits.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "htfm/base/random.h"
#include "htfm/model/model.h"
#include "htfm/model/run_folder.h"
#include "test/app/support.h"

namespace htfm {
namespace {

using WallClock = std::chrono::steady_clock;

int64_t newest_step(const std::string& run) {
  const auto files = RunFolder(run).list();
  return files.empty() ? 0 : files.back().step;
}

// `htfm train ... --resume` in a process of its own.
class TrainingProcess {
 public:
  TrainingProcess(const std::string& config, const std::string& run) : child_(::fork()) {
    if (child_ != 0) return;
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, 1);
    ::dup2(null, 2);
    ::execl(program().c_str(), "htfm", "train", config.c_str(), "-o", run.c_str(), "--resume",
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ~TrainingProcess() { kill(); }
  bool runs() {
    if (child_ != 0 && ::waitpid(child_, nullptr, WNOHANG) == child_) child_ = 0;
    return child_ != 0;
  }
  void kill() {
    if (child_ == 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  pid_t child_;
};

// The moments are counted in steps of the run and in shares of the time that these took, so they are as random on a
// slow machine as on a fast one; and the run has no end that could come first.
void kill_at_random_moments(uint64_t moments) {
  const Workplace w;
  // A checkpoint after every step: writing takes most of the time, so most kills strike while one is being written.
  const std::string config =
      "[data]\nn = 1024\n[clock]\nfamily = \"stable\"\nalpha = 1.7\ngrid = 50\n[train]\nbatch = 256\ncheckpoint_steps "
      "= 1\nlog_steps = 1\n";
  constexpr int64_t kStepsOfEpoch = 4;
  w.write("endless.toml", config + "epochs = 100000000\n");

  const Key key(2024);
  WallClock::duration start_up = std::chrono::milliseconds(200);
  for (uint64_t i = 0; i < moments; ++i) {
    const int64_t before = newest_step(w / "run"), steps = i == 0 ? 1 : static_cast<int64_t>(4 * key.uniform(2 * i));
    const auto started = WallClock::now();
    TrainingProcess training(w / "endless.toml", w / "run");
    while (newest_step(w / "run") < before + steps) {
      ASSERT_TRUE(training.runs()) << "the run ended by itself";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (steps > 0) start_up = WallClock::now() - started;
    // Without a step: anywhere while it starts; after one: within a few more.
    std::this_thread::sleep_for(key.uniform(2 * i + 1) * (steps > 0 ? start_up / 20 : start_up));
    ASSERT_TRUE(training.runs()) << "the run ended by itself";
    training.kill();
    // Whatever was on disk at the kill is whole.
    for (const CheckpointFile& f : RunFolder(w / "run").list()) ASSERT_NO_THROW(Model::load(f.path)) << f.path;
  }
  w.write("c.toml", config + "epochs = " + std::to_string(newest_step(w / "run") / kStepsOfEpoch + 2) + "\n");
  ASSERT_EQ(w.run("train c.toml -o run --resume").code, 0);
  ASSERT_EQ(w.run("train c.toml -o whole").code, 0);
  const Model whole = Model::load(RunFolder(w / "whole").newest().path),
              resumed = Model::load(RunFolder(w / "run").newest().path);
  EXPECT_EQ(resumed.step, whole.step);
  EXPECT_TRUE(resumed.trained.parameters.equal(whole.trained.parameters));
  EXPECT_TRUE(resumed.trained.ema.equal(whole.trained.ema));
  EXPECT_EQ(slurp(RunFolder(w / "run").newest().path), slurp(RunFolder(w / "whole").newest().path))
      << "the whole file, to the byte";
}

TEST(Kill, SomeRandomMoments) { kill_at_random_moments(5); }
TEST(KillSlow, TwentyRandomMoments) { kill_at_random_moments(20); }

}  // namespace
}  // namespace htfm
