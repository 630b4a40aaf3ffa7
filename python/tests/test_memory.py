"""10^8 values go in and come out without a copy: what Python allocates (tracemalloc) and what the process holds (RSS) are watched.

Each case prints what it took (pytest -rP); doc/python.md has the figures.
"""

from __future__ import annotations

import pathlib
import tracemalloc

import numpy as np
import pytest
import torch
from conftest import SMALL

import htfm

pytestmark = pytest.mark.slow
VALUES = 100_000_000
SLACK = 0.05 * 8 * VALUES  # a twentieth of the array: threads' own memory, never a copy


def status(name: str) -> int:
    """A line of /proc/self/status, in bytes."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name + ":"))


class Watch:
    """The most that was taken inside the block beside what was there before it."""

    def __enter__(self) -> Watch:
        tracemalloc.start()
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self.before = status("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        self.resident = status("VmHWM") - self.before
        self.python = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"resident {self.resident / 1e6:.1f} MB, Python {self.python / 1e6:.1f} MB")

    def took(self, most: float) -> bool:
        """Whether both stayed below, but for a little."""
        return self.resident < most + SLACK and self.python < SLACK


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    x = np.empty(VALUES)
    x.fill(0.25)  # every page is there
    return x


def test_the_watch_sees_a_copy(values):
    with Watch() as taken:
        copy = values.copy()
    assert taken.resident > 0.9 * copy.nbytes and taken.python > 0.9 * copy.nbytes


@pytest.mark.parametrize("kind", ["numpy", "float32", "torch", "dlpack"])
def test_paths_go_in(values, kind):
    paths = values.reshape(-1, 1000, 4)
    if kind == "float32":
        paths = values.view(np.float32).reshape(-1, 1000, 4)[: len(paths)]

    class Other:  # anything that speaks DLPack
        def __dlpack__(self, *args, **kwargs):
            return paths.__dlpack__(*args, **kwargs)

        def __dlpack_device__(self):
            return paths.__dlpack_device__()

    given = {"torch": torch.from_numpy(paths), "dlpack": Other()}.get(kind, paths)
    with Watch() as taken:
        found = htfm.signature(given, 2)
    assert found.shape == (len(paths), 20) and str(found.dtype).split(".")[-1] == str(paths.dtype)
    assert taken.took(0)


@pytest.mark.parametrize("kind", ["numpy", "torch", "pandas"])
def test_a_table_goes_in(values, kind):
    rows = values.reshape(-1, 4)
    given = {"numpy": rows, "torch": torch.from_numpy(rows)}.get(kind)
    if given is None:
        given = pytest.importorskip("pandas").DataFrame(rows, columns=list("abcd"), copy=False)
    with Watch() as taken:
        table, _, _ = htfm._frames.dataset(given)
    assert table.rows.data_ptr() == rows.ctypes.data
    assert taken.took(0)


def test_fields_go_in(values):
    xr = pytest.importorskip("xarray")
    fields = xr.DataArray(values.view(np.float32)[:VALUES].reshape(-1, 1, 100, 100), dims=("time", "channel", "y", "x"))
    with Watch() as taken:
        prepared = htfm.fields.from_xarray(fields)
    assert prepared.fields.data_ptr() == values.ctypes.data
    assert taken.took(0)


def test_clocks_come_out():
    clock = htfm.clocks.stable(1.7)
    with Watch() as taken:
        paths = clock.sample(VALUES // 201, seed=1).paths.numpy()
    assert taken.took(paths.nbytes)


@pytest.mark.parametrize("output", ["numpy", "torch", "pandas"])
def test_samples_come_out(output):
    if output == "pandas":
        pytest.importorskip("pandas")
    model = htfm.train({**SMALL, "net.width": 8, "net.blocks": 1}, seed=3)
    with Watch() as taken:
        drawn = model.sample(VALUES // 2, nfe=1, solver="euler", seed=1, output=output)
    address = drawn.data_ptr() if output == "torch" else np.asarray(drawn).ctypes.data
    assert drawn.shape == (VALUES // 2, 2) and address == model.last.samples.data_ptr()
    assert taken.took(8 * VALUES + model.last.area.nbytes)
