// What a clock computes for its grid, made when clocks are first drawn: a grid may have a million steps, and a
// configuration is checked by making its clock.
#pragma once

#include <mutex>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Values that are made once, by whichever thread asks first.
class WhenDrawn {
 public:
  template <class Make>
  const std::vector<double>& operator()(Make make) const {
    std::call_once(once_, [&] { values_ = make(); });
    return values_;
  }

 private:
  mutable std::once_flag once_;
  mutable std::vector<double> values_;
};

}  // namespace htfm
