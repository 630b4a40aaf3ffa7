// Promises of the thread pool.
#include "htfm/base/parallel.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "htfm/base/error.h"

namespace htfm {
namespace {

// Runs the body with pools of several sizes, more threads than cores among them.
void for_pools(const std::function<void()>& body) {
  for (const int threads : {1, 2, 3, 8}) {
    SCOPED_TRACE(threads);
    set_thread_count(threads);
    EXPECT_EQ(thread_count(), threads);
    body();
  }
  set_thread_count(0);
  EXPECT_EQ(thread_count(), std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
}

TEST(Parallel, RefusesMoreThreadsThanAMachineHas) {
  set_thread_count(2);
  ASSERT_THROW(set_thread_count(-1), InputError);  // before a million threads are started
  EXPECT_THROW(set_thread_count(1'000'000), InputError);
  EXPECT_EQ(thread_count(), 2);
  set_thread_count(0);
}

TEST(Parallel, LoopsSurviveAChangeOfTheirThreads) {
  set_thread_count(3);
  std::atomic<bool> done{false};
  std::thread changes([&] {
    for (int k = 0; !done.load(); ++k) set_thread_count(2 + k % 3);
  });
  for (int round = 0; round < 300; ++round) {
    std::atomic<int64_t> sum{0};
    parallel_for(200, [&](int64_t task) { sum.fetch_add(task); });
    ASSERT_EQ(sum.load(), 199 * 200 / 2);
  }
  done = true;
  changes.join();
  set_thread_count(0);
}

TEST(Parallel, RunsEveryTaskOnce) {
  for_pools([] {
    for (const int64_t tasks : {0, 1, 2, 7, 1000, 100'000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(tasks));
      parallel_for(tasks, [&](int64_t task) { ++runs[static_cast<size_t>(task)]; });
      EXPECT_TRUE(std::all_of(runs.begin(), runs.end(), [](const auto& r) { return r == 1; })) << tasks;
    }
  });
}

TEST(Parallel, WritesAreSeenAfterTheLoop) {
  for_pools([] {
    std::vector<int64_t> out(64);  // not atomic: the loop's end must order them
    for (int64_t round = 0; round < 2000; ++round) {
      parallel_for(64, [&](int64_t task) { out[static_cast<size_t>(task)] += task + round; });
      ASSERT_EQ(out[63], 63 * (round + 1) + round * (round + 1) / 2);
    }
  });
}

TEST(Parallel, RangesCoverAllItemsInOrder) {
  for_pools([] {
    for (const auto& sizes : {std::pair<int64_t, int64_t>{0, 4}, {1, 4}, {4, 4}, {5, 4}, {1003, 10}, {7, 100}}) {
      const int64_t items = sizes.first, grain = sizes.second;
      std::vector<std::atomic<int>> runs(static_cast<size_t>(items));
      std::atomic<bool> ordered = true;
      parallel_ranges(items, grain, [&](int64_t begin, int64_t end) {
        if (begin >= end || end - begin > grain || begin % grain != 0) ordered = false;
        for (int64_t i = begin; i < end; ++i) ++runs[static_cast<size_t>(i)];
      });
      EXPECT_TRUE(ordered);
      EXPECT_TRUE(std::all_of(runs.begin(), runs.end(), [](const auto& r) { return r == 1; })) << items << ' ' << grain;
    }
  });
}

TEST(Parallel, LoopsInsideALoopRunOnTheCallingThread) {
  for_pools([] {
    std::atomic<int> runs = 0, elsewhere = 0;
    parallel_for(16, [&](int64_t) {
      const auto self = std::this_thread::get_id();
      parallel_for(16, [&](int64_t) {
        ++runs;
        if (std::this_thread::get_id() != self) ++elsewhere;
      });
    });
    EXPECT_EQ(runs, 256);
    EXPECT_EQ(elsewhere, 0);
  });
}

TEST(Parallel, AnExceptionReachesTheCallerAndThePoolLivesOn) {
  for_pools([] {
    for (int round = 0; round < 50; ++round) {
      EXPECT_THROW(parallel_for(100,
                                [&](int64_t task) {
                                  if (task == 3 * round % 100) throw InputError("[test] task {}", task);
                                }),
                   InputError);
      std::atomic<int64_t> sum = 0;
      parallel_for(100, [&](int64_t task) { sum += task; });
      ASSERT_EQ(sum, 4950);
    }
  });
}

TEST(Parallel, AnExceptionInsideANestedLoopReachesTheCaller) {
  for_pools([] {
    EXPECT_THROW(parallel_for(8,
                              [](int64_t) {
                                parallel_for(8, [](int64_t task) {
                                  if (task == 5) throw Error("[test] nested");
                                });
                              }),
                 Error);
  });
}

TEST(Parallel, LoopsFromSeveralThreadsDoNotMix) {
  for_pools([] {
    std::vector<std::thread> callers;
    std::array<std::atomic<int64_t>, 4> sum{};
    for (size_t caller = 0; caller < 4; ++caller)
      callers.emplace_back([&, caller] {
        for (int round = 0; round < 200; ++round) parallel_for(50, [&](int64_t task) { sum[caller] += task; });
      });
    for (auto& caller : callers) caller.join();
    for (const auto& s : sum) EXPECT_EQ(s, 200 * 1225);
  });
}

TEST(Parallel, ThreadCountCannotChangeInsideALoop) {
  set_thread_count(2);
  EXPECT_THROW(parallel_for(4, [](int64_t) { set_thread_count(3); }), Error);
  EXPECT_EQ(thread_count(), 2);
  set_thread_count(0);
}

}  // namespace
}  // namespace htfm
