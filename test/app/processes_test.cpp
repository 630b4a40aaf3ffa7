// The program under mpirun, and as torchrun starts it: the same bytes for any number of processes, and an end of all
// when one fails. What needs MPI is left out where it is not installed.
#include <gtest/gtest.h>

#include "htfm/model/run_folder.h"
#include "test/app/several.h"

namespace htfm {
namespace {

Outcome run(const Workplace& w, int processes, const std::string& arguments) {
  return w.run(arguments + " --threads 1", test::mpirun() + " -n " + std::to_string(processes));
}

constexpr const char* kSharedRun =
    "[data]\nn = 1200\n[clock]\nfamily = \"stable\"\nalpha = 1.7\ngrid = 20\n[coupling]\nkind = \"pool\"\npool = "
    "4096\n[train]\n"
    "batch = 600\nepochs = 4\nlog_steps = 1\n[sample]\nsolver = \"ab2\"\n";

TEST(UnderMpirun, TrainsAndSamplesToTheSameBytes) {
  NEED_MPI();
  const Workplace w;
  w.write("c.toml", kSharedRun);
  ASSERT_EQ(w.run("train c.toml -o one").code, 0);
  ASSERT_EQ(w.run("sample one -n 2000 -o one.npy --area one-area.npy").code, 0);
  const Outcome two = run(w, 2, "train c.toml -o two");
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_NE(two.err.find("2 processes wait"), std::string::npos) << two.err;
  EXPECT_NE(two.out.find("weights_hash"), std::string::npos);
  EXPECT_EQ(two.out.find("weights_hash"), two.out.rfind("weights_hash")) << "more than one process speaks";
  const std::string checkpoint = "/checkpoints/step-00000008.safetensors", expected = slurp(w / ("one" + checkpoint));
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(slurp(w / ("two" + checkpoint)), expected);
  ASSERT_EQ(run(w, 3, "sample two -n 2000 -o three.npy --area three-area.npy").code, 0);
  EXPECT_EQ(slurp(w / "three.npy"), slurp(w / "one.npy"));
  EXPECT_EQ(slurp(w / "three-area.npy"), slurp(w / "one-area.npy"));
}

TEST(UnderMpirun, AFailureIsNamedAndEndsAll) {
  NEED_MPI();
  const Workplace w;
  w.write("c.toml", kSharedRun);
  const auto started = std::chrono::steady_clock::now();
  // A file that one process alone cannot read: the second process starts in another folder.
  std::filesystem::create_directory(w / "other");
  const Outcome o =
      w.run("train c.toml -o run : -n 1 -wdir '" + (w / "other") + "' '" + program() + "' train c.toml -o run",
            test::mpirun() + " -n 1");
  EXPECT_EQ(o.code, 2) << o.err;
  EXPECT_NE(o.err.find("htfm: rank 1 of 2 on "), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("c.toml"), std::string::npos) << o.err;
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30));
}

TEST(UnderMpirun, DifferencesAreNamed) {
  NEED_MPI();
  const Workplace w;
  w.write("c.toml", kSharedRun);
  const auto refusal = [&](const std::string& set) {
    const Outcome o = w.run("train c.toml -o run : -n 1 '" + program() + "' train c.toml -o run --set " + set,
                            test::mpirun() + " -n 1");
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_FALSE(std::filesystem::exists(w / "run")) << "nothing is left";
    return o.err;
  };
  const std::string batch = refusal("train.batch=300");
  EXPECT_NE(batch.find(": [train.batch] expected the same in every process, got another on rank 1 ("),
            std::string::npos)
      << batch;
  const std::string seed = refusal("seed=5");  // other data, too
  EXPECT_NE(seed.find(": [seed] expected the same in every process"), std::string::npos) << seed;
}

TEST(UnderMpirunSlow, FitEvalAndReproduceGiveTheSame) {
  NEED_MPI();
  const Workplace w;
  ASSERT_EQ(w.run("data student -n 300 -o x.csv").code, 0);
  const std::string fit =
      "fit x.csv --set train.epochs=2 --set sample.solver=euler --set sample.nfe=4 --samples 300 --no-compare "
      "--no-refit -o ";
  Outcome one = w.run(fit + "one"), two = run(w, 2, fit + "two");
  ASSERT_EQ(one.code, 0) << one.err;
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(slurp(w / "two/samples.csv"), slurp(w / "one/samples.csv"));
  const auto checkpoint = [&](const std::string& folder) { return slurp(RunFolder(w / folder).newest().path); };
  EXPECT_EQ(checkpoint("two"), checkpoint("one"));

  ASSERT_EQ(w.run("data student -n 300 --seed 1 -o y.csv").code, 0);
  one = w.run("eval --real x.csv --fake y.csv --json"), two = run(w, 3, "eval --real x.csv --fake y.csv --json");
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(two.out, one.out);

  const std::string toys =
      "reproduce toys --only alpha1.5 --seeds 2 --set train.epochs=1 --set data.n=600 --set sample.n=500 --set "
      "sample.nfe=4 --set sample.solver=euler -o ";
  one = w.run(toys + "toys1"), two = run(w, 2, toys + "toys2");
  ASSERT_EQ(one.code, 0) << one.err;
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(slurp(w / "toys2/toys.json"), slurp(w / "toys1/toys.json"));
}

TEST(UnderMpirun, OtherCommandsWantOneProcess) {
  const Workplace w;
  const Outcome o = w.run("tails nothing.csv", "OMPI_COMM_WORLD_SIZE=2");
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("[mpirun] expected one process for this command, got 2"), std::string::npos) << o.err;
}

// Processes with the variables that torchrun sets; `local`: how many of them are on a machine.
Outcome run_as_torchrun(const Workplace& w, int processes, int local, const std::string& arguments) {
  const std::string common = "MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(test::free_port()) +
                             " WORLD_SIZE=" + std::to_string(processes) + " LOCAL_WORLD_SIZE=" + std::to_string(local);
  const auto of_rank = [&](int r) {
    return common + " RANK=" + std::to_string(r) + " LOCAL_RANK=" + std::to_string(r % local);
  };
  std::string others;
  for (int r = 1; r < processes; ++r)
    others += of_rank(r) + " '" + program() + "' " + arguments + " --threads 1 >out" + std::to_string(r) + " 2>err" +
              std::to_string(r) + " & ";
  const Outcome o = w.run(arguments + " --threads 1", "{ " + others + "} && " + of_rank(0));
  for (int r = 1; r < processes; ++r)
    EXPECT_EQ(slurp(w / ("err" + std::to_string(r))), "") << "rank " << r << " speaks";
  return o;
}

TEST(AsTorchrun, TrainsAndSamplesToTheSameBytes) {
  if (!std::filesystem::exists(test::built_file("libhtfm_store.so"))) GTEST_SKIP() << "no libhtfm_store.so";
  const Workplace w;
  w.write("c.toml", kSharedRun);
  ASSERT_EQ(w.run("train c.toml -o one").code, 0);
  ASSERT_EQ(w.run("sample one -n 2000 -o one.npy").code, 0);
  const std::string checkpoint = "/checkpoints/step-00000008.safetensors", expected = slurp(w / ("one" + checkpoint));
  ASSERT_FALSE(expected.empty());
  Outcome o = run_as_torchrun(w, 3, 3, "train c.toml -o machine");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.err.find("3 processes wait"), std::string::npos) << o.err;
  EXPECT_EQ(slurp(w / ("machine" + checkpoint)), expected);
  o = run_as_torchrun(w, 2, 1, "train c.toml -o machines --comm store");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(slurp(w / ("machines" + checkpoint)), expected);
  o = run_as_torchrun(w, 2, 2, "sample one -n 2000 -o two.npy");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(slurp(w / "two.npy"), slurp(w / "one.npy"));
}

}  // namespace
}  // namespace htfm
