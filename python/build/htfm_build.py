"""The build backend: scikit-build-core, which is given torch to build with only where the user has none.

The package links the torch of whoever installs it. pip builds in an environment of its own, and would fetch the three
gigabytes of torch once more for it, so torch is asked for only where the user's Python has none of the right version.
"""

import subprocess
import sys

from scikit_build_core import build as _build

TORCH = "2.11"
_FIND = "import importlib.metadata as m; print(m.version('torch'))"


def _torch() -> list[str]:
    found = subprocess.run([sys.executable, "-I", "-c", _FIND], capture_output=True, text=True, check=False).stdout
    return [] if found.startswith(TORCH + ".") else [f"torch=={TORCH}.*"]


def get_requires_for_build_wheel(config_settings=None):
    return [*_build.get_requires_for_build_wheel(config_settings), *_torch()]


def get_requires_for_build_editable(config_settings=None):
    return [*_build.get_requires_for_build_editable(config_settings), *_torch()]


get_requires_for_build_sdist = _build.get_requires_for_build_sdist
build_wheel = _build.build_wheel
build_sdist = _build.build_sdist
build_editable = _build.build_editable
prepare_metadata_for_build_wheel = _build.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = _build.prepare_metadata_for_build_editable
