// One of several processes is killed, or told to stop, at any moment: all end, nothing is lost, and another number of
// processes goes on to the same bits. HTFM_KILL_ALL=1 takes 20 moments for each rank.
#include <gtest/gtest.h>

#include "htfm/base/random.h"
#include "htfm/model/model.h"
#include "htfm/model/run_folder.h"
#include "test/app/several.h"

namespace htfm {
namespace {

namespace fs = std::filesystem;

// A checkpoint after every step: writing takes most of rank 0's time.
const std::string kEndless =
    "[data]\nn = 1024\n[clock]\nfamily = \"stable\"\nalpha = 1.7\ngrid = 50\n[train]\nbatch = 256\nlog_steps = 1\n"
    "checkpoint_steps = 1\n";
constexpr int64_t kStepsOfOne = 4;

int64_t last_step(const std::string& run) {
  const auto files = RunFolder(run).list();
  return files.empty() ? 0 : files.back().step;
}

bool writes_checkpoint(const std::string& run) {
  std::error_code absent;
  for (fs::directory_iterator i(RunFolder(run).checkpoints(), absent), end; !absent && i != end; i.increment(absent))
    if (i->path().filename().string().ends_with(".htfm-tmp")) return true;
  return false;
}

// The line that names a process that was killed: mpirun's.
std::string line_of_rank(const std::string& err, int rank) {
  const size_t at = err.find("process rank " + std::to_string(rank) + " ");
  return at == std::string::npos ? "" : err.substr(at, err.find('\n', at) - at);
}

void expect_same_end(const Workplace& w) {
  w.write("c.toml", kEndless + "epochs = " + std::to_string(last_step(w / "run") / kStepsOfOne + 1) + "\n");
  const Outcome rest = w.run("train c.toml -o run --resume --threads 1", test::mpirun() + " -n 2");
  ASSERT_EQ(rest.code, 0) << rest.err;
  ASSERT_EQ(w.run("train c.toml -o whole").code, 0);
  EXPECT_EQ(slurp(RunFolder(w / "run").newest().path), slurp(RunFolder(w / "whole").newest().path))
      << "the whole file, to the byte";
}

TEST(KilledRankSlow, EndsAllAndLosesNothing) {
  NEED_MPI();
  const bool all = std::getenv("HTFM_KILL_ALL") != nullptr;
  const Workplace w;
  w.write("endless.toml", kEndless + "epochs = 100000000\n");
  const Key key(24);
  const int kills = all ? 60 : 4;
  int while_writing = 0;
  for (int k = 0; k < kills; ++k) {
    const int processes = all ? 3 : 2 + k % 2, rank = all ? k % 3 : k % processes;
    const int64_t before = last_step(w / "run"), steps = 1 + static_cast<int64_t>(4 * key.uniform(2 * k));
    test::MpiJob job(processes, "train '" + (w / "endless.toml") + "' -o '" + (w / "run") + "' --resume", w / "err");
    const std::map<int, pid_t> pids = job.ranks();
    ASSERT_EQ(static_cast<int>(pids.size()), processes) << slurp(w / "err");
    // Every fifth strikes while it starts, the others after some steps; some of them wait for a file half-written.
    const bool early = k % 5 == 4, in_a_file = !early && k % 2 == 0;
    const auto started = std::chrono::steady_clock::now();
    while (!early && job.runs() && last_step(w / "run") < before + steps)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    while (in_a_file && job.runs() && !writes_checkpoint(w / "run")) std::this_thread::yield();
    if (!in_a_file)
      std::this_thread::sleep_for(std::chrono::milliseconds(1 + static_cast<int>(600 * key.uniform(2 * k + 1))));
    while_writing += writes_checkpoint(w / "run") ? 1 : 0;
    ASSERT_TRUE(job.runs()) << "the run ended by itself: " << slurp(w / "err");
    ::kill(pids.at(rank), SIGKILL);
    const auto killed = std::chrono::steady_clock::now();
    const int code = job.wait(std::chrono::seconds(30));
    ASSERT_GT(code, 0) << "rank " << rank << " of " << processes << ": the others go on: " << slurp(w / "err");
    // mpirun does not wait for those that it has killed.
    for (const auto& [r, pid] : pids)
      while (test::MpiJob::alive(pid)) {
        ASSERT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(30)) << "rank " << r << " goes on";
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    const std::string line = line_of_rank(slurp(w / "err"), rank);
    EXPECT_NE(line.find(" on node "), std::string::npos) << slurp(w / "err");
    EXPECT_NE(line.find("exited on signal 9 (Killed)"), std::string::npos) << line;
    for (const CheckpointFile& f : RunFolder(w / "run").list()) ASSERT_NO_THROW(Model::load(f.path)) << f.path;
    EXPECT_GE(last_step(w / "run"), early ? before : before + steps);
    if (all)
      std::printf("kill %d: rank %d after %.1f s at step %d%s: all ended after %.1f s\n", k, rank,
                  std::chrono::duration<double>(killed - started).count(), static_cast<int>(last_step(w / "run")),
                  in_a_file ? ", a checkpoint half-written" : "",
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - killed).count());
  }
  EXPECT_GT(while_writing, 0);
  expect_same_end(w);
}

// SLURM gives notice by a signal to one or all of them.
class StoppedRank : public testing::TestWithParam<int> {};

TEST_P(StoppedRank, WritesACheckpointAndAsksToBeStartedAgain) {
  NEED_MPI();
  const Workplace w;
  w.write("endless.toml", kEndless + "epochs = 100000000\n");
  test::MpiJob job(3,
                   "train '" + (w / "endless.toml") + "' -o '" + (w / "run") + "' --set train.checkpoint_steps=1000000",
                   w / "err");
  const std::map<int, pid_t> pids = job.ranks();
  ASSERT_EQ(pids.size(), 3u) << slurp(w / "err");
  while (job.runs() && slurp(w / "run/log.jsonl").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  ::kill(pids.at(1), GetParam());
  EXPECT_EQ(job.wait(std::chrono::seconds(30)), 75) << slurp(w / "err");
  const std::string err = slurp(w / "err"), said = "htfm: stopped after step ";
  EXPECT_NE(err.find(said), std::string::npos) << err;
  EXPECT_EQ(err.find(said), err.rfind(said)) << "more than one process speaks";
  EXPECT_NE(err.find("htfm train --resume -o"), std::string::npos) << err;
  EXPECT_GT(last_step(w / "run"), 0);
  expect_same_end(w);
}

INSTANTIATE_TEST_SUITE_P(Signals, StoppedRank, testing::Values(SIGTERM, SIGUSR1));

// A notice that comes while the program starts waits until it can be heard.
TEST(StoppedRun, HearsANoticeFromBeforeItsStart) {
  const Workplace w;
  w.write("endless.toml", kEndless + "epochs = 100000000\n");
  const Outcome o = w.run("train endless.toml -o run",
                          "env SLURM_JOB_ID=1 python3 -c 'import os, signal, sys\n"
                          "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
                          "os.kill(os.getpid(), signal.SIGUSR1)\n"
                          "os.execv(sys.argv[1], sys.argv[1:])'");
  EXPECT_EQ(o.code, 75) << o.err;
  EXPECT_NE(o.err.find("htfm: stopped after step "), std::string::npos) << o.err;
  EXPECT_GT(last_step(w / "run"), 0);
}

TEST(KilledRankSlow, OfASamplingLosesNoPart) {
  NEED_MPI();
  const Workplace w;
  w.write("c.toml", kEndless + "epochs = 1\n");
  ASSERT_EQ(w.run("train c.toml -o run").code, 0);
  const std::string arguments = "sample '" + (w / "run") + "' -n 300000 --solver euler --nfe 4 -o '";
  ASSERT_EQ(w.run(arguments + (w / "one.npy") + "'").code, 0);
  {
    test::MpiJob job(2, arguments + (w / "s.npy") + "'", w / "err");
    const std::map<int, pid_t> pids = job.ranks();
    ASSERT_EQ(pids.size(), 2u) << slurp(w / "err");
    while (job.runs() && !fs::exists(w / "s.npy.part")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(pids.at(1), SIGKILL);
    EXPECT_GT(job.wait(std::chrono::seconds(30)), 0) << slurp(w / "err");
  }
  EXPECT_FALSE(fs::exists(w / "s.npy"));
  {
    test::MpiJob job(3, arguments + (w / "s.npy") + "' --resume", w / "err");
    const std::map<int, pid_t> pids = job.ranks();
    ASSERT_EQ(pids.size(), 3u) << slurp(w / "err");
    ::kill(pids.at(2), SIGUSR1);  // before or after it listens: either way all end
    EXPECT_GT(job.wait(std::chrono::seconds(30)), 0) << slurp(w / "err");
  }
  const Outcome rest = w.run(arguments + (w / "s.npy") + "' --resume --threads 1", test::mpirun() + " -n 3");
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_TRUE(slurp(w / "s.npy") == slurp(w / "one.npy"));
}

}  // namespace
}  // namespace htfm
