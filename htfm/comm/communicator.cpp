#include "htfm/comm/communicator.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>

#include "htfm/base/error.h"

namespace htfm {

namespace {

// Adds the time of a scope to a sum.
class Waiting {
 public:
  explicit Waiting(double& seconds) : seconds_(seconds), start_(std::chrono::steady_clock::now()) {}
  ~Waiting() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_;
};

constexpr int64_t kSegment = 1 << 14;  // values that travel together: one is sent while the next is added
constexpr int64_t kUnderWay = 8;       // segments that a process is ahead of the sums that come back: half a MiB

// sum += part[0], then part[1] ..., each from `first` on; four vectors at a time, which stay in registers.
void add_parts(std::span<const float* const> part, int64_t first, int64_t count, float* sum) {
  constexpr int64_t kLanes = 4, kBlock = 4 * kLanes;
  using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    auto* to = reinterpret_cast<Lanes*>(sum + i);
    Lanes a = to[0], b = to[1], c = to[2], d = to[3];
    for (const float* p : part) {
      const auto* values = reinterpret_cast<const Lanes*>(p + first + i);
      a += values[0], b += values[1], c += values[2], d += values[3];
    }
    to[0] = a, to[1] = b, to[2] = c, to[3] = d;
  }
  for (; i < count; ++i)
    for (const float* p : part) sum[i] += p[first + i];
}

std::vector<size_t> row_bytes(const Communicator& c, int64_t rows, size_t bytes_of_row) {
  std::vector<size_t> out;
  for (int r = 0; r < c.size(); ++r)
    out.push_back(static_cast<size_t>(share_of(rows, r, c.size()).count()) * bytes_of_row);
  return out;
}

}  // namespace

void Communicator::barrier() {
  const Waiting time(waited_);
  do_barrier();
}
void Communicator::broadcast(void* data, size_t bytes, int from) {
  const Waiting time(waited_);
  do_broadcast(data, bytes, from);
}
void Communicator::all_gather(const void* own, void* all, std::span<const size_t> bytes) {
  const Waiting time(waited_);
  do_all_gather(own, all, bytes);
}
void Communicator::send(const void* data, size_t bytes, int to) {
  const Waiting time(waited_);
  do_send(data, bytes, to);
}
void Communicator::receive(void* data, size_t bytes, int from) {
  const Waiting time(waited_);
  do_receive(data, bytes, from);
}

Share share_of(int64_t items, int rank, int size) { return {items * rank / size, items * (rank + 1) / size}; }

void sum_in_order(Communicator& c, int64_t parts, std::span<const float* const> own, int64_t count, float* sum) {
  // The sum goes from process to process, and each adds its parts; those without a part are left out. The last one,
  // which always has some, sends it to the first, and from there it goes round to all, while later segments are added.
  const auto has_parts = [&](int r) { return share_of(parts, r, c.size()).count() > 0; };
  const int last = c.size() - 1;
  int before = c.rank() - 1, after = c.rank() + 1;
  while (before >= 0 && !has_parts(before)) --before;
  while (after < c.size() && !has_parts(after)) ++after;
  const int64_t segments = (count + kSegment - 1) / kSegment;
  const auto place = [&](int64_t k) { return sum + k * kSegment; };
  const auto values = [&](int64_t k) { return std::min(kSegment, count - k * kSegment); };
  const auto bytes = [&](int64_t k) { return static_cast<size_t>(values(k)) * sizeof(float); };
  const auto send = [&](int64_t k, int to) { c.send(place(k), bytes(k), to); };
  const auto add = [&](int64_t k) {
    if (before >= 0)
      c.receive(place(k), bytes(k), before);
    else
      std::memcpy(place(k), own[0] + k * kSegment, bytes(k));
    add_parts(own.subspan(before >= 0 ? 0 : 1), k * kSegment, values(k), place(k));
  };
  for (int64_t k = 0; k < segments + kUnderWay; ++k) {
    if (k < segments && !own.empty()) {
      add(k);
      if (c.size() > 1) send(k, c.rank() == last ? 0 : after);
    }
    const int64_t back = k - kUnderWay;
    if (back < 0 || c.rank() == last) continue;
    c.receive(place(back), bytes(back), c.rank() > 0 ? c.rank() - 1 : last);
    if (c.rank() + 1 < last) send(back, c.rank() + 1);
  }
}

void share_rows(Communicator& c, int64_t rows, int64_t width, double* values) {
  const size_t row = static_cast<size_t>(width) * sizeof(double);
  const Share own = share_of(rows, c);
  const std::vector<double> copy(values + own.begin * width, values + own.end * width);
  c.all_gather(copy.data(), values, row_bytes(c, rows, row));
}

std::vector<double> gather_values(Communicator& c, double own) {
  std::vector<double> all(static_cast<size_t>(c.size()));
  c.all_gather(&own, all.data(), std::vector<size_t>(all.size(), sizeof own));
  return all;
}

std::vector<std::string> gather_texts(Communicator& c, const std::string& own) {
  const std::vector<double> lengths = gather_values(c, static_cast<double>(own.size()));
  std::vector<size_t> bytes(lengths.begin(), lengths.end());
  size_t total = 0;
  for (const size_t b : bytes) total += b;
  std::string all(total, '\0');
  c.all_gather(own.data(), all.data(), bytes);
  std::vector<std::string> out;
  size_t at = 0;
  for (const size_t b : bytes) out.push_back(all.substr(at, b)), at += b;
  return out;
}

std::string broadcast_text(Communicator& c, const std::string& text, int from) {
  uint64_t length = text.size();
  c.broadcast(&length, sizeof length, from);
  std::string out = text;
  out.resize(length);
  c.broadcast(out.data(), length, from);
  return out;
}

void on_first(Communicator* c, const std::function<void()>& body) {
  if (!c) return body();
  std::string failure;  // its first letter says of which kind
  std::exception_ptr own;
  if (c->rank() == 0) {
    try {
      body();
    } catch (const InputError& e) {
      failure = fmt::format("i{}", e.what()), own = std::current_exception();
    } catch (const std::exception& e) {
      failure = fmt::format("e{}", e.what()), own = std::current_exception();
    }
  }
  failure = broadcast_text(*c, failure);
  if (own) std::rethrow_exception(own);
  if (failure.empty()) return;
  if (failure[0] == 'i') throw InputError("{}", failure.substr(1));
  throw Error("{}", failure.substr(1));
}

void check_equal(Communicator& c, const std::string& what, const std::string& own) {
  const std::vector<std::string> texts = gather_texts(c, own), hosts = gather_texts(c, c.host());
  for (size_t r = 1; r < texts.size(); ++r)
    if (texts[r] != texts[0])
      throw InputError("[--comm] expected the same {} in every process, got {} on rank 0 ({}) and {} on rank {} ({})",
                       what, texts[0], hosts[0], texts[r], r, hosts[r]);
}

}  // namespace htfm
