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

// A message of the library as htfm/_words.py puts it: options of the program are arguments here.
std::string in_python(const char* text) {
  try {
    return nb::cast<std::string>(nb::module_::import_("htfm._words").attr("in_python")(text));
  } catch (const std::exception&) {
    return text;
  }
}

template <class Kind>
void translate(const std::exception_ptr& thrown, void* type) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Kind& e) {
    PyErr_SetString(static_cast<PyObject*>(type), in_python(e.what()).c_str());
  }
}

template <class Kind>
void add_exception(nb::module_& m, const char* name, PyObject* base, const char* doc) {
  const nb::exception<Kind> type(m, name, base);
  type.attr("__doc__") = doc;
  nb::register_exception_translator(&translate<Kind>, type.ptr());
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
  add_exception<Error>(m, "Error", PyExc_RuntimeError, "A failure that the user did not cause.");
  add_exception<InputError>(m, "InputError", PyExc_ValueError,
                            "Bad input, in one line: what was expected, what was found.");
  add_exception<Interrupted>(m, "Interrupted", PyExc_KeyboardInterrupt,
                             "Ended on request (Ctrl-C); what was done so far is kept where the text says.");

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
