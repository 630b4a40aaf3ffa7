"""The notebooks of example/python run."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytestmark = pytest.mark.slow
NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parents[2] / "example/python").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda f: f.stem)
def test_notebook(file, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    book = nbformat.read(file, as_version=4)
    nbclient.NotebookClient(book, timeout=900, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()


def test_there_are_some():
    assert len(NOTEBOOKS) >= 4
