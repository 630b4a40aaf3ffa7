"""What the tests share."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import htfm
from htfm.__main__ import program as program_path
from htfm._torch import torch_folder

htfm.set_thread_count(2)
SMALL = {"data.n": 600, "train.epochs": 2, "train.batch": 200, "clock.family": "stable", "clock.alpha": 1.7,
         "sample.nfe": 4}  # the solver is fitted to so many steps
# A fit of a small table: a network and a sampling that take no time, and clocks on a short grid.
TINY = {"train.epochs": 1, "net.width": 16, "net.blocks": 1, "sample.solver": "euler", "sample.nfe": 2, "clock.grid": 10}
QUICK = {"settings": TINY, "compare": False, "samples": 50}


@pytest.fixture(scope="session")
def source() -> pathlib.Path:
    """The repository."""
    return pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def program():
    """Runs the package's program; by Python as users do (``python -m htfm``), or itself, which takes a second less."""

    def run(*arguments: object, expect: int = 0, by_python: bool = False) -> subprocess.CompletedProcess[str]:
        what = [sys.executable, "-m", "htfm"] if by_python else [str(program_path())]
        folder = torch_folder()
        assert folder is not None
        out = subprocess.run([*what, *map(str, arguments)], capture_output=True, text=True, check=False,
                             env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
                                  "LD_LIBRARY_PATH": str(folder / "lib")})
        assert out.returncode == expect, out.stderr
        return out

    return run


@pytest.fixture(scope="session")
def table() -> np.ndarray:
    """Heavy tails in three columns."""
    return np.random.default_rng(5).standard_t(3, size=(400, 3))


@pytest.fixture(scope="session")
def model() -> htfm.Model:
    """A small trained model."""
    return htfm.train(SMALL, seed=3)
