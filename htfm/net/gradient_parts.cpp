#include "htfm/net/gradient_parts.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <vector>

#include "htfm/base/parallel.h"
#include "htfm/net/scratch.h"

namespace htfm {

namespace {

// Lets the parts pass one after the other. Threads take them in order, so the one whose turn it is always comes.
class Turns {
 public:
  /// Runs `body` when all parts before have passed; not at all where one of them failed.
  template <class Body>
  void pass(int64_t part, const Body& body) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return failed_ || next_ == part; });
    if (!failed_) body();
    ++next_;
    moved_.notify_all();
  }
  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    moved_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  int64_t next_ = 0;
  bool failed_ = false;
};

}  // namespace

double gradient_in_parts(const Network& network, const float* parameters, const NetworkInput& input,
                         const SampleLoss& loss, float* gradient) {
  const int64_t parts = network.part_count(input.t.numel()), size = network.layout().size();
  Turns turns;
  double total = 0;
  parallel_for(parts, [&](int64_t part) {
    try {
      Scratch own(size);
      const double value = network.part_gradient(parameters, input, loss, part, own.data());
      turns.pass(part, [&] {
        total += value;
        if (part == 0)
          std::memcpy(gradient, own.data(), static_cast<size_t>(size) * sizeof(float));
        else
          for (int64_t i = 0; i < size; ++i) gradient[i] += own.data()[i];
      });
    } catch (...) {
      turns.fail();
      throw;
    }
  });
  return total;
}

}  // namespace htfm
