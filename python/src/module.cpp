// The extension module htfm._core: the library's public functions, one to one. What users call is in python/htfm.
#include <c10/util/Exception.h>

#include "python/src/bind.h"

namespace htfm::python {

bool interrupted() {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() == 0) return false;
  PyErr_Clear();
  return true;
}

void check_interrupted() {
  if (interrupted()) throw Interrupted("[sample] ended by a signal");
}

namespace {

// torch's own errors as torch raises them in Python: the message, without the stack of C++ functions behind it.
void translate_torch_error(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const c10::Error& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what_without_backtrace());
  }
}

}  // namespace

}  // namespace htfm::python

NB_MODULE(_core, m) {
  using namespace htfm;
  using namespace htfm::python;
  // An object that is alive when Python ends (a global of a worker process) is no leak of ours.
  nb::set_leak_warnings(false);
  m.doc() = "The C++ library of htfm, one to one.";
  m.attr("version") = HTFM_VERSION;
  m.attr("torch_version") = HTFM_TORCH_VERSION;
  nb::register_exception_translator(translate_torch_error);
  nb::exception<Error>(m, "Error", PyExc_RuntimeError).attr("__doc__") = "A failure that the user did not cause.";
  nb::exception<InputError>(m, "InputError", PyExc_ValueError).attr("__doc__") =
      "Bad input, in one line: what was expected, what was found.";
  nb::exception<Interrupted>(m, "Interrupted", PyExc_KeyboardInterrupt).attr("__doc__") =
      "Ended on request (Ctrl-C); what was done so far is kept where the text says.";

  m.def("thread_count", &thread_count, "Threads that the library may use.");
  m.def("set_thread_count", &set_thread_count, "count"_a, "Sets them; 0 means one for each core.");
  bind_clocks(m);
  bind_signatures(m);
  bind_config(m);
  bind_data(m);
  bind_model(m);
  bind_matcher(m);
  bind_rare(m);
  bind_fit(m);
  bind_tails(m);
  bind_risk(m);
  bind_metrics(m);
  bind_fields(m);
  bind_images(m);
}
