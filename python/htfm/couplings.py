"""The exact assignment, as a drop-in for optimal transport between batches.

>>> import numpy as np
>>> x0, x1 = np.array([[0.0], [5.0]]), np.array([[6.0], [1.0]])
>>> assignment(x0, x1)
array([1, 0])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from htfm import _core
from htfm._arrays import ArrayLike, real, share
from htfm._core import InputError

__all__ = ["assignment", "kinds", "linear_sum_assignment", "sample_plan"]


def assignment(x0: ArrayLike, x1: ArrayLike, p: float = 2.0) -> Any:
    """The row of x0 that goes with each row of x1 in the pairing of least total cost ``|x1 - x0|^p``, 1 <= p <= 16.

    A permutation of whole numbers, of the kind of x1 (and on its device: tensors of a device are assigned on the host).

    >>> import torch
    >>> assignment(torch.tensor([[0.0, 0.0], [1.0, 1.0]]), torch.tensor([[0.9, 1.0], [0.0, 0.1]]))
    tensor([1, 0])
    """
    a, _ = share(x0, "x0")
    b, restore = share(x1, "x1")
    if not a.shape[:1].numel() or not b.shape[:1].numel():
        raise InputError("[assignment] expected at least one point, got none")
    index = _core.assign(a, b, real(p, "p"))
    return restore(index if b.device.type == "cpu" else index.to(b.device))


def linear_sum_assignment(cost: ArrayLike) -> tuple[Any, Any]:
    """Rows and columns of the cheapest assignment of a square matrix of costs, as scipy's function of this name.

    >>> import numpy as np
    >>> linear_sum_assignment(np.array([[4.0, 1.0], [2.0, 8.0]]))
    (array([0, 1]), array([1, 0]))
    """
    c, restore = share(cost, "cost")
    columns, _, _ = _core.assign_costs(c)
    return restore(torch.arange(len(columns))), restore(columns)


def sample_plan(x0: ArrayLike, x1: ArrayLike, p: float = 2.0) -> tuple[Any, Any]:
    """Both batches with the rows of x0 put in the order of x1, as ``OTPlanSampler.sample_plan`` of torchcfm gives them.

    >>> import numpy as np
    >>> x0, _ = sample_plan(np.array([[0.0], [5.0]]), np.array([[6.0], [1.0]]))
    >>> x0.ravel()
    array([5., 0.])
    """
    x0, x1 = (x if hasattr(x, "shape") else np.asarray(x) for x in (x0, x1))
    return x0[assignment(x0, x1, p)], x1


def kinds() -> dict[str, str]:
    """The couplings that :class:`htfm.FlowMatcher` and configurations know, with a line each.

    >>> "pool" in kinds()
    True
    """
    return dict(_core.couplings())
