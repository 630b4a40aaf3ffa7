#include "htfm/comm/shared_ring.h"

#include <gtest/gtest.h>

#include <thread>

#include "htfm/base/random.h"

namespace htfm {
namespace {

// Messages of all sizes, some longer than the ring, through two mappings of the same memory.
TEST(SharedRing, BringsWhatWasSent) {
  const int memory = SharedRing::memory();
  SharedRing to(memory), from(::dup(memory));
  const Key key(5);
  const auto length = [&](uint64_t k) {
    const double u = key.uniform(k);
    return static_cast<size_t>(u * u * u * 1.5 * static_cast<double>(SharedRing::kCapacity));
  };
  const auto byte = [](uint64_t message, size_t i) { return static_cast<char>(message * 31 + i * 7 + i / 4096); };
  constexpr uint64_t kMessages = 60;
  std::thread sender([&] {
    for (uint64_t k = 0; k < kMessages; ++k) {
      std::vector<char> message(length(k));
      for (size_t i = 0; i < message.size(); ++i) message[i] = byte(k, i);
      to.send(message.data(), message.size());
    }
  });
  size_t longest = 0;
  for (uint64_t k = 0; k < kMessages; ++k) {
    std::vector<char> message(length(k));
    from.receive(message.data(), message.size());
    longest = std::max(longest, message.size());
    size_t wrong = 0;
    for (size_t i = 0; i < message.size(); ++i) wrong += message[i] != byte(k, i) ? 1 : 0;
    EXPECT_EQ(wrong, 0u) << "message " << k;
  }
  sender.join();
  EXPECT_GT(longest, SharedRing::kCapacity);
}

}  // namespace
}  // namespace htfm
