"""Signatures and logsignatures of paths, differentiable in torch."""

from __future__ import annotations

from typing import Any, TypeAlias

import torch

from htfm import _core
from htfm._arrays import ArrayLike, share, share_floats, whole
from htfm._core import InputError

_Options: TypeAlias = "tuple[str, bool, torch.Tensor | None, bool]"


class _FirstOrder(torch.autograd.Function):
    """A gradient that is asked for its own: without this torch would take it for a constant."""

    @staticmethod
    def forward(ctx: Any, gradient: torch.Tensor, paths: torch.Tensor) -> torch.Tensor:
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, None]:
        raise InputError("[signature] expected gradients of the first order, got a gradient of a gradient")


class _Signature(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, paths: torch.Tensor, depth: int, basis: str | None, options: _Options) -> torch.Tensor:
        ctx.save_for_backward(paths)
        ctx.what = depth, basis, options
        return _compute(paths, depth, basis, options)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, None, None, None]:
        (paths,) = ctx.saved_tensors
        depth, basis, options = ctx.what
        gradient = gradients[0].contiguous()
        if basis is None:
            out = _core.signature_gradient(paths, depth, gradient, *options)
        else:
            out = _core.logsignature_gradient(paths, depth, basis, gradient, *options)
        return _FirstOrder.apply(out, paths) if torch.is_grad_enabled() else out, None, None, None  # type: ignore[no-untyped-call]


def _compute(paths: torch.Tensor, depth: int, basis: str | None, options: _Options) -> torch.Tensor:
    if basis is None:
        return _core.signature(paths, depth, *options)
    return _core.logsignature(paths, depth, basis, *options)


def _without_gradient(x: torch.Tensor, what: str) -> torch.Tensor:
    if x.requires_grad and torch.is_grad_enabled():
        raise InputError(f"[{what}] expected values without a gradient, since none would reach them, got some that ask for one: .detach()")
    return x


def _run(
    paths: ArrayLike,
    depth: int,
    basis: str | None,
    convention: str,
    augment_time: bool,
    times: ArrayLike | None,
    time_first: bool,
) -> Any:
    x, restore = share_floats(paths, "paths")
    grid = None if times is None else _without_gradient(share_floats(times, "times")[0], "times")
    options = (convention, augment_time, grid, time_first)
    depth = whole(depth, "depth")
    if x.requires_grad and torch.is_grad_enabled():
        return restore(_Signature.apply(x, depth, basis, options))  # type: ignore[no-untyped-call]
    return restore(_compute(x, depth, basis, options))


def signature(
    paths: ArrayLike,
    depth: int,
    *,
    convention: str = "linear",
    augment_time: bool = False,
    times: ArrayLike | None = None,
    time_first: bool = False,
) -> Any:
    """Levels 1..depth of the signatures of paths n x points x channels, each level alphabetically: n x size.

    ``convention``: what happens between two points: linear, jump, leadlag or constant. ``augment_time`` puts time in
    front as a channel, uniform on [0, 1] or ``times``; ``time_first``: channel 0 is time already. The result is of the
    kind and type of ``paths``. Torch tensors that ask for it get gradients (of the first order).

    >>> import numpy as np
    >>> signature(np.array([[[0.0, 0.0], [1.0, 2.0]]]), depth=2)
    array([[1. , 2. , 0.5, 1. , 1. , 2. ]])
    """
    return _run(paths, depth, None, convention, augment_time, times, time_first)


def logsignature(
    paths: ArrayLike,
    depth: int,
    *,
    basis: str = "words",
    convention: str = "linear",
    augment_time: bool = False,
    times: ArrayLike | None = None,
    time_first: bool = False,
) -> Any:
    """The logsignatures in the order of the Lyndon words: coefficients of the words, or coordinates in their brackets
    (``basis="brackets"``). The other arguments are those of :func:`signature`.

    >>> import numpy as np
    >>> logsignature(np.array([[[0.0, 0.0], [1.0, 2.0]]]), depth=2)
    array([[1., 2., 0.]])
    """
    return _run(paths, depth, basis, convention, augment_time, times, time_first)


def chen(first: ArrayLike, second: ArrayLike, channels: int, depth: int) -> Any:
    """The signatures of concatenated paths out of those of the first and of the second ones (Chen's identity).

    >>> import numpy as np
    >>> paths = np.random.default_rng(0).normal(size=(1, 9, 2))
    >>> whole = signature(paths, 3)
    >>> parts = chen(signature(paths[:, :5], 3), signature(paths[:, 4:], 3), 2, 3)
    >>> bool(np.allclose(whole, parts))
    True
    """
    a, restore = share_floats(first, "first")
    b, _ = share_floats(second, "second")
    _without_gradient(a, "first"), _without_gradient(b, "second")
    return restore(_core.chen(a, b, whole(channels, "channels"), whole(depth, "depth")))
