// The sums of gradients over processes.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "htfm/train/device_trainer.h"

namespace htfm {

namespace {

constexpr int64_t kAlign = 16;        // values: where a gradient begins in an array of several
constexpr int64_t kBucket = 8 << 20;  // values that processes add up at a time, at least: 32 MB

}  // namespace

// Takes a gradient, which shows in which order its parts come, and cuts them into buckets.
void DeviceTrainer::make_buckets() {
  std::vector<size_t> ends;
  find_places([&](const std::vector<ParameterGradient>& so_far) {
    int64_t values = 0;
    for (size_t k = ends.empty() ? 0 : ends.back(); k < so_far.size(); ++k) values += so_far[k].value.numel();
    if (values >= kBucket) ends.push_back(so_far.size());
  });
  check_places();
  if (ends.empty() || ends.back() < places_.size()) ends.push_back(places_.size());
  int64_t size = 0, line = 0;
  size_t first = 0;
  for (const size_t last : ends) {
    const int64_t begin = size, table_begin = line;
    const std::vector<GradientPlace> some(places_.begin() + static_cast<int64_t>(first),
                                          places_.begin() + static_cast<int64_t>(last));
    for (const GradientPlace& p : some) flat_place_[p.offset] = size, size += (p.count + kAlign - 1) / kAlign * kAlign;
    line += device_.segment_table(some).numel();
    buckets_.push_back({last, begin, size, table_begin, line});
    first = last;
  }
  flat_ = at::zeros({size}, at::TensorOptions().dtype(at::kFloat).device(ops_->device()));
  std::vector<GradientPlace> flat = places_;
  for (GradientPlace& p : flat)
    p.gradient = flat_.const_data_ptr<float>() + flat_place_.at(p.offset), p.bfloat16 = false;
  flat_table_ = device_.segment_table(flat).to(ops_->device());
  kept_.clear();
}

// Where the gradients lie, and where each goes: to its parameter's place or, of several processes, into flat_.
at::Tensor DeviceTrainer::make_table() const {
  std::vector<GradientPlace> places = places_;
  if (processes_.communicator)
    for (GradientPlace& p : places) p.offset = flat_place_.at(p.offset);
  return device_.segment_table(places);
}

void DeviceTrainer::collect(const Bucket& b) {
  device_.collect(table_.narrow(0, b.table_begin, b.table_end - b.table_begin), flat_);
}

void DeviceTrainer::sum_by_nccl() {
  size_t next = 0;
  const auto sum = [&](const Bucket& b) { device_sum_->sum(flat_.narrow(0, b.begin, b.end - b.begin)); };
  find_places([&](const std::vector<ParameterGradient>& so_far) {
    if (next + 1 >= buckets_.size() || so_far.size() < buckets_[next].last) return;
    collect(buckets_[next]);
    queue_->beside([&] { sum(buckets_[next]); });
    ++next;
  });
  if (next > 0) queue_->join();
  for (; next < buckets_.size(); ++next) collect(buckets_[next]), sum(buckets_[next]);
  device_sum_->sum(loss_partial_);
}

// For processes that share a device, which NCCL refuses, and where there is no NCCL.
void DeviceTrainer::sum_on_hosts() {
  Communicator& c = *processes_.communicator;
  at::Tensor loss;
  queue_->run([&] {
    host_flat_.copy_(flat_, true);
    loss = loss_partial_.cpu();  // waits for both
  });
  queue_->wait();
  const float* own[] = {host_flat_.const_data_ptr<float>()};
  sum_in_order(c, c.size(), own, flat_.numel(), host_sum_.mutable_data_ptr<float>());
  const auto bytes = static_cast<size_t>(loss.nbytes());
  at::Tensor all = at::empty({c.size(), loss.numel()}, at::kDouble);
  c.all_gather(loss.const_data_ptr(), all.mutable_data_ptr(),
               std::vector<size_t>(static_cast<size_t>(c.size()), bytes));
  double* sum = loss.mutable_data_ptr<double>();
  const double* part = all.const_data_ptr<double>();
  for (int64_t i = 0; i < loss.numel(); ++i) {
    sum[i] = 0;
    for (int r = 0; r < c.size(); ++r) sum[i] += part[r * loss.numel() + i];
  }
  queue_->run([&] {
    flat_.copy_(host_sum_, true);
    loss_partial_.copy_(loss);
  });
}

}  // namespace htfm
