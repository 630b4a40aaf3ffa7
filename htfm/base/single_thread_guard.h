// Keeps LibTorch's operations on the calling thread: their sums then do not depend on the number of cores, and tasks of
// parallel_for start no further threads.
#pragma once

namespace htfm {

/// As long as it lives, what MKL and OpenMP do for calls from this thread stays on it. Without effect where LibTorch
/// has other ones.
class SingleThreadGuard {
 public:
  SingleThreadGuard();
  ~SingleThreadGuard();
  SingleThreadGuard(const SingleThreadGuard&) = delete;
  SingleThreadGuard& operator=(const SingleThreadGuard&) = delete;

 private:
  int matrices_, loops_;  // threads before
};

/// The same in a thread that LibTorch may not have seen yet: it sets the number of a thread's threads at its first use,
/// which must come before the guard.
class OwnThread {
 public:
  OwnThread();

 private:
  int prepared_;
  SingleThreadGuard guard_;
};

}  // namespace htfm
