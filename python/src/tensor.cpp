#include <torch/csrc/autograd/python_variable.h>

// Only functions of plain types: torch's header brings pybind11 along, which stays in this file.
namespace htfm::python {

bool is_tensor(PyObject* object) { return THPVariable_Check(object); }
at::Tensor tensor_of(PyObject* object) { return THPVariable_Unpack(object); }
PyObject* object_of(const at::Tensor& tensor) { return THPVariable_Wrap(tensor); }

}  // namespace htfm::python
