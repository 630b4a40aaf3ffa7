"""No message of the library sends a user of Python to an option of the program."""

from __future__ import annotations

import inspect
import pathlib
import re

import numpy as np
import pytest
from conftest import QUICK, TINY

import htfm
from htfm._words import in_python

OPTION = re.compile(r"(?:(?<=[\s\[('\"])|^)(?:--[a-z][a-z-]*|-[no]\b)")
NAMED = re.compile(r"(?<![\w.\"])([a-z_]+)=")
COMMAND = re.compile(r"\bhtfm (?:train|sample|fit|eval|tails|risk|info|prepare|report|compare)\b|htfm::")

# Options that stay in messages which no call of Python leads to, and why.
PROGRAM = {
    "--comm": "several processes",
    "--mpi": "an option of srun",
    "--share-device": "several processes",
}
# Parts of the library that the program alone runs, and texts of pages, which are the program's.
LEFT_OUT = ("htfm/page/", "htfm/report/", "htfm/comm/", "htfm/fit/sweep.cpp", "htfm/model/setting_grid.cpp", "htfm/io/python_bridge.cpp")
# Commands that a message may name: Python has none of its own, or the file is the program's.
COMMANDS = {
    "[condition.field] {}: expected data of htfm prepare too, since {} is such a set; got other images": "fields.prepare's sets are the same",
    "[fields] {}: expected a set that `htfm prepare` wrote, got no '{}' in its metadata": "fields.prepare's sets are the same",
    "what the path holds: auto (by its name and content), table, cifar10, png, images (.npy), fields (what `htfm prepare` wrote)":
        "fields.prepare's sets are the same",
    "[compare] {}: expected a run of points or a table, got one of fields: htfm report makes its page": "htfm compare",
    "[checkpoint] {}: expected the {} '{}' ({}.{}) to be registered, got none: call htfm::register_{} before loading": "C++ alone registers parts",
}


def messages(source: pathlib.Path) -> list[tuple[str, str]]:
    """Every text of the library's C++ that names an option or a command, with its file."""
    literal = r'"(?:[^"\\\n]|\\.)*"'
    out = []
    for file in sorted((source / "htfm").rglob("*")):
        name = str(file.relative_to(source))
        if file.suffix not in (".cpp", ".h") or name.startswith(LEFT_OUT):
            continue
        for found in re.finditer(rf"{literal}(?:\s*{literal})*", file.read_text()):
            text = "".join(part[1:-1] for part in re.findall(literal, found[0])).replace('\\"', '"')
            if len(text) > 8 and (OPTION.search(text) or COMMAND.search(text)):
                out.append((name, text))
    return out


def arguments() -> set[str]:
    """Names of all arguments of public functions, and settings of fields.prepare."""
    out = {name.replace("-", "_") for name in htfm.fields.settings()}
    modules = (htfm, htfm.clocks, htfm.config, htfm.couplings, htfm.data, htfm.fields, htfm.metrics, htfm.baselines)
    for value in [getattr(module, name) for module in modules for name in dir(module) if not name.startswith("_")]:
        for function in [v for _, v in inspect.getmembers(value, inspect.isfunction)] if inspect.isclass(value) else [value]:
            if inspect.isfunction(function):
                out |= set(inspect.signature(function).parameters)
    return out


def test_every_message_is_in_the_words_of_python(source):
    found, known = messages(source), arguments()
    assert len(found) > 60  # the reading works
    for file, text in found:
        ours = in_python(text)
        left = [option for option in OPTION.findall(ours) if option not in PROGRAM]
        assert not left, f"{file}: '{ours}' names {left}: python/htfm/_words.py says how"
        assert text in COMMANDS or not COMMAND.search(ours), f"{file}: '{ours}': python/htfm/_words.py says how"
        if not any(option in text for option in PROGRAM):
            named = set(NAMED.findall(ours)) - set(NAMED.findall(text)) | set(re.findall(r"^\[(\w+)\]", ours) if text.startswith("[-") else [])
            assert named <= known, f"{file}: '{ours}': no function has the argument {named - known}: python/htfm/_words.py says how"


def test_messages_name_arguments(table, model, tmp_path):
    with pytest.raises(ValueError, match=r"^\[given\] expected a run that was trained with conditions"):
        model.sample(3, given="a=1")
    with pytest.raises(ValueError, match=r"^\[train.epoch\] expected a known key, perhaps 'train.epochs'$"):
        htfm.train({"train.epoch": 1})
    htfm.train(TINY, folder=tmp_path / "run")
    with pytest.raises(ValueError, match="expected an empty folder or resume=True"):
        htfm.train(TINY, folder=tmp_path / "run")
    with pytest.raises(ValueError, match=r"expected 16 with resume=True, .* got 8 \(htfm.train\(\".*/run/config.toml\", folder=\".*/run\", resume=True\)"):
        htfm.train({**TINY, "net.width": 8}, folder=tmp_path / "run", resume=True)
    assert htfm.train(tmp_path / "run/config.toml", folder=tmp_path / "run", resume=True).step > 0
    rows = {f"v{k}": table[:, k] for k in range(3)}
    pd = pytest.importorskip("pandas")
    fitted = htfm.fit(pd.DataFrame({"id": np.arange(len(table)), **rows}), **QUICK)
    assert any('kinds={"id": "number"} keeps it' in note for note in fitted.notes), fitted.notes


def test_from_xarray_names_its_own_arguments():
    xr = pytest.importorskip("xarray")
    rain = xr.DataArray(np.random.default_rng(0).gamma(1.0, size=(4, 2, 2)), dims=("time", "y", "x"))
    for wrong, found in (({"depth": 1.0}, r"\[depth\] expected quantum= with it"), ({"quantum": 0.1}, r"\[quantum\] expected threshold= with it"),
                         ({"depth": 1.0, "transform": "scores"}, r"\[depth\] expected reach= with it"),
                         ({"reach": 5, "threshold": 0.1}, r'\[reach\] expected depth= with it, or transform="scores"; got neither')):
        with pytest.raises(ValueError, match=f"^{found}"):
            htfm.fields.from_xarray(rain, **wrong)
