// The communicator over MPI: a library of its own, loaded where several processes are asked for.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "htfm/base/api.h"
#include "htfm/comm/communicator.h"

namespace htfm {
namespace {

constexpr size_t kMost = size_t{1} << 30;  // MPI counts in int

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm local = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local);
    MPI_Comm_rank(local, &local_rank_);
    MPI_Comm_size(local, &local_size_);
    MPI_Comm_free(&local);
    char name[MPI_MAX_PROCESSOR_NAME + 1] = {};
    int length = 0;
    MPI_Get_processor_name(name, &length);
    host_.assign(name, static_cast<size_t>(length));
  }
  const char* engine() const override { return "mpi"; }

  void finish() override {
    int done = 0;
    MPI_Finalized(&done);
    if (done) return;
    for (Copy& copy : copies_) MPI_Wait(&copy.request, MPI_STATUS_IGNORE);
    MPI_Finalize();
  }
  void abort(int code) override {
    int done = 0;
    MPI_Finalized(&done);
    if (!done) MPI_Abort(MPI_COMM_WORLD, code);
    ::_exit(code);
  }

 protected:
  void do_barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  void do_broadcast(void* data, size_t bytes, int from) override {
    each_piece(bytes,
               [&](size_t at, int n) { MPI_Bcast(static_cast<char*>(data) + at, n, MPI_BYTE, from, MPI_COMM_WORLD); });
  }
  void do_all_gather(const void* own, void* all, std::span<const size_t> bytes) override {
    size_t total = 0;
    for (const size_t b : bytes) total += b;
    if (total > kMost) {
      size_t at = 0;
      for (int r = 0; r < size_; at += bytes[static_cast<size_t>(r)], ++r) {
        char* place = static_cast<char*>(all) + at;
        const size_t n = bytes[static_cast<size_t>(r)];
        if (r == rank_) std::copy_n(static_cast<const char*>(own), n, place);
        do_broadcast(place, n, r);
      }
      return;
    }
    std::vector<int> counts, places;
    int at = 0;
    for (const size_t b : bytes) {
      counts.push_back(static_cast<int>(b)), places.push_back(at);
      at += counts.back();
    }
    MPI_Allgatherv(own, counts[static_cast<size_t>(rank_)], MPI_BYTE, all, counts.data(), places.data(), MPI_BYTE,
                   MPI_COMM_WORLD);
  }
  // A small message is copied and goes on by itself: sums that go round would wait for each other otherwise.
  void do_send(const void* data, size_t bytes, int to) override {
    if (bytes <= kCopied) return send_copy(data, bytes, to);
    each_piece(bytes, [&](size_t at, int n) {
      MPI_Send(static_cast<const char*>(data) + at, n, MPI_BYTE, to, 0, MPI_COMM_WORLD);
    });
  }
  void do_receive(void* data, size_t bytes, int from) override {
    each_piece(bytes, [&](size_t at, int n) {
      MPI_Recv(static_cast<char*>(data) + at, n, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
  }

 private:
  struct Copy {
    std::vector<char> data;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  static constexpr size_t kCopied = size_t{128} << 10, kCopies = 32;
  void send_copy(const void* data, size_t bytes, int to) {
    Copy& copy = copies_[next_++ % kCopies];
    MPI_Wait(&copy.request, MPI_STATUS_IGNORE);
    copy.data.resize(kCopied);
    std::memcpy(copy.data.data(), data, bytes);
    MPI_Isend(copy.data.data(), static_cast<int>(bytes), MPI_BYTE, to, 0, MPI_COMM_WORLD, &copy.request);
  }
  std::array<Copy, kCopies> copies_;  // under way, the oldest is overwritten next
  size_t next_ = 0;
  template <class Body>
  static void each_piece(size_t bytes, const Body& body) {
    for (size_t at = 0; at < bytes; at += kMost) body(at, static_cast<int>(std::min(kMost, bytes - at)));
  }
};

}  // namespace
}  // namespace htfm

extern "C" HTFM_PUBLIC const void* htfm_mpi_communicator(const char** reason) {
  int started = 0, level = 0;
  MPI_Initialized(&started);
  if (!started && MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) {
    *reason = "MPI_Init_thread failed";
    return nullptr;
  }
  static htfm::MpiCommunicator communicator;
  return &communicator;
}
