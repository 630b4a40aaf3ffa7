// LibTorch's matrix routines on the calling thread alone: their sums then do not depend on the number of cores, and tasks of
// parallel_for do not start threads of their own.
#pragma once

namespace htfm {

/// As long as it lives, MKL's routines called from this thread stay on it. Without effect where LibTorch has another linear algebra.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace htfm
