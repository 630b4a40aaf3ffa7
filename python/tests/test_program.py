"""The same bits as the program, and the program itself."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import SMALL

import htfm


def test_version(program):
    for by_python in (False, True):
        assert program("--version", by_python=by_python).stdout.strip() == htfm.__version__


def test_training_and_samples_have_the_bits_of_the_program(program, tmp_path, model):
    config = tmp_path / "run.toml"
    config.write_text(htfm.config.toml(htfm.config.make(SMALL)))
    program("train", config, "--seed", 3, "-o", tmp_path / "run")
    assert htfm.load(tmp_path / "run").weights_hash == model.weights_hash
    for more, arguments in (([], {}), (["--solver", "ab2", "--nfe", 7], {"solver": "ab2", "nfe": 7})):
        file = tmp_path / "s.npy"
        program("sample", tmp_path / "run", "-n", 50, "--seed", 9, "-o", file, *more)
        ours = htfm.load(tmp_path / "run").sample(50, seed=9, output="numpy", **arguments)
        assert ours.tobytes() == np.load(file).tobytes()
        assert model.sample(50, random_state=9, **arguments).tobytes() == np.load(file).tobytes()


def test_the_program_reads_what_python_saved(program, tmp_path, model):
    model.save(tmp_path / "saved")
    info = json.loads(program("info", tmp_path / "saved", "--json").stdout)
    assert info["weights_hash"] == model.weights_hash
    with pytest.raises(ValueError, match="expected an empty folder"):
        model.save(tmp_path / "saved")


def test_fit_has_the_bits_of_the_program(program, tmp_path, table):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(table, columns=["a", "b", "c"])
    file = tmp_path / "t.csv"
    frame.to_csv(file, index=False)
    settings = {"train.epochs": 2, "net.width": 16, "net.blocks": 1, "sample.solver": "euler", "sample.nfe": 2}
    more = [part for line in htfm.config.settings_of(settings) for part in ("--set", line)]
    program("fit", file, "-o", tmp_path / "run", *more, "--no-compare", "--samples", 100)
    ours = htfm.fit(frame, settings=settings, compare=False, samples=100)
    assert ours.weights_hash == htfm.load(tmp_path / "run").weights_hash
    again = htfm.fit(file, settings=settings, compare=False, samples=100)
    assert again.weights_hash == ours.weights_hash
    assert again.sample(50, seed=2).equals(ours.sample(50, seed=2))


def test_clocks_data_and_scores_have_the_numbers_of_the_program(program, tmp_path):
    program("data", "mixture2d", "--alpha", 1.5, "-n", 300, "--seed", 1, "-o", tmp_path / "r.npy")
    rows = htfm.data.synthetic("mixture2d", 300, alpha=1.5, seed=1)
    assert rows.tobytes() == np.load(tmp_path / "r.npy").tobytes()
    program("data", "mixture2d", "--alpha", 1.5, "-n", 300, "--seed", 2, "-o", tmp_path / "s.npy")
    theirs = json.loads(program("eval", "--real", tmp_path / "r.npy", "--fake", tmp_path / "s.npy", "--json").stdout)
    ours = htfm.metrics.compute(rows, np.load(tmp_path / "s.npy"))
    for name in ("f1_prd", "f1_knn", "w1_pooled", "mmd"):
        assert float(ours[name]) == theirs[name], name


def test_errors_are_the_lines_of_the_program(program, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n1,2\n3,x\n")
    line = program("tails", bad, expect=2, by_python=True).stderr.strip()
    with pytest.raises(ValueError) as error:
        htfm.tails(bad)
    assert isinstance(error.value, htfm.InputError)
    assert str(error.value) in line
    line = program("train", tmp_path / "none.toml", "-o", tmp_path / "run", expect=2).stderr.strip()
    with pytest.raises(htfm.InputError) as error:
        htfm.train(tmp_path / "none.toml")
    assert str(error.value) in line


def test_an_unknown_key_names_the_nearest():
    with pytest.raises(ValueError, match=r"clock\.famili.*clock\.family"):
        htfm.train({"clock": {"famili": "stable"}})
