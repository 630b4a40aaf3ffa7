"""doc/commands.md and the table of doc/configuration.md are what the program says."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


PROGRAM = os.environ.get("HTFM_PROGRAM", str(ROOT / "build/htfm"))


def test_keys():
    keys = subprocess.run([PROGRAM, "train", "--keys"], check=True, capture_output=True, text=True).stdout
    assert (ROOT / "doc/configuration.md").read_text().endswith("\n" + keys), "the table must be what htfm train --keys prints"


def test_commands():
    text = subprocess.run([sys.executable, ROOT / "script/commands", PROGRAM], check=True, capture_output=True, text=True).stdout
    assert text == (ROOT / "doc/commands.md").read_text(), "run: script/commands > doc/commands.md"
