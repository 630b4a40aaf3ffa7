#include "htfm/base/single_thread_guard.h"

#include <ATen/Parallel.h>

// In libtorch_cpu where it is built with them; absent elsewhere.
extern "C" {
int MKL_Set_Num_Threads_Local(int) __attribute__((weak));
int omp_get_max_threads() __attribute__((weak));
void omp_set_num_threads(int) __attribute__((weak));
}

namespace htfm {

SingleThreadGuard::SingleThreadGuard()
    : matrices_(MKL_Set_Num_Threads_Local ? MKL_Set_Num_Threads_Local(1) : 0),
      loops_(omp_get_max_threads ? omp_get_max_threads() : 1) {
  if (omp_set_num_threads) omp_set_num_threads(1);  // of this thread alone
}

SingleThreadGuard::~SingleThreadGuard() {
  if (MKL_Set_Num_Threads_Local) MKL_Set_Num_Threads_Local(matrices_);
  if (omp_set_num_threads) omp_set_num_threads(loops_);
}

OwnThread::OwnThread() : prepared_(at::get_num_threads()) {}

}  // namespace htfm
