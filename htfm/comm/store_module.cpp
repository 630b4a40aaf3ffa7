// The communicators of processes that torchrun, or srun, has started. They find each other by c10d's TCPStore. On one
// machine they talk through memory that they share; on several through the store itself, which is for small things:
// gradients of devices go through NCCL. The store asks nobody who he is: on one machine it listens to that machine
// alone, and what comes out of it is checked before it is used.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "htfm/base/api.h"
#include "htfm/base/error.h"
#include "htfm/comm/communicator.h"
#include "htfm/comm/launch_place.h"
#include "htfm/comm/shared_ring.h"

namespace htfm {
namespace {

using Bytes = std::vector<uint8_t>;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Bytes bytes_of(const void* data, size_t bytes) {
  const auto* from = static_cast<const uint8_t*>(data);
  return bytes > 0 ? Bytes(from, from + bytes) : Bytes();
}

// Bytes of another process: as many as are expected.
void take(const Bytes& from, void* to, size_t bytes) {
  if (from.size() != bytes)
    throw Error("[--comm] expected {} bytes of another process, got {}: is something else using this port?", bytes,
                from.size());
  if (bytes > 0) std::memcpy(to, from.data(), bytes);
}

// A socket that only this machine reaches; the port is changed to the one that it got.
int listen_to_this_machine(uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* address = reinterpret_cast<sockaddr*>(&place);
  if (fd < 0 || ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 || ::bind(fd, address, size) != 0 ||
      ::listen(fd, SOMAXCONN) != 0 || ::getsockname(fd, address, &size) != 0)
    throw Error("cannot listen at port {} of this machine: {}", port, std::strerror(errno));
  port = ntohs(place.sin_port);
  return fd;
}

// What all of them have: their names, and the store. A process that is alone keeps its own.
class Launched : public Communicator {
 public:
  Launched() {
    const LaunchPlace place = find_place();
    rank_ = place.rank, size_ = place.size, local_rank_ = place.local_rank, local_size_ = place.local_size;
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    host_ = name;
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(place.port);
    // torchrun's agent may hold the store already.
    const bool held = variable("TORCHELASTIC_USE_AGENT_STORE") == "True", inside = place.one_machine && !held;
    options.isServer = rank_ == 0 && !held;
    if (options.isServer && inside) options.masterListenFd = listen_to_this_machine(options.port);
    options.numWorkers = static_cast<size_t>(size_);
    options.waitWorkers = false;
    options.timeout = std::chrono::hours(24 * 7);  // a process may work long before it speaks; a dead one ends the job
    const std::string address = inside || place.address.empty() ? "127.0.0.1" : place.address;
    store_ = c10::make_intrusive<c10d::TCPStore>(address, options);
    prefix_ = "htfm/" + variable("TORCHELASTIC_RUN_ID") + "/" + variable("TORCHELASTIC_RESTART_COUNT") + "/";
  }
  const char* engine() const override { return "store"; }
  // Whoever holds the store stays until the others have read what they wait for.
  void finish() override {
    barrier();
    if (rank_ > 0) return store_->set(prefix_ + "end/" + std::to_string(rank_), {});
    std::vector<std::string> others;
    for (int r = 1; r < size_; ++r) others.push_back(prefix_ + "end/" + std::to_string(r));
    if (!others.empty()) store_->wait(others);
  }
  void abort(int code) override { ::_exit(code); }  // torchrun ends the others; srun with --kill-on-bad-exit

 protected:
  // The bytes of every process, by the store.
  std::vector<Bytes> exchange(const Bytes& own) {
    const int64_t round = rounds_++;
    const auto place = [&](int64_t k, int rank) { return prefix_ + std::to_string(k) + "/" + std::to_string(rank); };
    store_->set(place(round, rank_), own);
    // A key of the round before the last has been read by all: they have written since.
    if (round >= 2) store_->deleteKey(place(round - 2, rank_));
    std::vector<std::string> keys;
    for (int r = 0; r < size_; ++r) keys.push_back(place(round, r));
    return store_->multiGet(keys);
  }

  c10::intrusive_ptr<c10d::TCPStore> store_;
  std::string prefix_;

 private:
  int64_t rounds_ = 0;
};

// Processes of several machines.
class StoreCommunicator : public Launched {
 protected:
  void do_barrier() override { exchange({}); }
  void do_broadcast(void* data, size_t bytes, int from) override {
    each_piece(bytes, [&](size_t at, size_t n) {
      char* place = static_cast<char*>(data) + at;
      const auto all = exchange(from == rank_ ? bytes_of(place, n) : Bytes());
      take(all[static_cast<size_t>(from)], place, n);
    });
  }
  void do_all_gather(const void* own, void* all, std::span<const size_t> bytes) override {
    std::vector<size_t> begin{0};
    for (const size_t b : bytes) begin.push_back(begin.back() + b);
    each_piece(*std::max_element(bytes.begin(), bytes.end()), [&](size_t at, size_t) {
      const auto piece = [&](int r) { return std::min(kMost, bytes[r] - std::min(at, bytes[r])); };
      const auto parts = exchange(bytes_of(static_cast<const char*>(own) + at, piece(rank_)));
      for (int r = 0; r < size_; ++r) take(parts[r], static_cast<char*>(all) + begin[r] + at, piece(r));
    });
  }
  void do_send(const void* data, size_t bytes, int to) override {
    each_piece(bytes, [&](size_t at, size_t n) {
      store_->set(letter(rank_, to, sent_[to]++), bytes_of(static_cast<const char*>(data) + at, n));
    });
  }
  void do_receive(void* data, size_t bytes, int from) override {
    each_piece(bytes, [&](size_t at, size_t n) {
      const std::string key = letter(from, rank_, received_[from]++);
      take(store_->get(key), static_cast<char*>(data) + at, n);
      store_->deleteKey(key);
    });
  }

 private:
  static constexpr size_t kMost = size_t{4} << 20;  // the store takes messages of less than 8 MiB
  template <class Body>
  static void each_piece(size_t bytes, const Body& body) {
    for (size_t at = 0; at == 0 || at < bytes; at += kMost) body(at, std::min(kMost, bytes - at));
  }
  std::string letter(int from, int to, int64_t count) const {
    return prefix_ + std::to_string(from) + "-" + std::to_string(to) + "/" + std::to_string(count);
  }
  std::map<int, int64_t> sent_, received_;
};

// Processes of one machine: a ring of shared memory for each of them and each other one; by the store where the system
// does not let them share.
class MachineCommunicator final : public StoreCommunicator {
 public:
  MachineCommunicator() {
    std::string own = std::to_string(::getpid());
    for (int r = 0; r < size_; ++r) {
      to_.push_back(std::make_unique<SharedRing>(SharedRing::memory()));
      own += " " + std::to_string(to_.back()->descriptor());
    }
    for (const Bytes& words : exchange(bytes_of(own.data(), own.size())))
      if (auto ring = open_ring({words.begin(), words.end()})) from_.push_back(std::move(ring));
    const Bytes opened(1, static_cast<int>(from_.size()) == size_ ? 1 : 0);
    for (const Bytes& all : exchange(opened)) shared_ = shared_ && all == Bytes(1, 1);
  }

 protected:
  void do_barrier() override {
    if (!shared_) return StoreCommunicator::do_barrier();
    char token = 0;
    for (int r = 1; rank_ == 0 && r < size_; ++r) do_receive(&token, 1, r);
    if (rank_ > 0) do_send(&token, 1, 0);
    do_broadcast(&token, 1, 0);
  }
  void do_broadcast(void* data, size_t bytes, int from) override {
    if (!shared_) return StoreCommunicator::do_broadcast(data, bytes, from);
    if (rank_ != from) return do_receive(data, bytes, from);
    for (int r = 0; r < size_; ++r)
      if (r != rank_) do_send(data, bytes, r);
  }
  void do_all_gather(const void* own, void* all, std::span<const size_t> bytes) override {
    if (!shared_) return StoreCommunicator::do_all_gather(own, all, bytes);
    char* place = static_cast<char*>(all);
    for (int r = 0; r < size_; place += bytes[r], ++r) {
      if (r == rank_ && bytes[r] > 0) std::memmove(place, own, bytes[r]);
      do_broadcast(place, bytes[r], r);
    }
  }
  void do_send(const void* data, size_t bytes, int to) override {
    shared_ ? to_[to]->send(data, bytes) : StoreCommunicator::do_send(data, bytes, to);
  }
  void do_receive(void* data, size_t bytes, int from) override {
    shared_ ? from_[from]->receive(data, bytes) : StoreCommunicator::do_receive(data, bytes, from);
  }

 private:
  // The memory that a process has made for this one, of which it tells its number and its descriptors in the order of
  // the ranks; null where it cannot be had, or is no such memory.
  std::unique_ptr<SharedRing> open_ring(const std::string& words) const {
    std::istringstream text(words);
    unsigned process = 0, descriptor = 0;
    text >> process;
    for (int r = 0; r <= rank_; ++r) text >> descriptor;
    if (!text) return nullptr;
    const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) return nullptr;
    if (SharedRing::is_memory(fd)) return std::make_unique<SharedRing>(fd);
    ::close(fd);
    return nullptr;
  }
  bool shared_ = true;
  std::vector<std::unique_ptr<SharedRing>> to_, from_;
};

}  // namespace
}  // namespace htfm

extern "C" HTFM_PUBLIC const void* htfm_store_communicator(const char** reason) {
  static std::string why;
  static std::unique_ptr<htfm::Communicator> communicator;
  try {
    if (!communicator && htfm::find_place().one_machine) communicator = std::make_unique<htfm::MachineCommunicator>();
    if (!communicator) communicator = std::make_unique<htfm::StoreCommunicator>();
    return communicator.get();
  } catch (const std::exception& e) {
    why = e.what();
    why = why.substr(0, why.find('\n'));
    *reason = why.c_str();
    return nullptr;
  }
}
