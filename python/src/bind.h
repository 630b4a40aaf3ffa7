// What the files of the extension share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "htfm/htfm.h"
#include "python/src/tensor.h"

namespace htfm::python {

namespace nb = nanobind;
using namespace nb::literals;

/// Releases Python's lock while the library works.
using Unlocked = nb::call_guard<nb::gil_scoped_release>;

/// Whether a signal (Ctrl-C) has come since; takes the lock.
bool interrupted();
/// Throws Interrupted where one has come: for callbacks of sampling.
void check_interrupted();

/// Ctrl-C while a training runs: between steps, or inside the user's own callback.
class SignalWatch {
 public:
  /// Calls a function of the user's; a KeyboardInterrupt in it is kept until the next step, whose checkpoint is
  /// written.
  template <class Function, class... Args>
  void call(const Function& function, Args&&... args) {
    try {
      if (function) function(std::forward<Args>(args)...);
    } catch (nb::python_error& e) {
      const nb::gil_scoped_acquire lock;
      if (!e.matches(PyExc_KeyboardInterrupt)) throw;
      came_ = true;
    }
  }
  bool stop() { return came_ || (came_ = interrupted()); }
  /// After the last step there is none to wait for.
  void check() const {
    if (came_) throw Interrupted("[train] ended by a signal after the last step");
  }

 private:
  bool came_ = false;
};

void bind_clocks(nb::module_& m);
void bind_signatures(nb::module_& m);
void bind_config(nb::module_& m);
void bind_data(nb::module_& m);
void bind_model(nb::module_& m);
void bind_matcher(nb::module_& m);
void bind_rare(nb::module_& m);
void bind_fit(nb::module_& m);
void bind_tails(nb::module_& m);
void bind_risk(nb::module_& m);
void bind_metrics(nb::module_& m);
void bind_fields(nb::module_& m);
void bind_images(nb::module_& m);

}  // namespace htfm::python
