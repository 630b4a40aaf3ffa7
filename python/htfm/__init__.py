"""Generative models of data with rare extremes: heavy-tailed flow matching under random clocks.

>>> import htfm, numpy as np
>>> x = htfm.data.synthetic("student", 500, nu=3.0, seed=1)
>>> model = htfm.fit(x, settings={"train.epochs": 2, "sample.solver": "euler", "sample.nfe": 2}, compare=False)
>>> model.sample(3, seed=1).shape
(3, 2)
"""

from htfm._torch import check_torch as _check_torch

_check_torch()

from htfm import baselines, clocks, config, couplings, data, fields, metrics  # noqa: E402
from htfm._core import Error, InputError, Interrupted, thread_count  # noqa: E402
from htfm._core import version as __version__  # noqa: E402
from htfm._arrays import set_thread_count  # noqa: E402
from htfm._fit import fit, load, train, trust_torchscript  # noqa: E402
from htfm._matcher import FlowMatcher, solve, solvers  # noqa: E402
from htfm._model import Model  # noqa: E402
from htfm._risk import Risk, risk  # noqa: E402
from htfm._signature import chen, logsignature, signature  # noqa: E402
from htfm._tails import Tail, Tails, tails  # noqa: E402

__all__ = [
    "Error",
    "FlowMatcher",
    "InputError",
    "Interrupted",
    "Model",
    "Risk",
    "Tail",
    "Tails",
    "__version__",
    "baselines",
    "chen",
    "clocks",
    "config",
    "couplings",
    "data",
    "fields",
    "fit",
    "load",
    "logsignature",
    "metrics",
    "risk",
    "set_thread_count",
    "signature",
    "solve",
    "solvers",
    "tails",
    "thread_count",
    "train",
    "trust_torchscript",
]
