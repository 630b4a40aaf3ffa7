#include "htfm/train/batches.h"

#include <ATen/ops/empty.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "htfm/base/error.h"
#include "htfm/base/split.h"
#include "htfm/model/config_binding.h"

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

std::vector<std::vector<int64_t>> parse_groups(const std::string& text, int64_t columns) {
  std::vector<std::vector<int64_t>> out;
  std::vector<char> named(static_cast<size_t>(columns));
  for (const std::string& group : split(text, ';')) {
    out.push_back(parse_whole_numbers("data.independent", group));
    for (int64_t& column : out.back()) {
      if (column < 1 || column > columns)
        throw InputError("[data.independent] expected numbers from 1 to {}, got {}", columns, column);
      if (std::exchange(named[static_cast<size_t>(--column)], 1))
        throw InputError("[data.independent] expected every column once, got {} twice", column + 1);
    }
  }
  if (!out.empty()) out.erase(out.begin());
  return out;
}

std::vector<int64_t> weighted_places(Key key, const std::vector<double>& weights, int64_t count) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0), start = key.uniform(0);
  std::vector<int64_t> out;
  out.reserve(static_cast<size_t>(count));
  double before = 0;  // the weights of the places before
  for (size_t i = 0; i < weights.size(); ++i) {
    before += weights[i];
    const double end =
        i + 1 == weights.size() ? static_cast<double>(count) : static_cast<double>(count) * (before / total);
    while (static_cast<double>(out.size()) + start < end) out.push_back(static_cast<int64_t>(i));
  }
  return out;
}

Batches::Batches(Key key, const TrainingData& set, std::vector<int64_t> places, int64_t batch, int64_t step,
                 std::vector<std::vector<int64_t>> groups, std::vector<double> weights)
    : key_(key),
      rows_(set.rows),
      places_(std::move(places)),
      weights_(std::move(weights)),
      batch_(batch),
      streamed_(set.streamed),
      groups_(std::move(groups)),
      group_order_(groups_.size()) {
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

std::vector<int64_t> Batches::order_of(Key key, int64_t epoch) const {
  std::vector<int64_t> order(places_.size());
  const Key own = key.child(static_cast<uint64_t>(epoch));
  fill_permutation(own, count(), order.data());
  const std::vector<int64_t> drawn =
      weights_.empty() ? std::vector<int64_t>() : weighted_places(own.child("weights"), weights_, count());
  for (int64_t& place : order) place = places_[static_cast<size_t>(drawn.empty() ? place : drawn[place])];
  return order;
}

Batches::Batch Batches::make(int64_t step) {
  Batch out;
  out.epoch = step / per_epoch(), out.first = step % per_epoch() * batch_;
  out.count = std::min(batch_, count() - out.first);
  if (out.epoch != epoch_) {
    order_ = std::make_shared<const std::vector<int64_t>>(order_of(key_, out.epoch));
    for (size_t g = 0; g < groups_.size(); ++g)
      group_order_[g] = order_of(key_.child("group").child(static_cast<uint64_t>(g)), out.epoch);
    epoch_ = out.epoch;
  }
  out.order = order_;
  const std::span<const int64_t> index(order_->data() + out.first, static_cast<size_t>(out.count));
  if (streamed_) will_need(rows_, index);
  out.rows = select_rows(rows_, index);
  const float* from = rows_.const_data_ptr<float>();
  float* to = out.rows.mutable_data_ptr<float>();
  const int64_t dim = rows_.size(1);
  for (size_t g = 0; g < groups_.size(); ++g)
    for (int64_t i = 0; i < out.count; ++i)
      for (const int64_t column : groups_[g])
        to[i * dim + column] = from[group_order_[g][static_cast<size_t>(out.first + i)] * dim + column];
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
