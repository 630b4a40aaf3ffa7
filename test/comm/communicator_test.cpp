// What processes do together, with threads in their place.
#include "htfm/comm/communicator.h"

#include <gtest/gtest.h>

#include <map>

#include "htfm/base/error.h"
#include "htfm/base/random.h"
#include "htfm/comm/launch_place.h"
#include "htfm/comm/processes.h"
#include "test/thread_communicator.h"

namespace htfm {
namespace {

TEST(Processes, SharesCoverEverythingOnce) {
  for (const int64_t items : {0, 1, 2, 7, 16, 1000})
    for (int size = 1; size <= 9; ++size) {
      int64_t next = 0;
      for (int rank = 0; rank < size; ++rank) {
        const Share s = share_of(items, rank, size);
        EXPECT_EQ(s.begin, next);
        EXPECT_LE(s.count(), items / size + 1);
        next = s.end;
      }
      EXPECT_EQ(next, items);
    }
}

// Values of very different sizes: another order would give other bits.
TEST(Processes, TheSumHasTheBitsOfOneProcess) {
  constexpr int64_t kParts = 16, kCount = 70001;
  std::vector<std::vector<float>> part(kParts, std::vector<float>(kCount));
  for (int64_t p = 0; p < kParts; ++p)
    for (int64_t i = 0; i < kCount; ++i)
      part[p][i] =
          static_cast<float>(std::exp(12 * Key(1).child(static_cast<uint64_t>(p)).uniform(i)) * (i % 2 == 0 ? 1 : -1));
  std::vector<float> expected = part[0], backwards = part[kParts - 1];
  for (int64_t p = 1; p < kParts; ++p)
    for (int64_t i = 0; i < kCount; ++i) expected[i] += part[p][i], backwards[i] += part[kParts - 1 - p][i];
  ASSERT_NE(expected, backwards);
  for (const int size : {1, 2, 3, 4, 5, 16, 19})
    test::run_processes(size, [&](Communicator& c) {
      std::vector<const float*> own;
      const Share s = share_of(kParts, c);
      for (int64_t p = s.begin; p < s.end; ++p) own.push_back(part[p].data());
      std::vector<float> sum(kCount, -1);
      sum_in_order(c, kParts, own, kCount, sum.data());
      if (sum != expected) throw Error("{} processes give another sum on rank {}", size, c.rank());
    });
}

TEST(Processes, RowsAreShared) {
  for (const int64_t rows : {1, 5, 64})
    test::run_processes(3, [&](Communicator& c) {
      std::vector<double> values(static_cast<size_t>(2 * rows), -1);
      const Share own = share_of(rows, c);
      for (int64_t k = 2 * own.begin; k < 2 * own.end; ++k) values[k] = static_cast<double>(k);
      share_rows(c, rows, 2, values.data());
      for (int64_t k = 0; k < 2 * rows; ++k)
        if (values[k] != static_cast<double>(k)) throw Error("rank {} has another row {}", c.rank(), k / 2);
    });
}

TEST(Processes, DifferencesAreNamed) {
  try {
    test::run_processes(3, [](Communicator& c) { check_equal(c, "data", c.rank() == 2 ? "b" : "a"); });
    FAIL();
  } catch (const InputError& e) {
    EXPECT_STREQ(e.what(),
                 "[--comm] expected the same data in every process, got a on rank 0 (here) and b on rank 2 (here)");
  }
}

TEST(Processes, AFailureOfTheFirstIsEverybodys) {
  std::atomic<int> failed = 0;
  test::run_processes(3, [&](Communicator& c) {
    try {
      on_first(&c, [] { throw InputError("no such folder"); });
    } catch (const InputError& e) {
      failed += std::string(e.what()) == "no such folder" ? 1 : 0;
    }
  });
  EXPECT_EQ(failed, 3);
}

TEST(Processes, TheLauncherIsFound) {
  const auto set = [](const char* name, const char* value) { value ? ::setenv(name, value, 1) : ::unsetenv(name); };
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE", "RANK", "MASTER_ADDR",
                           "TORCHELASTIC_RUN_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"})
    set(name, nullptr);
  EXPECT_EQ(find_launch().launcher, "");
  EXPECT_EQ(start_communicator("auto").communicator, nullptr);
  set("SLURM_NTASKS", "8"), set("SLURM_PROCID", "0");  // a batch script, not srun
  EXPECT_EQ(find_launch().size, 1);
  set("SLURM_STEP_NUM_TASKS", "8");
  EXPECT_EQ(find_launch().launcher, "srun");
  EXPECT_EQ(find_launch().size, 8);
  set("WORLD_SIZE", "2"), set("RANK", "1"), set("MASTER_ADDR", "localhost");
  EXPECT_EQ(find_launch().launcher, "torchrun");
  set("OMPI_COMM_WORLD_SIZE", "4");
  EXPECT_EQ(find_launch().launcher, "mpirun");
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "WORLD_SIZE", "RANK", "MASTER_ADDR", "SLURM_STEP_NUM_TASKS",
                           "SLURM_PROCID", "SLURM_NTASKS"})
    set(name, nullptr);
  EXPECT_THROW(start_communicator("gloo"), InputError);
}

TEST(Processes, SrunsVariablesSayWhoTheyAre) {
  const std::map<const char*, const char*> variables{{"SLURM_PROCID", "9"},
                                                     {"SLURM_LOCALID", "1"},
                                                     {"SLURM_NODEID", "2"},
                                                     {"SLURM_STEP_NUM_TASKS", "11"},
                                                     {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"},
                                                     {"SLURM_STEP_NODELIST", "gpu[07-08,12],login"},
                                                     {"SLURM_JOB_ID", "100"},
                                                     {"SLURM_STEP_ID", "2"}};
  for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  LaunchPlace place = find_place();
  EXPECT_EQ(place.rank, 9);
  EXPECT_EQ(place.size, 11);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 3);
  EXPECT_FALSE(place.one_machine);
  EXPECT_EQ(place.address, "gpu07");
  EXPECT_EQ(place.port, 10702);
  ::setenv("SLURM_NODEID", "1", 1), ::setenv("MASTER_PORT", "1234", 1);
  EXPECT_EQ(find_place().local_size, 4);
  EXPECT_EQ(find_place().port, 1234);
  ::setenv("SLURM_STEP_NUM_TASKS", "2", 1), ::setenv("SLURM_STEP_TASKS_PER_NODE", "2", 1);
  ::setenv("SLURM_NODEID", "0", 1), ::setenv("SLURM_STEP_NODELIST", "alone", 1);
  place = find_place();
  EXPECT_TRUE(place.one_machine);
  EXPECT_EQ(place.address, "alone");
  for (const auto& [name, value] : variables) ::unsetenv(name);
  ::unsetenv("MASTER_PORT");
  EXPECT_EQ(find_place().size, 1);
}

}  // namespace
}  // namespace htfm
