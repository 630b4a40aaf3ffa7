// Choice of a clock from the data: the family, its parameter, and an explanation.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/clock/clock.h"
#include "htfm/tail/diagnosis.h"

namespace htfm HTFM_PUBLIC {

/// A clock and the reasons for it, in sentences for the log and the report; none where the configuration names the law
/// itself.
struct ChosenClock {
  ClockSpec spec;
  std::string explanation = {};
  bool fits_all = false;  ///< the source's law fits all rows, not only the tail of their size
};

/// The law of the clock that a configuration asks for, given the rows that the model will see (n x dim, float32 or
/// float64): `auto` follows the diagnosis of their tails, `fitted` the law of their radius; any other family stays as
/// it is.
ChosenClock choose_clock(const ClockSpec& asked, const at::Tensor& rows);

/// The clock that a diagnosis speaks for: deterministic where tails are light, inverse-gamma with the tail's index
/// where they are heavy. `rows`: those that were diagnosed. Where they are given and a Student-t law fits them, all of
/// them say how heavy the tail is, and the source is that law; elsewhere the largest rows decide.
ChosenClock suggest_clock(const Diagnosis& diagnosis, int grid = 200, const at::Tensor& rows = {});

}  // namespace htfm
