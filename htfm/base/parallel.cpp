#include "htfm/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace htfm {

namespace {

thread_local bool inside_loop = false;

// One loop at a time; workers sleep between loops.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }
  int size() const { return static_cast<int>(workers_.size()) + 1; }

  void run(int64_t tasks, const std::function<void(int64_t)>& body) {
    std::lock_guard one_loop(loop_mutex_);
    {
      std::lock_guard lock(mutex_);
      body_ = &body;
      tasks_ = tasks;
      next_.store(0, std::memory_order_relaxed);
      failed_.store(false, std::memory_order_relaxed);
      error_ = nullptr;
      busy_ = static_cast<int>(workers_.size());
      ++generation_;
    }
    wake_.notify_all();
    take_tasks();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    body_ = nullptr;
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void take_tasks() {
    inside_loop = true;
    for (int64_t task; !failed_.load(std::memory_order_relaxed) && (task = next_.fetch_add(1)) < tasks_;) {
      try {
        (*body_)(task);
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
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
      lock.unlock();
      take_tasks();
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::vector<std::thread> workers_;
  std::mutex loop_mutex_, mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int64_t)>* body_ = nullptr;
  int64_t tasks_ = 0;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
  int busy_ = 0;
  uint64_t generation_ = 0;
  bool stop_ = false;
};

int hardware_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

std::mutex pool_mutex;
std::unique_ptr<Pool> pool;

Pool& the_pool() {
  std::lock_guard lock(pool_mutex);
  if (!pool) pool = std::make_unique<Pool>(hardware_threads());
  return *pool;
}

}  // namespace

int thread_count() { return the_pool().size(); }

void set_thread_count(int count) {
  std::lock_guard lock(pool_mutex);
  const int wanted = count > 0 ? count : hardware_threads();
  if (!pool || pool->size() != wanted) pool = std::make_unique<Pool>(wanted);
}

void parallel_for(int64_t tasks, const std::function<void(int64_t)>& body) {
  if (tasks <= 0) return;
  if (tasks == 1 || inside_loop || the_pool().size() == 1) {
    for (int64_t task = 0; task < tasks; ++task) body(task);
    return;
  }
  the_pool().run(tasks, body);
}

void parallel_ranges(int64_t items, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  parallel_for((items + grain - 1) / grain, [&](int64_t task) { body(task * grain, std::min(items, (task + 1) * grain)); });
}

}  // namespace htfm
