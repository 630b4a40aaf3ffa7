// Processes of a job as threads of one: for tests of what several processes do together.
#pragma once

#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "htfm/comm/communicator.h"

namespace htfm::test {

/// Where the threads meet.
class ThreadRoom {
 public:
  explicit ThreadRoom(int processes) : size(processes) {}
  /// The bytes of every thread, when all have brought theirs.
  std::vector<std::string> exchange(int rank, std::string own) {
    std::unique_lock lock(mutex_);
    const int64_t round = rounds_[rank]++;
    auto& all = open_[round];
    all.first.resize(static_cast<size_t>(size));
    all.first[static_cast<size_t>(rank)] = std::move(own);
    if (++all.second == size) moved_.notify_all();
    wait(lock, [&] { return open_[round].second >= size; });
    std::vector<std::string> out = open_[round].first;
    if (++open_[round].second == 2 * size) open_.erase(round);
    return out;
  }
  void send(int from, int to, std::string bytes) {
    const std::lock_guard lock(mutex_);
    letters_[{from, to}].push_back(std::move(bytes));
    moved_.notify_all();
  }
  std::string receive(int from, int to) {
    std::unique_lock lock(mutex_);
    auto& box = letters_[{from, to}];
    wait(lock, [&] { return !box.empty(); });
    std::string out = std::move(box.front());
    box.erase(box.begin());
    return out;
  }
  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    moved_.notify_all();
  }
  const int size;

 private:
  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, const Condition& condition) {
    moved_.wait(lock, [&] { return failed_ || condition(); });
    if (failed_) throw std::runtime_error("another process has failed");
  }
  std::mutex mutex_;
  std::condition_variable moved_;
  std::map<int, int64_t> rounds_;
  std::map<int64_t, std::pair<std::vector<std::string>, int>> open_;
  std::map<std::pair<int, int>, std::vector<std::string>> letters_;
  bool failed_ = false;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(ThreadRoom& room, int rank) : room_(room) {
    rank_ = rank, size_ = room.size, local_rank_ = rank, local_size_ = room.size, host_ = "here";
  }
  const char* engine() const override { return "threads"; }
  void finish() override {}
  void abort(int) override { room_.fail(); }

 protected:
  void do_barrier() override { room_.exchange(rank_, ""); }
  void do_broadcast(void* data, size_t bytes, int from) override {
    const auto all = room_.exchange(rank_, from == rank_ ? std::string(static_cast<char*>(data), bytes) : "");
    std::memcpy(data, all[static_cast<size_t>(from)].data(), bytes);
  }
  void do_all_gather(const void* own, void* all, std::span<const size_t> bytes) override {
    const auto texts =
        room_.exchange(rank_, std::string(static_cast<const char*>(own), bytes[static_cast<size_t>(rank_)]));
    char* to = static_cast<char*>(all);
    for (const std::string& t : texts) std::memcpy(to, t.data(), t.size()), to += t.size();
  }
  void do_send(const void* data, size_t bytes, int to) override {
    room_.send(rank_, to, std::string(static_cast<const char*>(data), bytes));
  }
  void do_receive(void* data, size_t bytes, int from) override {
    std::memcpy(data, room_.receive(from, rank_).data(), bytes);
  }

 private:
  ThreadRoom& room_;
};

/// Runs `body` in so many processes, and gives on the first failure.
inline void run_processes(int size, const std::function<void(Communicator&)>& body) {
  ThreadRoom room(size);
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::exception_ptr first;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadCommunicator c(room, rank);
      try {
        body(c);
      } catch (...) {
        {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
        room.fail();
      }
    });
  for (std::thread& t : threads) t.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace htfm::test
