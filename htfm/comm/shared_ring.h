// Bytes from one process to another of the same machine, through memory that both see.
#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace htfm {

/// One process sends, one receives: whoever is faster waits for the other.
class SharedRing {
 public:
  static constexpr size_t kCapacity = size_t{2} << 20;

  /// Takes over a descriptor of memory of kBytes (memory()), the sender's or the receiver's.
  explicit SharedRing(int descriptor) : descriptor_(descriptor) {
    void* mapped = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) throw std::runtime_error("no shared memory for the processes");
    head_ = static_cast<Head*>(mapped);
    data_ = static_cast<char*>(mapped) + sizeof(Head);
  }
  ~SharedRing() {
    ::munmap(head_, kBytes);
    ::close(descriptor_);
  }
  SharedRing(const SharedRing&) = delete;
  SharedRing& operator=(const SharedRing&) = delete;

  /// New memory without a name, all zeros; it is gone with the processes.
  static int memory() {
    const int fd = ::memfd_create("htfm", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(kBytes)) != 0)
      throw std::runtime_error("no shared memory for the processes");
    return fd;
  }
  /// Is this such memory? A file that has a name never is.
  static bool is_memory(int descriptor) {
    struct stat what;
    return ::fstat(descriptor, &what) == 0 && S_ISREG(what.st_mode) && what.st_nlink == 0 &&
           what.st_size == static_cast<off_t>(kBytes);
  }
  int descriptor() const { return descriptor_; }

  void send(const void* data, size_t bytes) {
    const char* from = static_cast<const char*>(data);
    while (bytes > 0) {
      const uint64_t at = head_->written.load(std::memory_order_relaxed);
      const size_t room = wait_for([&] { return kCapacity - (at - head_->read.load(std::memory_order_acquire)); });
      const size_t n = std::min({room, bytes, kCapacity - at % kCapacity, kPiece});
      std::memcpy(data_ + at % kCapacity, from, n);
      head_->written.store(at + n, std::memory_order_release);
      from += n, bytes -= n;
    }
  }
  void receive(void* data, size_t bytes) {
    char* to = static_cast<char*>(data);
    while (bytes > 0) {
      const uint64_t at = head_->read.load(std::memory_order_relaxed);
      const size_t there = wait_for([&] { return head_->written.load(std::memory_order_acquire) - at; });
      const size_t n = std::min({there, bytes, kCapacity - at % kCapacity});
      std::memcpy(to, data_ + at % kCapacity, n);
      head_->read.store(at + n, std::memory_order_release);
      to += n, bytes -= n;
    }
  }

 private:
  struct alignas(64) Head {
    alignas(64) std::atomic<uint64_t> written;  // bytes, ever
    alignas(64) std::atomic<uint64_t> read;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  static constexpr size_t kBytes = sizeof(Head) + kCapacity;
  static constexpr size_t kPiece = size_t{256} << 10;  // the receiver begins when this much is there

  // Waits until there is something; the processor goes to the other process soon, in case they share it.
  template <class Amount>
  static size_t wait_for(const Amount& amount) {
    for (int tries = 0;; ++tries) {
      if (const size_t n = amount(); n > 0) return n;
      if (tries > 1000)
        ::usleep(20);
      else if (tries > 100)
        ::sched_yield();
    }
  }

  int descriptor_;
  Head* head_ = nullptr;
  char* data_ = nullptr;
};

}  // namespace htfm
