"""Synthetic sets with known tails, and data sets as the library reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from htfm import _core
from htfm._arrays import real, seed_of, whole

__all__ = ["names", "synthetic"]


def names() -> dict[str, str]:
    """The synthetic sets, with a line each.

    >>> "mixture2d" in names()
    True
    """
    return dict(_core.synthetic_sets())


def synthetic(
    name: str = "mixture2d",
    n: int = 1000,
    *,
    alpha: float = 1.5,
    dim: int = 2,
    nu: float = 3.0,
    seed: int | None = None,
    random_state: Any = None,
) -> np.ndarray:
    """n points of a synthetic law, float64: those of ``htfm data`` with the same seed.

    >>> synthetic("student", 4, dim=3, seed=1).shape
    (4, 3)
    """
    key = _core.Key(seed_of(seed, random_state, 0)).child("data")
    return _core.draw_synthetic(key, name, whole(n, "n"), real(alpha, "alpha"), whole(dim, "dim"), real(nu, "nu")).numpy()
