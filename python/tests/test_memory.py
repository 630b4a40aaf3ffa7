"""10^8 values go in and come out without a copy: what Python allocates (tracemalloc) and what the process holds (RSS) are watched."""

from __future__ import annotations

import pathlib
import tracemalloc

import numpy as np
import pytest
import torch

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


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    x = np.empty(VALUES)
    x.fill(0.25)  # every page is there
    return x


def test_the_watch_sees_a_copy(values):
    with Watch() as taken:
        copy = values.copy()
    assert taken.resident > 0.9 * copy.nbytes and taken.python > 0.9 * copy.nbytes


@pytest.mark.parametrize("kind", ["numpy", "torch", "dlpack"])
def test_paths_go_in(values, kind):
    paths = values.reshape(-1, 1000, 4)

    class Other:  # anything that speaks DLPack
        def __dlpack__(self, *args, **kwargs):
            return paths.__dlpack__(*args, **kwargs)

        def __dlpack_device__(self):
            return paths.__dlpack_device__()

    given = {"numpy": paths, "torch": torch.from_numpy(paths), "dlpack": Other()}[kind]
    with Watch() as taken:
        found = htfm.signature(given, 2)
    assert found.shape == (len(paths), 20)
    assert taken.resident < SLACK and taken.python < SLACK


def test_a_table_goes_in(values):
    rows = values.reshape(-1, 4)
    with Watch() as taken:
        table = htfm._core.rows_dataset(torch.from_numpy(rows), [], htfm._core.FileSpec("x"))
    assert table.rows.data_ptr() == rows.ctypes.data
    assert taken.resident < SLACK and taken.python < SLACK


def test_clocks_come_out():
    clock = htfm.clocks.stable(1.7)
    with Watch() as taken:
        paths = clock.sample(VALUES // 201, seed=1).paths.numpy()
    assert taken.resident < paths.nbytes + SLACK and taken.python < SLACK


def test_samples_come_out(model):
    with Watch() as taken:
        drawn = model.sample(VALUES // 2, nfe=1, solver="euler", seed=1)
    assert drawn.size == VALUES and drawn.ctypes.data == model.last.samples.data_ptr()
    areas = model.last.area.nbytes
    assert taken.resident < drawn.nbytes + areas + SLACK and taken.python < SLACK
