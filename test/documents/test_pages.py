"""The pages that promise to run do: every `sh` and `python` block, in order, in an empty folder."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["start", "tutorial-paper", "tutorial-risk", "tutorial-weather", "own-data", "resume", "run-folder", "python"]
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.S | re.M)


def blocks(text: str) -> list[tuple[str, str, int]]:
    """Language, text and first line of each block that is run."""
    return [(m[1], m[2], text[: m.start()].count("\n") + 2) for m in BLOCK.finditer(text)]


def run_page(path: pathlib.Path, environment: dict[str, str]) -> None:
    """In the working folder. The Python blocks of a page share their names, as in one session."""
    scope: dict[str, object] = {"__name__": path.stem}
    for language, text, line in blocks(path.read_text()):
        where = f"{path.name}:{line}"
        if language == "python":
            exec(compile("\n" * (line - 1) + text, str(path), "exec"), scope)
        else:
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], env=environment, text=True, check=False, capture_output=True)
            assert done.returncode == 0, f"{where}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
            print(done.stdout)


@pytest.fixture(scope="session")
def environment(tmp_path_factory) -> dict[str, str]:
    """A shell that finds the program as `htfm`."""
    program = pathlib.Path(os.environ.get("HTFM_PROGRAM", ROOT / "build/htfm"))
    return {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_page(name, environment, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    if name == "tutorial-weather" and os.environ.get("HTFM_WITH_FIELDS", "ON") != "ON":
        pytest.skip("built without NetCDF")
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / f"doc/{name}.md", environment)


def test_a_page_that_is_wrong_fails(environment, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```sh\nhtfm --version\n```\n\n```console\nfalse\n```\n\n```python\nx = 1\n```\n\n```python\nassert x == 1\n```\n")
    run_page(page, environment)
    for block in ("```sh\nfalse | true\n```\n", "```python\nassert False\n```\n"):
        page.write_text(f"# A page\n\n{block}")
        with pytest.raises(AssertionError):
            run_page(page, environment)
