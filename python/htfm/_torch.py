"""Which torch is there: the library is built for one minor version of it, and uses the user's own copy."""

from __future__ import annotations

import importlib.util
import pathlib

REQUIRED = "2.11"


def torch_folder() -> pathlib.Path | None:
    """The folder of the torch that Python would import, found without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None
    return pathlib.Path(next(iter(spec.submodule_search_locations)))


def torch_version(folder: pathlib.Path) -> str:
    """Its version, read from its files."""
    for line in (folder / "version.py").read_text().splitlines():
        if line.startswith("__version__"):
            return line.split("=", 1)[1].strip().strip("'\"")
    return "unknown"


def complaint() -> str:
    """What is wrong with it, in one line; empty where nothing is."""
    folder = torch_folder()
    if folder is None:
        return f"htfm needs torch {REQUIRED}, found none: pip install 'torch=={REQUIRED}.*'"
    version = torch_version(folder)
    if version.split("+")[0].split(".")[:2] != REQUIRED.split("."):
        return f"htfm needs torch {REQUIRED}, found {version} in {folder}: pip install 'torch=={REQUIRED}.*'"
    return ""


def check_torch() -> None:
    """Raises ImportError, in one line, unless torch has the version that the library was built for; then loads it."""
    if text := complaint():
        raise ImportError(text)
    import torch  # noqa: F401  its libraries are what the extension links
