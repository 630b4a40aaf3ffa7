"""Figures of risk in Python are those of the library."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import TINY

import htfm

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    return pd.DataFrame(rng.standard_t(4, size=(600, 2)), columns=["gain", "loss"])


@pytest.fixture(scope="module")
def model(frame):
    return htfm.fit(frame, settings={**TINY, "data.normalise": "scores"}, compare=False, samples=100)


def test_tables_hold_the_figures_of_the_json(model):
    found = htfm.risk(model, portfolio={"gain": 1.0, "loss": -0.5}, losses={"gain": "low"}, levels=[0.95, 0.99], n=4000,
                      rounds=20)
    assert found.uncertainty == "tail fit"
    names = json.loads(found.to_json())["losses"]
    assert list(names) == ["gain", "loss", "portfolio"]
    for row in found.measures.itertuples():
        listed = [m for m in names[row.loss]["measures"] if m["p"] == row.p][0]
        assert listed["quantile"]["value"] == pytest.approx(row.quantile, rel=1e-12)
        assert row.quantile_low <= row.quantile <= row.quantile_high
        assert row.side == ("low" if row.loss == "gain" else "high")
    assert set(found.joint.columns) >= {"first", "second", "p", "both", "both_low", "mean_second", "rows"}
    assert set(found.stress["given"]) == {"gain", "loss", "portfolio"}
    worst = found.scenarios("portfolio", 0.99)
    assert list(worst.columns) == ["gain", "loss", "portfolio"] and len(worst) == 40
    assert np.allclose(worst["portfolio"], worst["gain"] - 0.5 * worst["loss"])
    assert (np.diff(worst["portfolio"]) <= 0).all()
    assert "value at risk" in str(found) and "Risk" in found.to_html()


def test_a_model_out_of_a_file_needs_its_rows(model, frame, tmp_path):
    model.save(tmp_path / "run")
    again = htfm.load(tmp_path / "run")
    same = htfm.risk(again, data=frame, n=2000, rounds=20).measures
    assert same.equals(htfm.risk(model, n=2000, rounds=20).measures)
    with pytest.raises(htfm.InputError):
        htfm.risk(again, data=frame * 2, n=2000)
    assert htfm.risk(model, n=2000, rounds=20).save(tmp_path / "risk")[0] == "measures.csv"


def test_of_tails(frame):
    found = htfm.tails(frame)
    table = found.riskmeasures([0.99, 0.999], column=0, side="below")
    assert list(table["p"]) == [0.99, 0.999]
    assert (table["sfall"] < table["quantile"]).all()
    levels = found.return_level([100, 1000], column=0, side="below")
    assert np.allclose(levels["level"], table["quantile"])
    with pytest.raises(htfm.InputError):
        htfm.risk(htfm.train({"data.n": 300, "train.epochs": 1}), levels=[0.2])
