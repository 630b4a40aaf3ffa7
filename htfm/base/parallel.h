// A small pool of threads for loops whose tasks are known beforehand.
#pragma once

#include <cstdint>
#include <functional>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Number of threads that parallel_for may use, the calling one included.
int thread_count();
/// Sets it; 0 means one for each core, and InputError is thrown for far more than there are cores. Not to be called
/// from inside a loop; loops of other threads that have begun end with the threads they have.
void set_thread_count(int count);

/// Runs body(task) for task = 0..tasks-1 and returns when all are done. Which thread runs which task is not fixed, so a
/// task must write only what is its own: results then do not depend on the number of threads. Loops inside a loop run
/// on the calling thread. The first exception is rethrown.
void parallel_for(int64_t tasks, const std::function<void(int64_t)>& body);

/// The same over ranges: body(begin, end) for consecutive ranges of at most `grain` items.
void parallel_ranges(int64_t items, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

}  // namespace htfm
