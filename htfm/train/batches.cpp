#include "htfm/train/batches.h"

#include <ATen/ops/empty.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace htfm {

namespace {

constexpr size_t kAhead = 4;  // batches that are ready before they are asked for

// Tells the system which pages of a mapped file are read next, so that it fetches them all at once.
void will_need(const at::Tensor& rows, std::span<const int64_t> index) {
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto bytes = static_cast<uintptr_t>(rows.size(1)) * sizeof(float);
  for (const int64_t i : index) {
    const auto begin = reinterpret_cast<uintptr_t>(rows.const_data_ptr<float>()) + static_cast<uintptr_t>(i) * bytes,
               first = begin / page * page;
    ::madvise(reinterpret_cast<void*>(first), begin + bytes - first, MADV_WILLNEED);
  }
}

}  // namespace

at::Tensor select_rows(const at::Tensor& rows, std::span<const int64_t> index) {
  const auto n = static_cast<int64_t>(index.size()), dim = rows.size(1);
  at::Tensor out = at::empty({n, dim}, at::kFloat);
  const float* from = rows.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < n; ++i) std::copy_n(from + index[i] * dim, dim, to + i * dim);
  return out;
}

Batches::Batches(Key key, const TrainingData& set, std::vector<int64_t> places, int64_t batch, int64_t step)
    : key_(key), rows_(set.rows), places_(std::move(places)), batch_(batch), streamed_(set.streamed) {
  if (streamed_) reader_ = std::thread([this, step] { read_ahead(step); });
}

Batches::~Batches() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  moved_.notify_all();
  if (reader_.joinable()) reader_.join();
}

Batches::Batch Batches::make(int64_t step) {
  Batch out;
  out.epoch = step / per_epoch(), out.first = step % per_epoch() * batch_;
  out.count = std::min(batch_, count() - out.first);
  if (out.epoch != epoch_) {
    std::vector<int64_t> order(places_.size());
    fill_permutation(key_.child(static_cast<uint64_t>(out.epoch)), count(), order.data());
    for (int64_t& place : order) place = places_[place];
    order_ = std::make_shared<const std::vector<int64_t>>(std::move(order));
    epoch_ = out.epoch;
  }
  out.order = order_;
  const std::span<const int64_t> index(order_->data() + out.first, static_cast<size_t>(out.count));
  if (streamed_) will_need(rows_, index);
  out.rows = select_rows(rows_, index);
  return out;
}

void Batches::read_ahead(int64_t step) {
  for (;; ++step) {
    Batch next;
    std::exception_ptr failure;
    try {
      next = make(step);
    } catch (...) {
      failure = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return ended_ || ready_.size() < kAhead; });
    if (ended_) return;
    failure_ = failure;
    if (!failure) ready_.push_back(std::move(next));
    moved_.notify_all();
    if (failure) return;
  }
}

DataBatch Batches::at_step(int64_t step) {
  if (!streamed_) {
    current_ = make(step);
  } else {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return failure_ || !ready_.empty(); });
    if (ready_.empty()) std::rethrow_exception(failure_);
    current_ = std::move(ready_.front());
    ready_.pop_front();
    moved_.notify_all();
  }
  return {current_.rows,
          {current_.order->data() + current_.first, static_cast<size_t>(current_.count)},
          current_.epoch * count() + current_.first};
}

}  // namespace htfm
