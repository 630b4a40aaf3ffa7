// Kill the process at any moment: nothing is lost, and the resumed run ends with the same bits.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "test/app/support.h"
#include "htfm/base/random.h"
#include "htfm/model/model.h"
#include "htfm/model/run_folder.h"

namespace htfm {
namespace {

// Starts `htfm train ... --resume` and kills it after a time; true when it came to its end before that.
bool train_for(const std::string& config, const std::string& run, std::chrono::microseconds patience) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, 1);
    ::dup2(null, 2);
    ::execl(HTFM_PROGRAM, "htfm", "train", config.c_str(), "-o", run.c_str(), "--resume", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  int status = 0;
  while (std::chrono::steady_clock::now() < deadline) {
    if (::waitpid(child, &status, WNOHANG) == child) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return false;
}

TEST(Kill, TwentyRandomMoments) {
  const Workplace w;
  // A checkpoint after every step: writing takes most of the time, so most kills strike while one is being written.
  w.write("c.toml",
          "[data]\nn = 2048\n[clock]\nfamily = \"stable\"\nalpha = 1.7\ngrid = 50\n[train]\nbatch = 256\nepochs = 150\ncheckpoint_steps = "
          "1\nlog_steps = 1\n");
  ASSERT_EQ(w.run("train c.toml -o whole").code, 0);
  const Model whole = Model::load(RunFolder(w / "whole").newest().path);

  // Between start-up (some 0.2 s) and well into the run.
  const Key key(2024);
  int kills = 0;
  bool done = false;
  for (uint64_t i = 0; i < 20 && !done; ++i) {
    const auto patience = std::chrono::microseconds(static_cast<int64_t>(200'000 + 400'000 * key.uniform(i)));
    done = train_for(w / "c.toml", w / "run", patience);
    if (!done) ++kills;
    // Whatever was on disk at the kill is whole.
    for (const CheckpointFile& f : RunFolder(w / "run").list()) ASSERT_NO_THROW(Model::load(f.path)) << f.path;
  }
  EXPECT_EQ(kills, 20) << "the run must be long enough to be killed twenty times";
  ASSERT_EQ(w.run("train c.toml -o run --resume").code, 0);
  const Model resumed = Model::load(RunFolder(w / "run").newest().path);
  EXPECT_EQ(resumed.step, whole.step);
  EXPECT_TRUE(resumed.trained.parameters.equal(whole.trained.parameters));
  EXPECT_TRUE(resumed.trained.ema.equal(whole.trained.ema));
  EXPECT_EQ(slurp(RunFolder(w / "run").newest().path), slurp(RunFolder(w / "whole").newest().path)) << "the whole file, to the byte";
}

}  // namespace
}  // namespace htfm
