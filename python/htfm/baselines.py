"""The methods that flow matching is compared with: LIM, DLPM, DLIM, t-Flow, t-EDM, diffusion under a clock.

>>> "dlpm" in methods()
True
"""

from __future__ import annotations

from typing import Any, Mapping

from htfm import _core
from htfm._core import InputError
from htfm._fit import train as _train
from htfm._model import Model

__all__ = ["methods", "train"]


def methods() -> dict[str, str]:
    """Every baseline by its name in a configuration, with a line each.

    >>> "htfm" in methods()
    False
    """
    return {name: summary for name, summary in _core.methods() if name != "htfm"}


def train(method: str, data: Any = None, config: Any = None, **arguments: Any) -> Model:
    """Trains a baseline as :func:`htfm.train` does, on the same network, batches and scores.

    >>> import htfm
    >>> model = htfm.baselines.train("dlpm", config={"data.n": 200, "train.epochs": 1, "clock.family": "stable",
    ...                                               "clock.alpha": 1.7})
    >>> model.sample(3, seed=1, nfe=5).shape
    (3, 2)
    """
    if method not in methods():
        raise InputError(f"[method] expected one of {', '.join(methods())}; got '{method}'")
    settings: Mapping[str, Any] = arguments.pop("settings", None) or {}
    return _train(config, data, settings={"method": method, **settings}, **arguments)
