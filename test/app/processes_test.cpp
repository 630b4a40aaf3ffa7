// The program under mpirun: the same bytes for any number of processes, and an end of all when one fails. Left out
// where MPI is not installed.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "test/app/support.h"

namespace htfm {
namespace {

// The program with several processes; "" where that cannot be.
std::string mpirun() {
  const std::string module = test::built_file("libhtfm_mpi.so");
  if (!std::filesystem::exists(module) || std::system("mpirun --version >/dev/null 2>&1") != 0) return "";
  return "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe";
}

#define NEED_MPI() \
  if (mpirun().empty()) GTEST_SKIP() << "no mpirun, or no libhtfm_mpi.so"

Outcome run(const Workplace& w, int processes, const std::string& arguments) {
  return w.run(arguments + " --threads 1", mpirun() + " -n " + std::to_string(processes));
}

constexpr const char* kSmallRun =
    "[data]\nn = 1200\n[clock]\nfamily = \"stable\"\nalpha = 1.7\n[coupling]\nkind = \"pool\"\npool = 4096\n[train]\n"
    "batch = 600\nepochs = 4\nlog_steps = 1\n[sample]\nsolver = \"ab2\"\n";

TEST(UnderMpirun, TrainsAndSamplesToTheSameBytes) {
  NEED_MPI();
  const Workplace w;
  w.write("c.toml", kSmallRun);
  ASSERT_EQ(w.run("train c.toml -o one").code, 0);
  ASSERT_EQ(w.run("sample one -n 5000 -o one.npy --area one-area.npy").code, 0);
  const Outcome two = run(w, 2, "train c.toml -o two");
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_NE(two.err.find("2 processes wait"), std::string::npos) << two.err;
  EXPECT_NE(two.out.find("weights_hash"), std::string::npos);
  EXPECT_EQ(two.out.find("weights_hash"), two.out.rfind("weights_hash")) << "more than one process speaks";
  ASSERT_EQ(run(w, 3, "train c.toml -o three").code, 0);
  const std::string checkpoint = "/checkpoints/step-00000008.safetensors", expected = slurp(w / ("one" + checkpoint));
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(slurp(w / ("two" + checkpoint)), expected);
  EXPECT_EQ(slurp(w / ("three" + checkpoint)), expected);
  ASSERT_EQ(run(w, 3, "sample two -n 5000 -o three.npy --area three-area.npy").code, 0);
  EXPECT_EQ(slurp(w / "three.npy"), slurp(w / "one.npy"));
  EXPECT_EQ(slurp(w / "three-area.npy"), slurp(w / "one-area.npy"));
}

TEST(UnderMpirun, AFailureIsNamedAndEndsAll) {
  NEED_MPI();
  const Workplace w;
  w.write("c.toml", kSmallRun);
  const auto started = std::chrono::steady_clock::now();
  // A file that one process alone cannot read: the second process starts in another folder.
  std::filesystem::create_directory(w / "other");
  const Outcome o =
      w.run("train c.toml -o run : -n 1 -wdir '" + (w / "other") + "' '" + program() + "' train c.toml -o run",
            mpirun() + " -n 1");
  EXPECT_EQ(o.code, 2) << o.err;
  EXPECT_NE(o.err.find("htfm: rank 1 of 2 on "), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("c.toml"), std::string::npos) << o.err;
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30));
}

TEST(UnderMpirun, OtherCommandsWantOneProcess) {
  const Workplace w;
  const Outcome o = w.run("tails nothing.csv", "OMPI_COMM_WORLD_SIZE=2");
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("[mpirun] expected one process for this command, got 2"), std::string::npos) << o.err;
}

}  // namespace
}  // namespace htfm
