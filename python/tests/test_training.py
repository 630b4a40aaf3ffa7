"""Interrupted and watched trainings."""

from __future__ import annotations

import copy
import inspect
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch
from conftest import SMALL, TINY

import htfm

LONG = {**SMALL, "train.epochs": 4000, "train.log_steps": 5}


def test_ctrl_c_ends_at_a_step_with_its_checkpoint(tmp_path):
    seen = []

    def watch(state):
        seen.append(state["step"])
        if len(seen) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="the checkpoint is") as error:
        htfm.train(LONG, folder=tmp_path / "run", progress=watch)
    assert isinstance(error.value, htfm.Interrupted)
    model = htfm.load(tmp_path / "run")
    assert seen[-1] <= model.step <= seen[-1] + 1
    # going on gives the bits of a run that was never stopped
    steps = model.step // 3 + 2
    whole = htfm.train({**LONG, "train.epochs": steps})
    # train.epochs may not change on resume, so the same is done with a short run
    short = {**SMALL, "train.epochs": steps, "train.log_steps": 1}

    def once(state):
        if state["step"] == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        htfm.train(short, folder=tmp_path / "short", progress=once)
    again = htfm.train(short, folder=tmp_path / "short", resume=True)
    assert again.weights_hash == whole.weights_hash


def test_other_threads_run_meanwhile():
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    htfm.train({**SMALL, "train.epochs": 80})
    spent = time.perf_counter() - start
    done.set()
    thread.join()
    assert sum(t >= start for t in ticks) > min(20, spent / 0.02)


def test_a_callback_that_fails_ends_the_training():
    def fail(state):
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        htfm.train({**SMALL, "train.log_steps": 1}, progress=fail)


def test_tqdm(capsys):
    pytest.importorskip("tqdm")
    htfm.train({**SMALL, "train.log_steps": 1}, progress=True)
    assert "training" in capsys.readouterr().err


def test_rows_at_hand(table):
    model = htfm.train(TINY, data=table)
    assert model.sample(5, seed=0, solver="ab2").shape == (5, 3)


def test_threads_do_not_change_bits(model):
    first = model.sample(300, seed=1)
    htfm.set_thread_count(1)
    try:
        assert np.array_equal(first, model.sample(300, seed=1))
    finally:
        htfm.set_thread_count(2)


def test_another_torch_is_refused_in_one_line(tmp_path):
    fake = tmp_path / "torch"
    fake.mkdir()
    (fake / "__init__.py").write_text("")
    (fake / "version.py").write_text("__version__ = '2.10.0+cpu'\n")
    package = os.path.dirname(os.path.dirname(htfm.__file__))
    out = subprocess.run([sys.executable, "-c", "import htfm"], capture_output=True, text=True, check=False,
                         env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{package}"})
    assert out.returncode == 1
    assert out.stderr.strip().splitlines()[-1] == (
        f"ImportError: htfm needs torch 2.11, found 2.10.0+cpu in {fake}: pip install 'torch==2.11.*'")


@pytest.mark.parametrize("option", [
    {"time_power": -1.0}, {"eta": -5.0}, {"rtol": 0.0}, {"guidance": -1.0}, {"guidance": float("nan")}, {"nfe": 2.5}, {"n": 2.7},
    {"first": -1}])
def test_numbers_that_make_no_sense_are_refused(model, option):
    with pytest.raises(ValueError, match=next(iter(option)).replace("first", "first sample")):
        model.sample(**{"n": 3, "solver": "euler", **option})
    assert len(model.sample(1e1, solver="euler", given={})) == 10


def test_a_random_state_is_taken_wherever_a_seed_is(model):
    """Also of numpy; what a Generator gives is a seed like others."""
    for name in ("sample", "calibrate", "report", "event_probability", "rare_quantile", "sample_event", "sample_beyond"):
        assert {"seed", "random_state"} <= set(inspect.signature(getattr(model, name)).parameters), name
    one, other = (model.event_probability("column(1) > 3", solver="euler", draws=2000, **own) for own in ({"seed": 3}, {"random_state": 3}))
    assert one.probability == other.probability
    with pytest.raises(ValueError, match="got both"):
        model.event_probability("column(1) > 3", seed=1, random_state=1)


def test_further_samples_take_the_solver_that_was_fitted(model):
    """It is fitted once, and the samples are those of a fit of their own."""
    alone = copy.deepcopy(model)
    first, more = alone.sample(50, seed=5, solver="fitted", nfe=5), alone.sample(50, seed=6, solver="fitted", nfe=5)
    for seed, drawn in ((5, first), (6, more)):
        assert np.array_equal(copy.deepcopy(model).sample(50, seed=seed, solver="fitted", nfe=5), drawn)
    other = alone.sample(50, seed=6, solver="fitted", nfe=6)
    assert np.array_equal(copy.deepcopy(model).sample(50, seed=6, solver="fitted", nfe=6), other)
    before = alone.last
    alone.sample(50, seed=7, solver="fitted", nfe=6)
    assert alone.last.seconds < before.seconds / 2


def test_models_and_clocks_are_pickled_and_copied(model):
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.weights_hash == model.weights_hash
        assert np.array_equal(again.sample(9, seed=1, solver="ab2"), model.sample(9, seed=1, solver="ab2"))
    for clock in (htfm.clocks.stable(1.7, grid=50, scale=2.0), htfm.clocks.fitted(), htfm.clocks.compound_poisson(1.0, 2.0, 0.75)):
        assert pickle.loads(pickle.dumps(clock)) == copy.copy(clock) == clock and hash(copy.copy(clock)) == hash(clock)
    assert htfm.clocks.stable(1.7) != htfm.clocks.stable(1.6) != "stable"
    matcher = htfm.FlowMatcher(np.ones((9, 2)), htfm.clocks.stable(1.7))
    assert "stable(alpha=1.7)" in repr(matcher)
    with pytest.raises(TypeError, match="load_state_dict"):
        copy.deepcopy(matcher)


def test_areas_of_any_kind_have_a_source():
    clock = htfm.clocks.stable(1.7)
    expected = clock.source(torch.tensor([1.0, 2.0], dtype=torch.float64), 2, seed=1)
    for areas in ([1.0, 2.0], np.array([1, 2]), torch.tensor([1.0, 2.0])):
        assert torch.equal(clock.source(areas, 2, seed=1), expected)
    assert len(clock.sample(1e1).area) == 10


def test_what_cannot_be_meant_is_refused_in_one_line(table):
    for call in (lambda: htfm.train(TINY, resume=True), lambda: htfm.fit(table, resume=True)):
        with pytest.raises(ValueError, match="folder of the run that is to go on"):
            call()
    for call in (lambda: htfm.train(TINY, settings=["train.epochs=1"]), lambda: htfm.FlowMatcher(table, settings="seed=1")):
        with pytest.raises(ValueError, match="dictionary of keys and values"):
            call()
    with pytest.raises(ValueError) as error:
        htfm.metrics.w1(table, table[:0])
    assert "\n" not in str(error.value)
    for count in (-1, 1_000_000):
        with pytest.raises(ValueError, match="threads"):
            htfm.set_thread_count(count)
    assert len(htfm.data.synthetic(n=1e1)) == 10


def test_settings_are_given_once():
    for settings in ({"data": {"n": 200}, "data.n": 300}, {"train.epochs": 1, "train": {"epochs": 2}}):
        with pytest.raises(ValueError, match="each key once"):
            htfm.train(settings)
    with pytest.raises(ValueError, match=r"\[seed\] expected the argument seed= or the key of settings, got both"):
        htfm.train(TINY, settings={"seed": 1}, seed=2)
    with pytest.raises(ValueError, match=r"\[data.path\] expected the argument data= or the key of settings, got both"):
        htfm.train(TINY, settings={"data": {"path": "a.csv"}}, data="b.csv")
    assert htfm.config.settings_of({"unet.multipliers": np.array([1, 2]), "data.path": pathlib.Path("a.csv")}) == [
        "unet.multipliers=1,2", "data.path=a.csv"]


@pytest.mark.parametrize("option", [
    {"minutes": "1"}, {"holdout": "a"}, {"samples": 10.5}, {"samples": -1}, {"compare": "no"}, {"log_returns": "no"}, {"kinds": ["a"]},
    {"resume": "no"}])
def test_wrong_arguments_of_fit_are_named(table, option):
    with pytest.raises(ValueError, match=rf"^\[{next(iter(option))}\] expected"):
        htfm.fit(table, settings=TINY, **option)


def test_devices_and_options_of_sample(model):
    assert np.array_equal(model.sample(3, seed=1, solver="euler", device=torch.device("cpu")), model.sample(3, seed=1, solver="euler"))
    for option, found in (({"rtol": 0.1}, "dopri5"), ({"eta": 0.5}, "stochastic"), ({"each": 2}, "given=")):
        with pytest.raises(ValueError, match=rf"^\[{next(iter(option))}\] expected .*{found}"):
            model.sample(3, solver="euler", **option)
    for call in (lambda: model.event_probability(None), lambda: model.rare_quantile("column(1)", "x"), lambda: model.sample_beyond(5, "x")):
        with pytest.raises(ValueError, match=r"^\[(where|probability|level)\] expected"):
            call()


def test_a_folder_whose_frame_was_damaged_is_named(model, tmp_path):
    model.save(tmp_path / "run")
    for text in ("{", "[]", '{"kind": "pandas"}'):
        (tmp_path / "run/frame.json").write_text(text)
        with pytest.raises(ValueError, match=r"^\[run\] .*/frame.json: expected what fit\(\) and save\(\) write there"):
            htfm.load(tmp_path / "run")
