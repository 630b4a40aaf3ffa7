// Several processes that work on one job: who they are, and the few things they say to each other. The engines (MPI,
// c10d's store) are libraries that are loaded when they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// The processes of a job. Every process calls the same functions in the same order, from one thread.
class HTFM_PUBLIC Communicator {
 public:
  virtual ~Communicator() = default;
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The place of this process among those of its machine.
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  /// The name of the machine.
  const std::string& host() const { return host_; }
  /// What it works with: "mpi", "store".
  virtual const char* engine() const = 0;

  /// Waits until all processes are here.
  void barrier();
  /// Bytes of one process for all.
  void broadcast(void* data, size_t bytes, int from = 0);
  /// The bytes of every process, in the order of the ranks, for all; bytes[r]: how many rank r gives.
  void all_gather(const void* own, void* all, std::span<const size_t> bytes);
  /// From one process to another.
  void send(const void* data, size_t bytes, int to);
  void receive(void* data, size_t bytes, int from);
  /// Seconds that this process has spent in these functions.
  double waited() const { return waited_; }

  /// The orderly end: after it nothing may be said.
  virtual void finish() = 0;
  /// Ends all processes at once with this exit code.
  virtual void abort(int code) = 0;

 protected:
  virtual void do_barrier() = 0;
  virtual void do_broadcast(void* data, size_t bytes, int from) = 0;
  virtual void do_all_gather(const void* own, void* all, std::span<const size_t> bytes) = 0;
  virtual void do_send(const void* data, size_t bytes, int to) = 0;
  virtual void do_receive(void* data, size_t bytes, int from) = 0;

  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  std::string host_;

 private:
  double waited_ = 0;
};

/// Items begin .. end of a process, out of a number of them: consecutive, and as equal as can be.
struct Share {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};
Share share_of(int64_t items, int rank, int size);
inline Share share_of(int64_t items, const Communicator& c) { return share_of(items, c.rank(), c.size()); }

/// The sum of `parts` arrays of `count` values, added one after the other in the order of their numbers: the same bits
/// for any number of processes. A process brings those of its share (share_of(parts)); all get the sum.
void sum_in_order(Communicator& c, int64_t parts, std::span<const float* const> own, int64_t count, float* sum);
/// Rows of `width` values each, of which every process has filled its share: all get the whole.
void share_rows(Communicator& c, int64_t rows, int64_t width, double* values);
/// One value of every process, in the order of the ranks.
std::vector<double> gather_values(Communicator& c, double own);
std::vector<std::string> gather_texts(Communicator& c, const std::string& own);
std::string broadcast_text(Communicator& c, const std::string& text, int from = 0);
/// Runs `body` on rank 0 alone (on this process where `c` is null); where it fails, all processes throw the same.
void on_first(Communicator* c, const std::function<void()>& body);
/// InputError that names the first process whose text differs from that of rank 0; `what` says what the text is of.
void check_equal(Communicator& c, const std::string& what, const std::string& own);

}  // namespace htfm
