// A block of samples on the CPU.
#pragma once

#include "htfm/model/model.h"
#include "htfm/sample/sample_states.h"

namespace htfm {

class CpuStates final : public SampleStates {
 public:
  /// `weights`: of the network, which must outlive it.
  CpuStates(const Model& model, const float* weights, int64_t rows);

  void to_angular() override;
  void from_angular() override;
  void upload(int to, const double* x) override;
  void download(int from, double* x) override;

  int add() override { return registers_.add(); }
  void evaluate(int x, const double* t, int v) override { registers_.evaluate(x, t, v); }
  void combine(int out, std::span<const Term> terms) override { registers_.combine(out, terms); }
  double worst_error(int e, int a, int b, double atol, double rtol) override {
    return registers_.worst_error(e, a, b, atol, rtol);
  }
  void noise(int out, Key key, int64_t first) override { registers_.noise(out, key, first); }
  void fill(int out, std::span<const double> row) override { registers_.fill(out, row); }
  void clamp(int x, double bound) override { registers_.clamp(x, bound); }

 protected:
  void reset(const at::Tensor& feature, const at::Tensor& without) override;
  void draw_source(Key key, const at::Tensor& area, int64_t first) override;

 private:
  void velocity(const double* x, const double* t, double* v);
  void evaluate_network(Evaluator& network, float* output);

  const Network& definition_;
  const float* weights_;
  at::Tensor feature_, without_;
  std::unique_ptr<Evaluator> network_, unguided_;  // the second without the condition, where there is guidance
  std::vector<double> state_;
  std::vector<float> time_, input_, output_, unguided_output_;
  std::vector<Coefficients> coefficients_;
  Velocity velocity_;
  HostStates registers_;
};

}  // namespace htfm
