"""Docstrings and types are right. The pages are run by test/documents."""

from __future__ import annotations

import doctest
import importlib
import os
import pathlib
import pkgutil
import subprocess
import sys

import pytest

import htfm

MODULES = [m.name for m in pkgutil.iter_modules(htfm.__path__, "htfm.") if m.name not in ("htfm.__main__", "htfm._core")]


@pytest.mark.parametrize("name", ["htfm", *MODULES])
def test_docstrings(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.failed == 0


def test_public_functions_have_an_example():
    """Of those that can run without files of the user's."""
    without = {"fields.open", "fields.prepare", "fields.evaluate", "metrics.images"}
    for module in (htfm.clocks, htfm.config, htfm.couplings, htfm.data, htfm.fields, htfm.metrics, htfm.baselines):
        for name, value in vars(module).items():
            if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__ and callable(value):
                where = f"{module.__name__.split('.')[1]}.{name}"
                assert where in without or ">>>" in (value.__doc__ or "") or where == "clocks.of", where


@pytest.mark.slow
def test_types(source, tmp_path):
    package = pathlib.Path(htfm.__file__).parent
    assert (package / "py.typed").exists() and (package / "_core.pyi").exists()
    pytest.importorskip("mypy")
    out = subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(source / "pyproject.toml"), "--cache-dir",
                          str(pathlib.Path(os.environ.get("HTFM_MYPY_CACHE", tmp_path)))],
                         capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(package.parent)})
    assert out.returncode == 0, out.stdout + out.stderr
