#include "htfm/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "htfm/base/error.h"

namespace htfm {

namespace {

thread_local bool inside_loop = false;

// How often a thread looks for news before it sleeps: some tens of microseconds, the gap between the loops of one step.
constexpr int kLooks = 2000;

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// One loop at a time. A loop ends when its tasks are done; a worker that wakes too late finds it closed and sleeps on.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      generation_.fetch_add(1);
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }
  int size() const { return static_cast<int>(workers_.size()) + 1; }

  void run(int64_t tasks, const std::function<void(int64_t)>& body) {
    std::lock_guard one_loop(loop_mutex_);
    bool asleep;
    {
      std::lock_guard lock(mutex_);
      body_ = &body;
      tasks_ = tasks;
      next_.store(0, std::memory_order_relaxed);
      failed_.store(false, std::memory_order_relaxed);
      error_ = nullptr;
      generation_.fetch_add(1, std::memory_order_release);
      asleep = asleep_ > 0;
    }
    if (asleep) wake_.notify_all();
    take_tasks(body, tasks);
    std::unique_lock lock(mutex_);
    body_ = nullptr;
    if (active_.load(std::memory_order_relaxed) > 0) {
      lock.unlock();
      for (int look = 0; look < kLooks && active_.load(std::memory_order_acquire) > 0; ++look) pause_briefly();
      lock.lock();
      done_.wait(lock, [this] { return active_.load(std::memory_order_relaxed) == 0; });
    }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void take_tasks(const std::function<void(int64_t)>& body, int64_t tasks) {
    inside_loop = true;
    for (int64_t task;
         !failed_.load(std::memory_order_relaxed) && (task = next_.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
      try {
        body(task);
      } catch (...) {
        std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
        failed_.store(true, std::memory_order_relaxed);
      }
    }
    inside_loop = false;
  }

  void work() {
    uint64_t seen = 0;
    for (;;) {
      for (int look = 0; look < kLooks && generation_.load(std::memory_order_relaxed) == seen; ++look) pause_briefly();
      std::unique_lock lock(mutex_);
      ++asleep_;
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
      --asleep_;
      if (stop_) return;
      seen = generation_.load(std::memory_order_relaxed);
      if (!body_) continue;
      const auto& body = *body_;
      const int64_t tasks = tasks_;
      active_.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      take_tasks(body, tasks);
      lock.lock();
      if (active_.fetch_sub(1, std::memory_order_release) == 1) done_.notify_one();
    }
  }

  std::vector<std::thread> workers_;
  std::mutex loop_mutex_, mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int64_t)>* body_ = nullptr;  // of the open loop
  int64_t tasks_ = 0;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
  std::atomic<int> active_{0};  // workers inside the loop; changed under the mutex
  int asleep_ = 0;
  std::atomic<uint64_t> generation_{0};
  bool stop_ = false;
};

int hardware_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

std::mutex pool_mutex;
std::shared_ptr<Pool> pool;  // a loop that runs keeps its pool when another thread changes the number of threads

std::shared_ptr<Pool> the_pool() {
  std::lock_guard lock(pool_mutex);
  if (!pool) pool = std::make_shared<Pool>(hardware_threads());
  return pool;
}

}  // namespace

int thread_count() { return the_pool()->size(); }

void set_thread_count(int count) {
  if (inside_loop) throw Error("[threads] expected a call from outside of parallel loops");
  // Far more threads than cores gain nothing, and a machine has only so many.
  if (const int most = std::max(64, 4 * hardware_threads()); count < 0 || count > most)
    throw InputError("[threads] expected a number from 0 to {}, got {}", most, count);
  std::lock_guard lock(pool_mutex);
  const int wanted = count > 0 ? count : hardware_threads();
  if (!pool || pool->size() != wanted) pool = std::make_shared<Pool>(wanted);
}

void parallel_for(int64_t tasks, const std::function<void(int64_t)>& body) {
  if (tasks <= 0) return;
  const std::shared_ptr<Pool> threads = tasks == 1 || inside_loop ? nullptr : the_pool();
  if (!threads || threads->size() == 1) {
    for (int64_t task = 0; task < tasks; ++task) body(task);
    return;
  }
  threads->run(tasks, body);
}

void parallel_ranges(int64_t items, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  parallel_for((items + grain - 1) / grain,
               [&](int64_t task) { body(task * grain, std::min(items, (task + 1) * grain)); });
}

}  // namespace htfm
