// Input and output of a training step on a device: plain data, shared by host and kernels.
#pragma once

#include <cstdint>

namespace htfm {

/// One row of a batch: which data row it shows, and its place between source and data. The network sees data_in x_1 +
/// noise_in z and should give data_target x_1 + noise_target z, z being standard normal noise.
struct StepRow {
  int32_t index = -1;  ///< of the data row; -1: the row is not there
  int32_t flip = 0;    ///< mirrored
  float time = 0, data_in = 0, noise_in = 0, data_target = 0, noise_target = 0;
  float noise_bound = 3.4e38f;  ///< of each element of z
};

/// What changes from step to step beside the rows.
struct StepHeader {
  uint64_t noise_key = 0;
  double inverse_count = 0;    ///< 1 / (rows that are there times their size): of the mean
  uint64_t first_element = 0;  ///< of the first row in the noise of the whole batch
  float lr = 0;
  float unused = 0;
};

/// The optimiser's constants.
struct OptimiserConstants {
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, clip = 1, ema = 0.9999f;
  int32_t ema_warmup = 0;
  float muon_momentum = 0.95f;
};

/// What the device counts; read back where a log line is written.
struct StepState {
  int64_t updates = 0, skipped = 0, bad_in_a_row = 0, loss_count = 0;
  double loss_sum = 0, loss = 0, norm = 0;
  // Coefficients of the step under way.
  float gradient_scale = 0, step_size = 0, root_correction = 0, ema = 0, lr = 0;
  int32_t good = 0;
};

}  // namespace htfm
