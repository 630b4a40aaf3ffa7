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

constexpr int64_t kSegment = 1 << 15;  // values that travel together: one is sent while the next is added

// sum += values; in lanes of a fixed number, which the compiler makes vectors of.
void add_to(int64_t count, const float* values, float* sum) {
  constexpr int64_t kLanes = 16;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t k = 0; k < kLanes; ++k) sum[i + k] += values[i + k];
  for (; i < count; ++i) sum[i] += values[i];
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
  // The sum goes from process to process, and each adds its parts. Processes without a part are left out.
  const auto has_parts = [&](int r) { return share_of(parts, r, c.size()).count() > 0; };
  int before = c.rank() - 1, after = c.rank() + 1, last = c.size() - 1;
  while (before >= 0 && !has_parts(before)) --before;
  while (after < c.size() && !has_parts(after)) ++after;
  while (!has_parts(last)) --last;
  for (int64_t first = 0; first < count && !own.empty(); first += kSegment) {
    const int64_t n = std::min(kSegment, count - first);
    const size_t bytes = static_cast<size_t>(n) * sizeof(float);
    size_t k = 0;
    if (before >= 0)
      c.receive(sum + first, bytes, before);
    else
      std::memcpy(sum + first, own[k++] + first, bytes);
    for (; k < own.size(); ++k) add_to(n, own[k] + first, sum + first);
    if (after < c.size()) c.send(sum + first, bytes, after);
  }
  c.broadcast(sum, static_cast<size_t>(count) * sizeof(float), last);
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
