// Where the states of a batch of rows live while a solver moves them: on the host, or on a device. A solver names
// registers, each rows x dim values; register 0 is the state itself.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"

namespace htfm HTFM_PUBLIC {

/// v = velocity(x, t) for all rows, each at its own time; one call is one evaluation.
using Velocity = std::function<void(const double* x, const double* t, double* v)>;

/// What moving the states from noise to data took.
struct SolverRun {
  int64_t evaluations = 0;
  int64_t steps = 0;
  bool complete = true;  ///< false: dopri5 ran out of its budget or its steps became too small
};

class States {
 public:
  virtual ~States() = default;
  virtual int64_t rows() const = 0;
  /// One more register, to be written before it is read.
  virtual int add() = 0;
  /// v = velocity of x at a time for each row.
  virtual void evaluate(int x, const double* t, int v) = 0;
  /// One term of a sum: a register times `constant`, and times a factor for each row where given.
  struct Term {
    int from;
    double constant = 1;
    const double* factor = nullptr;
  };
  /// out = the sum of the terms; out may be one of them.
  virtual void combine(int out, std::span<const Term> terms) = 0;
  /// The largest over rows of the root mean square of e / (atol + rtol max(|a|, |b|)); rows that are not finite do not
  /// count.
  virtual double worst_error(int e, int a, int b, double atol, double rtol) = 0;
  /// out = normal numbers: row r is row first + r of the key's stream.
  virtual void noise(int out, Key key, int64_t first) = 0;
  /// Every row of out = these dim values.
  virtual void fill(int out, std::span<const double> row) = 0;
  /// The elements of x cut to [-bound, bound].
  virtual void clamp(int x, double bound) = 0;
};

class HostStates final : public States {
 public:
  /// Moves x (rows x dim) in place.
  HostStates(const Velocity& velocity, int64_t rows, int64_t dim, double* x);
  int64_t rows() const override { return rows_; }
  /// The values of a register.
  double* at(int k) { return registers_[static_cast<size_t>(k)]; }
  /// Takes back all registers but 0.
  void reset() { registers_.resize(1), own_.clear(); }
  int add() override;
  void evaluate(int x, const double* t, int v) override;
  void combine(int out, std::span<const Term> terms) override;
  double worst_error(int e, int a, int b, double atol, double rtol) override;
  void noise(int out, Key key, int64_t first) override;
  void fill(int out, std::span<const double> row) override;
  void clamp(int x, double bound) override;

 private:
  const Velocity& velocity_;
  int64_t rows_, dim_;
  std::vector<std::vector<double>> own_;
  std::vector<double*> registers_;
};

}  // namespace htfm
