"""Arrays in and out without a copy: numpy, torch, and whatever speaks DLPack."""

from __future__ import annotations

import warnings
from typing import Any, Callable, overload

import numpy as np
import torch
import torch.utils.dlpack

from htfm import _core
from htfm._core import InputError

ArrayLike = Any  # numpy.ndarray, torch.Tensor, anything with __dlpack__, nested lists of numbers
Restore = Callable[[torch.Tensor], Any]


def _as_numpy(x: torch.Tensor) -> np.ndarray:
    return x.detach().cpu().numpy()


def _as_torch(x: torch.Tensor) -> torch.Tensor:
    return x


def share(x: ArrayLike, what: str = "array") -> tuple[torch.Tensor, Restore]:
    """A tensor on the memory of x, and what turns a result into x's own kind."""
    if isinstance(x, torch.Tensor):
        if x.layout != torch.strided or x.is_quantized or x.is_nested:
            kind = "nested" if x.is_nested else "quantised" if x.is_quantized else str(x.layout).removeprefix("torch.")
            raise InputError(f"[{what}] expected a dense tensor, got a {kind} one")
        return x, _as_torch
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in "biufcO":
            raise InputError(f"[{what}] expected an array of numbers, got one of {x.dtype}")
        if x.dtype == object:
            raise InputError(f"[{what}] expected an array of numbers, got one of Python objects: x.astype(float) makes numbers of them")
        if not x.dtype.isnative:
            x = x.astype(x.dtype.newbyteorder("="))
        if any(stride < 0 for stride in x.strides):
            x = np.ascontiguousarray(x)
        if x.flags.writeable:
            return torch.from_numpy(x), _as_numpy
        with warnings.catch_warnings():  # nothing here writes to it
            warnings.simplefilter("ignore", UserWarning)
            return torch.from_numpy(x), _as_numpy
    if hasattr(x, "__dlpack__"):
        return torch.utils.dlpack.from_dlpack(x), _as_torch
    try:
        values = np.asarray(x)
    except (TypeError, ValueError) as error:
        raise InputError(f"[{what}] expected an array of numbers, got {type(x).__name__}") from error
    if values.dtype == object and hasattr(x, "to_numpy"):  # a frame whose columns have several types of number, or Int64
        try:
            values = x.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError):
            pass
    if values.dtype == object or not (np.issubdtype(values.dtype, np.number) or values.dtype == bool):
        raise InputError(f"[{what}] expected an array of numbers, got {type(x).__name__}")
    return share(np.ascontiguousarray(values), what)


def share_floats(x: ArrayLike, what: str = "array") -> tuple[torch.Tensor, Restore]:
    """The same of float32 or float64: whole numbers become float64, half precision float32 and back."""
    tensor, restore = share(x, what)
    if tensor.dtype in (torch.float16, torch.bfloat16):
        own = tensor.dtype
        return tensor.to(torch.float32), lambda result: restore(result.to(own))
    if tensor.dtype in (torch.float32, torch.float64):
        return tensor, restore
    if tensor.is_complex():
        raise InputError(f"[{what}] expected real numbers, got complex ones")
    return tensor.to(torch.float64), restore


def whole(value: Any, what: str) -> int:
    """A whole number, also as a float that is one (1e6)."""
    if hasattr(value, "__index__") and not isinstance(value, (bool, np.ndarray, torch.Tensor)):
        return int(value)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)
    raise InputError(f"[{what}] expected a whole number, got {value!r}")


def real(value: Any, what: str) -> float:
    """A number, also as an array or a tensor of one."""
    if isinstance(value, (np.ndarray, torch.Tensor)) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return float(value)
    raise InputError(f"[{what}] expected a number, got {value!r}")


def set_thread_count(count: int) -> None:
    """Sets the threads that the library may use; 0 means one for each core.

    >>> set_thread_count(2)
    """
    _core.set_thread_count(whole(count, "threads"))


def flag(value: Any, what: str) -> bool:
    """True or False; nothing else is taken for one."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InputError(f"[{what}] expected True or False, got {value!r}")


def text(value: Any, what: str) -> str:
    if isinstance(value, str):
        return value
    raise InputError(f"[{what}] expected a text, got {value!r}")


def model_device(device: Any) -> str:
    """auto, cpu or cuda; also as torch names them."""
    name = str(device)
    return "cuda" if name == "cuda:0" else name


def device_name(device: str | torch.device | None) -> str:
    """A device of torch's that is there, by its name."""
    if device is None:
        return "cpu"
    try:
        there = torch.device(device)
        torch.empty(0, device=there)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise InputError(f"[device] expected a device of torch that is there, got '{device}': {str(error).splitlines()[0]}") from None
    return str(there)


def points(x: ArrayLike, what: str) -> torch.Tensor:
    """Rows x dimensions on the CPU; one dimension where x has one."""
    if hasattr(x, "to_numpy") and not isinstance(x, np.ndarray):
        x = x.to_numpy()
    tensor, _ = share_floats(x, what)
    tensor = tensor.detach().cpu()
    return tensor.reshape(-1, 1) if tensor.dim() < 2 else tensor.flatten(1)


@overload
def seed_of(seed: Any, random_state: Any, default: int) -> int: ...
@overload
def seed_of(seed: Any, random_state: Any, default: None = None) -> int | None: ...
def seed_of(seed: Any, random_state: Any, default: int | None = None) -> int | None:
    """The seed out of ``seed`` or scikit-learn's ``random_state``; not both."""
    if seed is not None and random_state is not None:
        raise InputError("[seed] expected seed or random_state, got both")
    given = seed if seed is not None else random_state
    if given is None:
        return default
    if isinstance(given, (np.random.RandomState, np.random.Generator)):
        draw = given.integers if isinstance(given, np.random.Generator) else given.randint
        return int(draw(0, 2**31 - 1))
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
        raise InputError(f"[seed] expected a whole number, got {given!r}")
    if not 0 <= int(given) < 2**63:
        raise InputError(f"[seed] expected a whole number from 0 to 2^63 - 1, got {given}")
    return int(given)
