// The communicator over c10d's TCPStore, for processes that torchrun has started: small things only, such as the name
// of a group of devices; gradients go through NCCL.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "htfm/base/api.h"
#include "htfm/comm/communicator.h"

namespace htfm {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
int number(const char* name, int otherwise) {
  const std::string text = variable(name);
  return text.empty() ? otherwise : std::stoi(text);
}

class StoreCommunicator final : public Communicator {
 public:
  StoreCommunicator() {
    rank_ = number("RANK", 0), size_ = number("WORLD_SIZE", 1);
    local_rank_ = number("LOCAL_RANK", rank_), local_size_ = number("LOCAL_WORLD_SIZE", size_);
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    host_ = name;
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(number("MASTER_PORT", 29500));
    // torchrun's agent may hold the store already.
    options.isServer = rank_ == 0 && variable("TORCHELASTIC_USE_AGENT_STORE") != "True";
    options.numWorkers = static_cast<size_t>(size_);
    options.waitWorkers = false;
    store_ = c10::make_intrusive<c10d::TCPStore>(variable("MASTER_ADDR"), options);
    prefix_ = "htfm/" + variable("TORCHELASTIC_RUN_ID") + "/" + variable("TORCHELASTIC_RESTART_COUNT") + "/";
  }
  const char* engine() const override { return "store"; }
  void finish() override { do_barrier(); }
  void abort(int code) override { ::_exit(code); }  // torchrun ends the others

 protected:
  void do_barrier() override { gather({}, 0); }
  void do_broadcast(void* data, size_t bytes, int from) override {
    const auto all = gather(from == rank_ ? data : nullptr, from == rank_ ? bytes : 0);
    std::memcpy(data, all[static_cast<size_t>(from)].data(), bytes);
  }
  void do_all_gather(const void* own, void* all, std::span<const size_t> bytes) override {
    char* to = static_cast<char*>(all);
    for (const auto& piece : gather(own, bytes[static_cast<size_t>(rank_)])) {
      if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
      to += piece.size();
    }
  }
  void do_send(const void* data, size_t bytes, int to) override {
    const auto* from = static_cast<const uint8_t*>(data);
    store_->set(letter(rank_, to, sent_[to]++), std::vector<uint8_t>(from, from + bytes));
  }
  void do_receive(void* data, size_t bytes, int from) override {
    const std::string key = letter(from, rank_, received_[from]++);
    const std::vector<uint8_t> letter_bytes = store_->get(key);
    std::memcpy(data, letter_bytes.data(), bytes);
    store_->deleteKey(key);
  }

 private:
  // The bytes of every process. A key of the round before the last has been read by all: they have written since.
  std::vector<std::vector<uint8_t>> gather(const void* own, size_t bytes) {
    const int64_t round = rounds_++;
    const auto* from = static_cast<const uint8_t*>(own);
    store_->set(place(round, rank_), bytes > 0 ? std::vector<uint8_t>(from, from + bytes) : std::vector<uint8_t>());
    if (round >= 2) store_->deleteKey(place(round - 2, rank_));
    std::vector<std::vector<uint8_t>> out;
    for (int r = 0; r < size_; ++r) out.push_back(store_->get(place(round, r)));
    return out;
  }
  std::string place(int64_t round, int rank) const {
    return prefix_ + std::to_string(round) + "/" + std::to_string(rank);
  }
  std::string letter(int from, int to, int64_t count) const {
    return prefix_ + std::to_string(from) + "-" + std::to_string(to) + "/" + std::to_string(count);
  }

  c10::intrusive_ptr<c10d::TCPStore> store_;
  std::string prefix_;
  int64_t rounds_ = 0;
  std::map<int, int64_t> sent_, received_;
};

}  // namespace
}  // namespace htfm

extern "C" HTFM_PUBLIC const void* htfm_store_communicator(const char** reason) {
  static std::string why;
  try {
    static htfm::StoreCommunicator communicator;
    return &communicator;
  } catch (const std::exception& e) {
    why = e.what();
    why = why.substr(0, why.find('\n'));
    *reason = why.c_str();
    return nullptr;
  }
}
