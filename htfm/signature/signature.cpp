#include "htfm/signature/signature.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <type_traits>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/registry.h"
#include "htfm/signature/input.h"
#include "htfm/signature/signature_kernels.h"

namespace htfm {

namespace {

// Coordinates updated between two looks at the pool: a task is worth a few microseconds more than its start.
constexpr int64_t kTaskWork = 1 << 18;

// Level 1 of a linear path: from its first point to its last one.
template <class T>
void run_level_one(const at::Tensor& paths, at::Tensor& out) {
  const T* from = paths.const_data_ptr<T>();
  T* to = out.mutable_data_ptr<T>();
  const int64_t channels = paths.size(2), step = paths.size(1) * channels, last = step - channels;
  constexpr int64_t kGrain = 1 << 14;
  parallel_ranges(paths.size(0), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t c = 0; c < channels; ++c) to[i * channels + c] = from[i * step + last + c] - from[i * step + c];
  });
}

template <class T>
void run(const at::Tensor& paths, int depth, const LogPlan* plan, const PathOptions& options, const Moves& moves,
         at::Tensor& out) {
  if (depth == 1 && moves.count == 1 && plan == nullptr && !options.augment_time) return run_level_one<T>(paths, out);
  const SignatureKernels& kernel = kernels<SignatureKernels>();
  SignatureJob<T> job{};
  job.paths = paths.const_data_ptr<T>();
  job.n = paths.size(0);
  job.points = paths.size(1);
  job.channels = static_cast<int>(paths.size(2));
  std::vector<T> times;
  if (options.augment_time) {
    const std::vector<double> grid = time_grid(job.points, options.times);
    times.assign(grid.begin(), grid.end());
    job.times = times.data();
  }
  job.moves = moves.count;
  job.width = moves.width;
  job.source = moves.source.data();
  job.waits = moves.waits.data();
  job.depth = depth;
  job.plan = plan;
  job.out = out.mutable_data_ptr<T>();
  job.columns = out.size(1);

  const int64_t lanes = std::is_same_v<T, float> ? kernel.lanes_f32 : kernel.lanes_f64;
  const int64_t work_bytes = kernel.work_bytes(job.width, depth, plan == nullptr ? 0 : plan->words);
  const int64_t work = lanes * job.points * job.moves * signature_size(job.width, depth);
  const int64_t grain = std::max<int64_t>(1, kTaskWork / work);
  parallel_ranges((job.n + lanes - 1) / lanes, grain, [&](int64_t begin, int64_t end) {
    constexpr size_t alignment = 64;
    const auto memory = std::make_unique<std::byte[]>(static_cast<size_t>(work_bytes) + alignment);
    void* aligned = memory.get();
    size_t space = static_cast<size_t>(work_bytes) + alignment;
    std::align(alignment, static_cast<size_t>(work_bytes), aligned, space);
    for (int64_t block = begin; block < end; ++block) {
      if constexpr (std::is_same_v<T, float>) {
        kernel.block_f32(job, block * lanes, aligned);
      } else {
        kernel.block_f64(job, block * lanes, aligned);
      }
    }
  });
}

at::Tensor compute(const char* where, const at::Tensor& paths, int depth, const LogBasis* basis,
                   const PathOptions& options) {
  const at::Tensor input = checked_paths(where, paths, options.augment_time);
  if (depth < 1 || depth > kMaxDepth)
    throw InputError("[{}] expected a depth of 1 to {}, got {}", where, kMaxDepth, depth);
  if (options.time_first && options.augment_time)
    throw InputError("[{}] expected either time_first or augment_time, got both", where);
  if (options.times.defined() && !options.augment_time)
    throw InputError("[{}] expected times only together with augment_time, got times alone", where);
  const Moves moves = options.moves(static_cast<int>(input.size(2)));
  LogPlan plan{};
  if (basis != nullptr) {
    const LyndonBasis& lyndon = LyndonBasis::get(moves.width, depth);
    plan = {lyndon.size(), lyndon.lengths().data(), lyndon.places().data(), nullptr, nullptr, nullptr};
    if (*basis == LogBasis::brackets) {
      const LyndonBasis::Rows& rows = lyndon.bracket_rows();
      plan.row_begin = rows.begin.data();
      plan.column = rows.column.data();
      plan.value = rows.value.data();
    }
  }
  const LogPlan* plan_or_null = basis == nullptr ? nullptr : &plan;
  at::Tensor out =
      at::empty({input.size(0), basis == nullptr ? signature_size(moves.width, depth) : plan.words}, input.options());
  if (input.scalar_type() == at::kFloat) {
    run<float>(input, depth, plan_or_null, options, moves, out);
  } else {
    run<double>(input, depth, plan_or_null, options, moves, out);
  }
  return out;
}

}  // namespace

LogBasis log_basis_by_name(std::string_view name) {
  struct Entry {
    std::string_view name;
    LogBasis basis;
  };
  static constexpr Entry bases[] = {{"words", LogBasis::words}, {"brackets", LogBasis::brackets}};
  return find_named(bases, name, "basis of the logsignature").basis;
}

Moves PathOptions::moves(int channels) const {
  const bool has_time =
      augment_time || time_first || convention == Convention::jump || convention == Convention::constant;
  return convention_moves(convention, channels + (augment_time ? 1 : 0), has_time);
}

at::Tensor signature(const at::Tensor& paths, int depth, const PathOptions& options) {
  return compute("signature", paths, depth, nullptr, options);
}

at::Tensor logsignature(const at::Tensor& paths, int depth, LogBasis basis, const PathOptions& options) {
  return compute("logsignature", paths, depth, &basis, options);
}

at::Tensor chen(const at::Tensor& first, const at::Tensor& second, int channels, int depth) {
  const int64_t size = signature_size(channels, depth);
  for (const at::Tensor& side : {first, second}) {
    const bool right = side.defined() && side.device().is_cpu() &&
                       (side.scalar_type() == at::kFloat || side.scalar_type() == at::kDouble) && side.dim() == 2 &&
                       side.size(1) == size;
    if (!right)
      throw InputError("[chen] expected float32 or float64 signatures n x {} on the CPU, got {}", size, describe(side));
  }
  if (first.size(0) != second.size(0) || first.scalar_type() != second.scalar_type()) {
    throw InputError("[chen] expected two batches of one size and type, got {} and {}", describe(first),
                     describe(second));
  }
  const at::Tensor left = first.contiguous(), right = second.contiguous();
  at::Tensor out = at::empty_like(left);
  const SignatureKernels& kernel = kernels<SignatureKernels>();
  parallel_ranges(left.size(0), std::max<int64_t>(1, kTaskWork / (size * depth)), [&](int64_t begin, int64_t end) {
    if (left.scalar_type() == at::kFloat) {
      const ChenJob<float> job{left.const_data_ptr<float>(),
                               right.const_data_ptr<float>(),
                               out.mutable_data_ptr<float>(),
                               left.size(0),
                               channels,
                               depth};
      kernel.chen_f32(job, begin, end);
    } else {
      const ChenJob<double> job{left.const_data_ptr<double>(),
                                right.const_data_ptr<double>(),
                                out.mutable_data_ptr<double>(),
                                left.size(0),
                                channels,
                                depth};
      kernel.chen_f64(job, begin, end);
    }
  });
  return out;
}

}  // namespace htfm
