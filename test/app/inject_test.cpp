// Calls of the system that fail, one by one, in every command that writes: one line, the right exit code, nothing half
// written, and the same bits when the command is given again. HTFM_INJECT_ALL=1 makes every call fail once (of
// allocations a hundred), and kills the process at every write; HTFM_INJECT_ALL="open write" does so with these kinds
// of calls alone. The ordinary suite takes some of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "test/app/support.h"

namespace fs = std::filesystem;

namespace htfm {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

std::string inject(const Workplace& w, const std::string& what) {
  return "LD_PRELOAD='" + test::built_file("libhtfm_inject.so") + "' HTFM_INJECT_UNDER='" + (w / "") +
         "' HTFM_INJECT_COUNT='" + (w / "counts") + "' HTFM_INJECT=" + what;
}

const char* const kSmallRun =
    "[data]\nn = 300\n[clock]\nfamily = \"stable\"\nalpha = 1.7\ngrid = 10\n[train]\nbatch = 128\nepochs = 2\n"
    "checkpoint_steps = 3\nlog_steps = 1\n[sample]\nsolver = \"ab2\"\nnfe = 4\n";

// Network disks without locks.
TEST(Faults, AFolderThatCannotBeLockedIsTrainedInWithAWarning) {
  const Workplace w;
  w.write("c.toml", kSmallRun);
  const Outcome o = w.run("train c.toml -o run", inject(w, "lock:-1:" + std::to_string(ENOLCK)));
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.err.find("cannot lock files"), std::string::npos) << o.err;
}

struct Command {
  const char* name;
  std::string arguments;
  std::vector<std::string> same;   // files whose bits are a function of the command
  std::vector<std::string> whole;  // files that are whole or absent: they hold times too
  const char* calls;               // which fail in the ordinary suite
};

void PrintTo(const Command& command, std::ostream* out) { *out << command.name; }

class Injected : public testing::TestWithParam<Command> {
 protected:
  void SetUp() override {
    w_.write("c.toml", kSmallRun);
    std::string table = "x,y\n";
    for (int i = 0; i < 400; ++i)
      table += std::to_string(std::tan(i * 0.77)) + "," + std::to_string(std::sin(i * i)) + "\n";
    w_.write("t.csv", table);
    w_.write("rain.nc", slurp(test::source_file("fuzz/corpus/netcdf/classic.nc")));
    ASSERT_EQ(w_.run("train c.toml -o base").code, 0);
    const Outcome first = w_.run(command().arguments, inject(w_, "none:0:0"));
    if (first.err.find("left out of this build") != std::string::npos) GTEST_SKIP() << first.err;
    ASSERT_EQ(first.code, 0) << first.err;
    for (const std::string& name : command().same) expected_[name] = slurp(w_ / name);
    for (const std::string& name : command().whole) ASSERT_TRUE(is_whole(name)) << name;
    std::istringstream text(slurp(w_ / "counts"));
    for (std::string call; text >> call;) text >> counts_[call];
  }

  const Command& command() const { return GetParam(); }
  bool is_whole(const std::string& name) const {
    const std::string bytes = slurp(w_ / name);
    return name.ends_with(".html") ? bytes.find("</html>") != std::string::npos : bytes.ends_with("}\n");
  }

  void clear() {
    fs::remove_all(w_ / "run");
    for (const auto& [name, bytes] : expected_) fs::remove(w_ / name);
    for (const std::string& name : command().whole) fs::remove(w_ / name);
  }

  void expect_nothing_half_written(const std::string& fault) {
    for (const auto& [name, bytes] : expected_)
      EXPECT_TRUE(!fs::exists(w_ / name) || slurp(w_ / name) == bytes) << fault << ": half of " << name;
    for (const std::string& name : command().whole)
      EXPECT_TRUE(!fs::exists(w_ / name) || is_whole(name)) << fault << ": half of " << name;
  }

  void expect_the_same_again(const std::string& fault) {
    const Outcome again = w_.run(command().arguments);
    ASSERT_EQ(again.code, 0) << fault << "\n" << again.err;
    for (const auto& [name, bytes] : expected_) EXPECT_EQ(slurp(w_ / name), bytes) << fault << ": " << name;
    for (const std::string& name : command().whole) EXPECT_TRUE(is_whole(name)) << fault << ": " << name;
  }

  void fail(const std::string& call, long k, int error) {
    clear();
    const std::string fault = call + ":" + std::to_string(k) + ":" + std::to_string(error);
    const Outcome o = w_.run(command().arguments, inject(w_, fault));
    if (error < 0) {
      EXPECT_TRUE(o.code == 0 || o.code == 128 - error) << fault << " " << o.code << o.err;
    } else {
      EXPECT_TRUE(o.code == 0 || o.code == 1 || (call == "open" && o.code == 2)) << fault << " " << o.code << o.err;
      std::string last = o.err.substr(0, o.err.find_last_not_of('\n') + 1);
      last = last.substr(last.rfind('\n') + 1);
      if (o.code != 0) {
        EXPECT_EQ(last.find("htfm: "), 0u) << fault << "\n" << o.err;
      }
    }
    expect_nothing_half_written(fault);
    if (o.code != 0) expect_the_same_again(fault);
  }

  Workplace w_;
  std::map<std::string, std::string> expected_;
  std::map<std::string, long> counts_;
};

TEST_P(Injected, CallsThatFailLoseNothing) {
  constexpr long kAllocations = 100;
  const char* wish = std::getenv("HTFM_INJECT_ALL");
  const bool all = wish != nullptr, every = all && std::string(wish) == "1";
  const std::string some = std::string(" ") + (all ? wish : command().calls) + " ";
  for (const auto& [call, count] : counts_) {
    if (count == 0 || call == "lock" || (!every && some.find(" " + call + " ") == std::string::npos)) continue;
    const bool allocation = call == "new" || call == "memory";
    const long step = !all ? count : allocation ? (count + kAllocations - 1) / kAllocations : 1;
    for (long k = step; k <= count; k += step) fail(call, k, call == "read" ? EIO : ENOSPC);
    if (!all || (call != "write" && call != "rename" && call != "fsync" && call != "truncate")) continue;
    for (long k = 1; k <= count; ++k) fail(call, k, -SIGKILL);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Faults, Injected,
    testing::Values(
        Command{"train",
                "train c.toml --resume -o run",
                {"run/checkpoints/step-00000006.safetensors"},
                {},
                "open read write fsync rename truncate new memory"},
        Command{"sample", "sample base -n 200 -o s.csv", {"s.csv"}, {}, "write rename memory"},
        Command{"fit",
                "fit t.csv --samples 200 --no-compare --set train.epochs=2 --set net.width=16 --set net.blocks=1 --set "
                "sample.solver=euler "
                "--set sample.nfe=2 --set data.normalise=table --resume -o run",
                {"run/samples.csv"},
                {"run/report.html", "run/fit.json"},
                "write memory"},
        Command{"report", "report base -n 200 -o r.html", {}, {"r.html"}, "write rename memory"},
        Command{"prepare",
                "prepare rain.nc --variable rain --offset 0,0 --size 2,2 --test 0.5 -o rain.fields",
                {"rain.fields"},
                {},
                "write rename read memory"}),
    [](const auto& one) { return one.param.name; });

#endif

}  // namespace
}  // namespace htfm
