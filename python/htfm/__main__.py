"""The program: ``htfm`` on the PATH, or ``python -m htfm``."""

from __future__ import annotations

import os
import pathlib
import sys

from htfm._torch import complaint, torch_folder


def program() -> pathlib.Path:
    """The program of the package, or that of the build folder which the package lies in."""
    own = pathlib.Path(__file__).resolve().parent / "bin" / "htfm"
    return own if own.exists() else pathlib.Path(__file__).absolute().parents[2] / "htfm"


def main() -> int:
    """Hands everything to the program of the package; its libraries come out of this Python's torch."""
    here = pathlib.Path(__file__).resolve().parent
    if text := complaint():
        print(text, file=sys.stderr)
        return 1
    folder = torch_folder()
    if folder is not None and folder.parent != here.parent:  # torch in another place than beside the package
        paths = [str(folder / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(path for path in paths if path)
    os.execv(program(), ["htfm", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
