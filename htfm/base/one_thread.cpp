#include "htfm/base/one_thread.h"

// In libtorch_cpu where it is built with MKL; absent elsewhere.
extern "C" int MKL_Set_Num_Threads_Local(int) __attribute__((weak));

namespace htfm {

OneThread::OneThread() : before_(MKL_Set_Num_Threads_Local ? MKL_Set_Num_Threads_Local(1) : 0) {}

OneThread::~OneThread() {
  if (MKL_Set_Num_Threads_Local) MKL_Set_Num_Threads_Local(before_);
}

}  // namespace htfm
