// Wrong input, full disks, signals: one line, the right exit code, nothing lost, and the same bits after all. Calls of
// the system that fail are in inject_test.cpp.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "htfm/io/npy.h"
#include "htfm/model/run_folder.h"
#include "test/app/support.h"

namespace fs = std::filesystem;

namespace htfm {
namespace {

const char* const kConfig =
    "[data]\nn = 300\n[clock]\nfamily = \"stable\"\nalpha = 1.7\ngrid = 10\n[train]\nbatch = 128\nepochs = 2\n"
    "checkpoint_steps = 3\nlog_steps = 1\n[sample]\nsolver = \"ab2\"\nnfe = 4\n";

// Without what a sanitizer says of an allocation that it lets fail.
int64_t lines(const std::string& text) {
  const bool told = text.find("Sanitizer failed to allocate") != std::string::npos;
  return std::count(text.begin(), text.end(), '\n') - (told ? 1 : 0);
}

std::string last_line(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  return text.substr(text.rfind('\n') + 1);
}

void expect_line(const Outcome& o, int code, const std::string& part) {
  EXPECT_EQ(o.code, code) << o.err;
  EXPECT_EQ(lines(o.err), 1) << o.err;
  EXPECT_NE(o.err.find(part), std::string::npos) << "expected '" << part << "' in: " << o.err;
}

// A command as a shell runs it, with redirections of its own.
Outcome shell(const Workplace& w, const std::string& before, const std::string& arguments) {
  const std::string command = "cd '" + (w / "") + "' && " + before + " '" + program() + "' " + arguments;
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), "", without_signs(slurp(w / "err"))};
}

std::string table_with(const std::string& value, int rows = 120) {
  std::string text = "x,y\n";
  for (int i = 0; i < rows; ++i)
    text += std::to_string(std::sin(i * i)) + "," + (i == 7 ? value : std::to_string(std::cos(i * i))) + "\n";
  return text;
}

TEST(Faults, ValuesBeyondFloat32AreRefused) {
  const Workplace w;
  w.write("huge.csv", table_with("1e300"));
  w.write("large.csv", table_with("1e40"));
  const std::string train = "train --set train.epochs=1 --set data.path=";
  expect_line(w.run(train + "huge.csv -o run"), 2, "got 1e+300");
  expect_line(w.run(train + "large.csv -o run"), 2, "got 1e+40");
  expect_line(w.run(train + "huge.csv --set data.normalise=zscore -o run"), 2, "got values up to 1e+300");
  const Outcome fit = w.run("fit huge.csv --minutes 0.01 -o run");
  EXPECT_EQ(fit.code, 2) << fit.err;
  EXPECT_NE(last_line(fit.err).find("got 1e+300"), std::string::npos) << fit.err;
  EXPECT_FALSE(fs::exists(w / "run"));
}

// Every batch holds the one row whose square float32 does not hold.
TEST(Faults, ATrainingOfSkippedStepsFails) {
  const Workplace w;
  w.write("t.csv", table_with("1e30"));
  const Outcome o = w.run("train --set data.path=t.csv --set train.epochs=3 --set train.batch=120 -o run");
  EXPECT_EQ(o.code, 2) << o.err;
  EXPECT_NE(last_line(o.err).find("got none in 3"), std::string::npos) << o.err;
  EXPECT_FALSE(fs::exists(w / "run"));
}

TEST(Faults, KeysOfManyPartsEndInOneLine) {
  const Workplace w;
  std::string key = "a";
  for (int i = 0; i < 50000; ++i) key += ".a";
  w.write("header.toml", "[" + key + "]\nb = 1\n");
  w.write("key.toml", key + " = 1\n");
  w.write("array.toml", "x = " + std::string(50000, '[') + "\n");
  for (const char* name : {"header.toml", "key.toml", "array.toml"})
    expect_line(w.run(std::string("train ") + name + " -o run"), 2, std::string(name) + ":1:");
  w.write("good.toml", "# a.b.c\n[data]\npath = \"" + key + "\"\n");
  EXPECT_EQ(w.run("train good.toml --dry-run").code, 0) << "dots in text and remarks are none of a key";
}

TEST(Faults, MemoryThatIsNotThereEndsInOneLine) {
  const Workplace w;
  expect_line(w.run("data rings -n 1e14 -o x.npy"), 1, "out of memory");
  EXPECT_FALSE(fs::exists(w / "x.npy"));
}

TEST(Faults, OutputThatDoesNotArriveIsAFailure) {
  const Workplace w;
  for (const char* arguments : {"data rings -n 10 -o x.npy", "train --keys", "--version", "--help", "tails --help"})
    EXPECT_EQ(shell(w, "", std::string(arguments) + " >/dev/full 2>err").code, 1) << arguments;
  EXPECT_EQ(shell(w, "", "data rings -n 10 -o x.npy 2>/dev/full").code, 0) << "what is only told";
}

TEST(Faults, OutputIsLookedAtBeforeTheWork) {
  const Workplace w;
  fs::create_directories(w / "folder");
  fs::create_directories(w / "a.html");
  // All commands check by the same function: each is asked once, and one everything.
  const std::string absent = "the folder nowhere/ does not exist";
  for (const char* command :
       {"sample norun -n 10 -o nowhere/x.npy", "data rings -n 1e14 -o nowhere/x.npy", "report norun -o nowhere/x.html",
        "tails nofile.csv -o nowhere/x.html", "compare norun -o nowhere/x.html", "grid nofile.npy -o nowhere/x.png"})
    expect_line(w.run(command), 2, absent);
  expect_line(w.run("report norun -o a.html"), 2, "got a folder");
  expect_line(w.run("report norun -o x.pdf"), 2, "expected a file that ends in");
  // A folder that takes no files, whoever asks: what will be written is tried.
  const std::string refused = "nothing can be made in /proc";
  for (const char* command :
       {"fit nofile.csv -o /proc/x", "train --set data.path=nofile.csv -o /proc/x", "demo -o /proc/x/y",
        "sweep nofile.toml --set seed=1,2 -o /proc/x", "risk norun -o /proc/x", "sample norun -n 10 -o /proc/x.npy",
        "tails nofile.csv -o /proc/x.html", "prepare nofile.nc -o /proc/x.fields",
        "coarsen nofile.fields --grid 2,2 -o /proc/x.fields", "export nofile.fields -o /proc/x.nc",
        "eval --real no.npy --fake no.npy --maps /proc/x.png"})
    expect_line(w.run(command), 2, refused);
  w.write("file", "");
  expect_line(w.run("train --set data.path=nofile.csv -o file/run"), 2, "file");
  expect_line(w.run("fit nofile.csv -o file"), 2, "expected a folder, got a file");
}

TEST(Faults, ClosedStreamsTakeNothing) {
  const Workplace w;
  w.write("c.toml", kConfig);
  EXPECT_EQ(shell(w, "", "train c.toml -o run <&- >&- 2>&-").code, 0);
  std::ifstream log(w / "run/log.jsonl");
  int64_t count = 0;
  for (std::string line; std::getline(log, line); ++count)
    EXPECT_FALSE(nlohmann::json::parse(line, nullptr, false).is_discarded()) << line;
  EXPECT_GE(count, 6);
}

TEST(Faults, ADamagedLogIsNamed) {
  const Workplace w;
  w.write("c.toml", kConfig);
  ASSERT_EQ(w.run("train c.toml -o run").code, 0);
  const std::string log = slurp(w / "run/log.jsonl");
  for (const char* line : {"5\n", "{\"step\": \"x\"}\n", "{]\n"}) {
    w.write("run/log.jsonl", log + line + "{\"step\": 7}\n");
    expect_line(w.run("train --resume -o run"), 2, "log.jsonl");
  }
}

TEST(Faults, AFileThatMayNotGrowIsAnError) {
  const Workplace w;
  const Outcome o = shell(w, "ulimit -f 8;", "data rings -n 100000 -o x.npy >out 2>err");
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_NE(o.err.find("File too large"), std::string::npos) << o.err;
  EXPECT_FALSE(fs::exists(w / "x.npy"));
}

TEST(Faults, WishesThatCannotBeGranted) {
  const Workplace w;
  expect_line(w.run("data rings -n 10 --threads 100000 -o x.npy"), 2, "--threads");
  expect_line(w.run("data rings -n 10 -o x.npy", "HTFM_ISA=v9"), 2, "expected base, v3 or v4, got 'v9'");
  expect_line(w.run("sampel run"), 2, "did you mean sample?");
  expect_line(w.run("zzz"), 2, "expected a command, got 'zzz' (");
}

// Ctrl-C and SIGTERM: a checkpoint at the end of the step, and the run that goes on ends with the same bits.
class Stopped : public testing::TestWithParam<int> {};

TEST_P(Stopped, ATrainingGoesOnWithTheSameBits) {
  const Workplace w;
  w.write("c.toml", kConfig);
  const std::string long_one = "train c.toml --set train.checkpoint_steps=1000000 --set train.epochs=";
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(GetParam(), SIG_DFL);  // a shell that starts jobs in the background has them ignore Ctrl-C
    const int null = ::open("/dev/null", O_WRONLY), err = ::open((w / "err").c_str(), O_WRONLY | O_CREAT, 0644);
    ::dup2(null, 1), ::dup2(err, 2);
    ::execl(program().c_str(), "htfm", "train", (w / "c.toml").c_str(), "--set", "train.checkpoint_steps=1000000",
            "--set", "train.epochs=1000000", "-o", (w / "run").c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  while (!fs::exists(w / "run/log.jsonl") || lines(slurp(w / "run/log.jsonl")) < 5)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  ::kill(child, GetParam());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + GetParam());
  const CheckpointFile left = RunFolder(w / "run").newest();
  const std::string said = last_line(slurp(w / "err"));
  EXPECT_NE(said.find("stopped after step " + std::to_string(left.step)), std::string::npos) << said;
  EXPECT_NE(said.find("htfm train --resume -o"), std::string::npos) << said;

  const std::string epochs = std::to_string(left.step / 3 + 2);
  ASSERT_EQ(w.run("train --resume -o run --set train.epochs=" + epochs).code, 0);
  ASSERT_EQ(w.run(long_one + epochs + " -o whole").code, 0);
  EXPECT_EQ(slurp(RunFolder(w / "run").newest().path), slurp(RunFolder(w / "whole").newest().path));
  EXPECT_EQ(w.run("train --resume -o run").code, 0) << "nothing is left to do";
  expect_line(w.run("train --resume -o run --set clock.alpha=1.5"), 2, "[clock.alpha] expected 1.7 on --resume");
}

INSTANTIATE_TEST_SUITE_P(Faults, Stopped, testing::Values(SIGINT, SIGTERM));

// A run folder of somebody else whose parts are links would have files elsewhere replaced.
TEST(Faults, ARunOfLinksIsNotWrittenThrough) {
  const Workplace w;
  w.write("c.toml", kConfig);
  ASSERT_EQ(w.run("train c.toml -o run").code, 0);
  w.write("precious", "kept\n");
  fs::create_directories(w / "elsewhere");
  for (const char* part : {"config.toml", "log.jsonl", "lock", "checkpoints/step-00000006.safetensors"}) {
    fs::copy(w / "run", w / "theirs", fs::copy_options::recursive);
    fs::remove(w / (std::string("theirs/") + part));
    fs::create_symlink(w / "precious", w / (std::string("theirs/") + part));
    const Outcome o = w.run("train --resume -o theirs --set train.epochs=4");
    EXPECT_EQ(o.code, 2) << part << o.err;
    EXPECT_EQ(slurp(w / "precious"), "kept\n") << part;
    fs::remove_all(w / "theirs");
  }
  w.write("t.csv", table_with("1"));
  fs::create_directories(w / "theirs");
  fs::create_symlink(w / "precious", w / "theirs/samples.csv");
  expect_line(w.run("fit t.csv --minutes 0.01 -o theirs"), 2, "got a link to");
  EXPECT_EQ(slurp(w / "precious"), "kept\n");
}

TEST(Newcomer, SettingsNeedNoFile) {
  const Workplace w;
  ASSERT_EQ(w.run("data rings -n 300 -o x.npy").code, 0);
  ASSERT_EQ(w.run("train --set data.path=x.npy --set train.epochs=1 -o run").code, 0);
  expect_line(w.run("train -o other"), 2, "htfm train --set data.path=x.npy -o run");
  expect_line(w.run("train --resume -o other"), 2, "[--resume] other: expected a run to continue");
  expect_line(w.run("sample run -n 10 --scale 2 -o s.npy"), 2, "scale 2");
  expect_line(w.run("sample run -n 10 --grid 7 -o s.npy"), 2, "--grid");
  const std::string help = w.run("sample --help").out;
  for (const char* option : {"--scale", "--alpha", "--family", "--grid"})
    EXPECT_EQ(help.find(option), std::string::npos) << option << " only checks the run's own";
}

// Both are made of the commands themselves.
TEST(Newcomer, CompletionAndManualKnowEveryCommand) {
  const Workplace w;
  w.write("ask.sh",
          "source ./bash\nCOMP_WORDS=(htfm sam)\nCOMP_CWORD=1\n_htfm\necho \"${COMPREPLY[*]}\"\n"
          "COMP_WORDS=(htfm train --res)\nCOMP_CWORD=2\n_htfm\necho \"${COMPREPLY[*]}\"\n");
  const Outcome bash = w.run("completion bash"), manual = w.run("completion man"), fish = w.run("completion fish");
  w.write("bash", bash.out);
  ASSERT_EQ(std::system(("cd '" + (w / "") + "' && bash ask.sh > answer").c_str()), 0);
  EXPECT_EQ(slurp(w / "answer"), "sample\n--resume\n");
  for (const char* part : {".SS htfm sweep", "\\-\\-nfe", "EXIT STATUS"})
    EXPECT_NE(manual.out.find(part), std::string::npos) << part;
  EXPECT_NE(fish.out.find("-a compare"), std::string::npos);
}

TEST(Newcomer, SweepAndCompareReplaceLoops) {
  const Workplace w;
  w.write("c.toml", kConfig);
  const Outcome sweep =
      w.run("sweep c.toml --set clock.alpha=1.5,1.7 --set seed=3 --jobs 2 --threads 1 -o sweep --json");
  ASSERT_EQ(sweep.code, 0) << sweep.err;
  const auto figures = nlohmann::json::parse(sweep.out);
  EXPECT_EQ(figures["clock.alpha=1.5"]["steps"], 6);
  EXPECT_TRUE(figures["clock.alpha=1.7"]["loss"].is_number());
  EXPECT_EQ(w.run("sweep c.toml --set clock.alpha=1.5,1.7 --set seed=3 -o sweep --resume").code, 0);
  expect_line(w.run("sweep c.toml --set clock.alpha=1.5,1.7 -o sweep"), 2, "--resume");
  expect_line(w.run("sweep c.toml --set clock.alpha=1.5,9 -o other"), 2, "alpha");
  EXPECT_FALSE(fs::exists(w / "other"));

  const std::string runs = "compare sweep/clock.alpha=1.5 sweep/clock.alpha=1.7 -n 200";
  const Outcome compare = w.run(runs + " -o page.html --json");
  ASSERT_EQ(compare.code, 0) << compare.err;
  const auto scores = nlohmann::json::parse(compare.out);
  EXPECT_EQ(scores["runs"].size(), 2u);
  EXPECT_TRUE(scores["runs"]["sweep/clock.alpha=1.5"].contains("f1_prd"));
  EXPECT_NE(slurp(w / "page.html").find("sweep/clock.alpha=1.7"), std::string::npos);
  ASSERT_EQ(w.run("train c.toml --set data.n=400 -o other").code, 0);
  expect_line(w.run("compare sweep/clock.alpha=1.5 other -n 200"), 2, "differ in data.n");
}

}  // namespace
}  // namespace htfm
