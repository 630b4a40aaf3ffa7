// The batches of a training: which rows each step takes, and the rows themselves.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "htfm/base/random.h"
#include "htfm/method/method.h"

namespace htfm {

/// Rows of a set, copied: n x dim, float32.
at::Tensor select_rows(const at::Tensor& rows, std::span<const int64_t> index);

/// Groups of columns that do not depend on each other (data.independent), from 0, without the first one, whose rows
/// stay where they are; InputError where a number is none of `columns` or stands twice.
std::vector<std::vector<int64_t>> parse_groups(const std::string& text, int64_t columns);

/// Places as often as their weights say, each as often as its share of `count` draws or once more or less; the key says
/// which (systematic sampling).
std::vector<int64_t> weighted_places(Key key, const std::vector<double>& weights, int64_t count);

/// The order of the rows is a permutation an epoch, a function of the seed, so that nothing of it needs saving. Of a
/// set that is larger than memory a thread reads the rows of some steps ahead.
class Batches {
 public:
  /// `places`: the rows to train on; `step`: the first one that will be asked for; `groups`: of columns that come from
  /// another row each, in a permutation an epoch of their own (parse_groups); `weights`: of the places, how often each
  /// is drawn against the others in epochs of the same length; empty: all once an epoch.
  Batches(Key key, const TrainingData& set, std::vector<int64_t> places, int64_t batch, int64_t step,
          std::vector<std::vector<int64_t>> groups = {}, std::vector<double> weights = {});
  ~Batches();
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  /// The rows of a step; steps follow each other. Valid until the next call.
  DataBatch at_step(int64_t step);

 private:
  struct Batch {
    std::shared_ptr<const std::vector<int64_t>> order;  // of its epoch
    int64_t epoch = 0, first = 0, count = 0;
    at::Tensor rows;
  };
  int64_t count() const { return static_cast<int64_t>(places_.size()); }
  int64_t per_epoch() const { return (count() + batch_ - 1) / batch_; }
  Batch make(int64_t step);
  std::vector<int64_t> order_of(Key key, int64_t epoch) const;
  void read_ahead(int64_t step);

  Key key_;
  at::Tensor rows_;
  std::vector<int64_t> places_;
  std::vector<double> weights_;
  int64_t batch_;
  bool streamed_;
  std::vector<std::vector<int64_t>> groups_;
  std::vector<std::vector<int64_t>> group_order_;      // of the same epoch, one a group
  std::shared_ptr<const std::vector<int64_t>> order_;  // of the epoch that was last made
  int64_t epoch_ = -1;
  Batch current_;

  // Where a thread reads ahead:
  std::mutex mutex_;
  std::condition_variable moved_;
  std::deque<Batch> ready_;
  std::exception_ptr failure_;
  bool ended_ = false;
  std::thread reader_;
};

}  // namespace htfm
