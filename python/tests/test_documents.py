"""Docstrings and types are right. The pages are run by test/documents."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import pathlib
import pkgutil
import subprocess
import sys

import pytest

import htfm

MODULES = [m.name for m in pkgutil.iter_modules(htfm.__path__, "htfm.") if m.name not in ("htfm.__main__", "htfm._core")]


SLOW = ("htfm._fit", "htfm._model", "htfm._rare", "htfm._risk", "htfm._sampling", "htfm._tails")  # their examples train, sample and resample


@pytest.mark.parametrize("name", ["htfm", *(pytest.param(m, marks=pytest.mark.slow) if m in SLOW else m for m in MODULES)])
def test_docstrings(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.failed == 0


def public(module):
    """What a module gives its users, and the methods of its classes, by name."""
    names = getattr(module, "__all__", None) or [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__]
    for name in names:
        value = getattr(module, name)
        if name.startswith("_") or not callable(value) or value.__module__ == "htfm._core":
            continue
        yield f"{module.__name__}.{name}", value
        for inner, method in inspect.getmembers(value, inspect.isfunction) if inspect.isclass(value) else ():
            if not inner.startswith("_"):
                yield f"{module.__name__}.{name}.{inner}", method


def test_public_functions_have_an_example():
    modules = (htfm, htfm.clocks, htfm.config, htfm.couplings, htfm.data, htfm.fields, htfm.metrics, htfm.baselines)
    found = dict(pair for module in modules for pair in public(module))
    assert len(found) > 80  # the reading works
    assert not [name for name, value in found.items() if ">>>" not in (value.__doc__ or "")]


@pytest.mark.slow
def test_types(source, tmp_path):
    package = pathlib.Path(htfm.__file__).parent
    assert (package / "py.typed").exists() and (package / "_core.pyi").exists()
    pytest.importorskip("mypy")
    out = subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(source / "pyproject.toml"), "--cache-dir",
                          str(pathlib.Path(os.environ.get("HTFM_MYPY_CACHE", tmp_path)))],
                         capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(package.parent)})
    assert out.returncode == 0, out.stdout + out.stderr
