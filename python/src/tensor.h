// Tensors between Python and the library: torch's own objects, shared and never copied. What is no torch tensor is
// turned into one in Python (python/htfm/_arrays.py).
#pragma once

#include <ATen/core/Tensor.h>
#include <nanobind/nanobind.h>

namespace htfm::python {

/// Whether an object is a torch.Tensor; its tensor; and a new torch.Tensor.
bool is_tensor(PyObject* object);
at::Tensor tensor_of(PyObject* object);
PyObject* object_of(const at::Tensor& tensor);

}  // namespace htfm::python

namespace nanobind::detail {

/// None stands for an undefined tensor, both ways (the stub says torch.Tensor alone).
template <>
struct type_caster<at::Tensor> {
  NB_TYPE_CASTER(at::Tensor, const_name("torch.Tensor"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    if (source.is_none()) return true;
    if (!htfm::python::is_tensor(source.ptr())) return false;
    value = htfm::python::tensor_of(source.ptr());
    return true;
  }
  static handle from_cpp(const at::Tensor& tensor, rv_policy, cleanup_list*) noexcept {
    return tensor.defined() ? handle(htfm::python::object_of(tensor)) : none().release();
  }
};

}  // namespace nanobind::detail
