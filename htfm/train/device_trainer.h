// Training on a device: the whole step is recorded once and replayed; the host only says which rows meet which clocks.
#pragma once

#include <map>

#include "htfm/comm/device_sum.h"
#include "htfm/device/device.h"
#include "htfm/method/flow_matching.h"
#include "htfm/net/unet_pass.h"
#include "htfm/train/optimiser.h"
#include "htfm/train/training_processes.h"

namespace htfm {

/// What is copied to and from the device with every step, beside the plan.
struct DeviceTraffic {
  bool noise = false;   ///< the plan's points, instead of noise that the device draws
  bool rows = false;    ///< the plan's data, instead of rows of the whole set
  bool errors = false;  ///< the rows' errors come back
};

class DeviceTrainer {
 public:
  /// Uploads a state and the data (n x dim float32, channels x height x width each).
  DeviceTrainer(const Network& network, const OptimiserState& state, const StepState& counters, const at::Tensor& rows,
                const TrainConfig& config, const LossSpec& loss, DeviceTraffic traffic,
                const TrainingProcesses& processes = {});
  ~DeviceTrainer();

  /// Starts one step on these rows, those of all processes, of which it takes its own: flip[i] says whether row i is
  /// mirrored (empty: none). Returns before it is done.
  void step(const PairPlan& plan, std::span<const int64_t> index, std::span<const uint8_t> flip, double lr);
  /// The mean squared error of each row of this process in the last step, padding rows included; waits for it. Needs
  /// DeviceTraffic::errors.
  std::vector<double> row_errors();
  /// What the network with the averaged weights gives for these pairs, n x dim on the host.
  at::Tensor predict(const TrainingPairs& pairs);
  /// Counters up to the last step; waits for it.
  StepState counters();
  void reset_loss();
  /// Weights and moments back into the model's state.
  void download(OptimiserState& state);
  double peak_bytes() const;
  /// One gradient without recording, marked for a profiler.
  void profile();
  /// Waits for all steps.
  void wait();

 private:
  struct Slot;
  // Gradients that several processes add up at a time: the last of them in places_, where their values begin and end in
  // flat_, and their lines in table_.
  struct Bucket {
    size_t last = 0;
    int64_t begin = 0, end = 0, table_begin = 0, table_end = 0;
  };
  void record();
  void put(const StepState& counters);
  void fill(const PairPlan& plan, std::span<const int64_t> index, std::span<const uint8_t> flip, double lr, Slot& slot);
  UNetGradient gradient(const GradientProgress& progress = {});
  void find_places(const GradientProgress& progress = {});  // takes a gradient and says where its parts lie
  void check_places() const;
  void make_directions();
  void add_direction(GradientPlace& place) const;
  void orthogonalise_directions();
  void update();
  void make_buckets();
  at::Tensor make_table() const;
  void collect(const Bucket& bucket);
  void sum_by_nccl();  // a gradient, and its sum over the processes, part by part while the next part is computed
  void step_without_recording();
  void sum_on_hosts();
  Share own_rows(int64_t data_rows) const;

  const UNetLayers& layers_;
  const ParameterLayout& layout_;
  const ImageDevice& device_;
  TrainConfig config_;
  LossSpec loss_;
  int64_t batch_;  // rows of the network: each data row as often as the loss wants it
  std::vector<int64_t> image_;
  DevicePrecision precision_;
  std::unique_ptr<ImageOps> ops_;
  std::unique_ptr<DeviceQueue> queue_;
  DeviceTraffic traffic_;
  at::Tensor data_, step_, noise_, errors_, parameters_, ema_, first_, second_, bf16_parameters_, state_, loss_partial_,
      norm_partial_, table_, host_table_;
  StepTensors step_tensors_;
  at::Tensor feature_;
  std::vector<MatrixGroup> matrices_;                         // Muon's; none for AdamW
  std::vector<at::Tensor> directions_;                        // of each group, count x rows x columns
  std::map<int64_t, std::pair<float*, float>> direction_of_;  // of the parameter at this offset, and its scale
  std::vector<GradientPlace> places_;
  std::vector<at::Tensor> kept_;  // what the recording points at
  TrainingProcesses processes_;
  std::unique_ptr<DeviceSum> device_sum_;  // by NCCL
  at::Tensor flat_, flat_table_;           // of several processes: all gradients in one array, and its table
  std::vector<Bucket> buckets_;            // its parts, in the order in which a backward pass has them
  std::map<int64_t, int64_t> flat_place_;  // of the parameter at this offset
  at::Tensor host_flat_, host_sum_;        // pinned, where the hosts add up
  int recording_ = -1, second_recording_ = -1;
  std::vector<Slot> slots_;
  int64_t steps_ = 0;
};

/// Milliseconds of one evaluation of a recorded forward pass.
double time_evaluation(const Network& network, const OptimiserState& state, const std::string& precision, int64_t rows,
                       int64_t rounds, bool profile = false);

}  // namespace htfm
