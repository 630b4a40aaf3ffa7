"""doc/commands.md is what the program says."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_commands():
    program = os.environ.get("HTFM_PROGRAM", str(ROOT / "build/htfm"))
    text = subprocess.run([sys.executable, ROOT / "script/commands", program], check=True, capture_output=True, text=True).stdout
    assert text == (ROOT / "doc/commands.md").read_text(), "run: script/commands > doc/commands.md"
