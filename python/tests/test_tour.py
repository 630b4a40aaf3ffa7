"""What a user can write, line by line, on every kind of input."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
import torch
from conftest import QUICK

import htfm

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"loss": rng.standard_t(3, 300), "count": rng.poisson(3, 300), "line": rng.choice(["fire", "flood"], 300)})


def test_a_table_from_frame_to_files(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = htfm.fit(frame, minutes=0.02, samples=100, compare=False, settings={"net.width": 16, "net.blocks": 1})
    drawn = model.sample(2000)
    assert list(drawn.columns) == list(frame.columns) and list(drawn.dtypes) == list(frame.dtypes)
    model.report("report.html")
    model.save("run")
    again = htfm.load("run")
    assert again.sample(1000, nfe=20, seed=1).equals(model.sample(1000, nfe=20, random_state=1))
    assert pathlib.Path("report.html").stat().st_size > 10_000


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is there")
def test_a_device_that_is_not_there_is_one_line(model):
    with pytest.raises(htfm.InputError, match=r"^\[device\] expected cpu, got cuda: .+") as error:
        model.sample(1000, nfe=20, seed=1, device="cuda")
    assert "\n" not in str(error.value)
    with pytest.raises(htfm.InputError, match=r"^\[device\] expected a device of torch that is there, got 'cuda': .+") as error:
        htfm.clocks.stable(1.7).sample(10, device="cuda")
    assert "\n" not in str(error.value)
    with pytest.raises(htfm.InputError, match="expected cpu, cuda or auto"):
        model.sample(10, device="gpu")


@pytest.mark.parametrize("kind", ["pandas", "polars", "numpy", "path", "pathlib"])
def test_fit_takes_every_kind(kind, frame, tmp_path):
    given = frame[["loss", "count"]]
    if kind == "polars":
        given = pytest.importorskip("polars").DataFrame({name: given[name].to_numpy() for name in given.columns})
    elif kind == "numpy":
        given = given.to_numpy()
    elif kind in ("path", "pathlib"):
        file = tmp_path / "losses.csv"
        given.to_csv(file, index=False)
        given = str(file) if kind == "path" else file
    drawn = htfm.fit(given, minutes=1, random_state=0, **QUICK).sample(20, seed=1)
    assert drawn.shape == (20, 2)
    assert kind != "numpy" or drawn.dtype == np.float64
    assert type(drawn).__module__.split(".")[0] == {"path": "pandas", "pathlib": "pandas"}.get(kind, kind)


def test_parts(tmp_path):
    x = htfm.data.synthetic("student", 400, nu=3.0, seed=1)
    found = htfm.tails(x)
    assert found.verdict and found.interval[0] < found.index < found.interval[1] and found.threshold > 0
    clock = htfm.clocks.stable(1.7)
    drawn = clock.sample(1000)
    assert drawn.area.shape == drawn.end.shape == (1000,) and drawn.paths.shape == (1000, 201)
    paths = drawn.paths.unsqueeze(2)
    assert htfm.signature(paths, depth=3).shape == (1000, 3)
    assert htfm.logsignature(drawn.paths, depth=3, augment_time=True).shape == (1000, 5)
    x_train = torch.from_numpy(x).float()
    matcher = htfm.FlowMatcher(x_train, clock=clock, coupling="pool", precondition=True)
    t, x_t, u_t, feature = matcher.sample(x_train[:64])
    assert t.shape == (64,) and x_t.shape == u_t.shape == (64, 2) and feature.shape[0] == 64
    velocity = torch.nn.Linear(3 + matcher.feature_size, 2)
    samples = htfm.solve(lambda t, y, f: velocity(torch.cat([y, t[:, None], f], 1)), matcher, n=1000, nfe=20, solver="ab2")
    assert samples.shape == (1000, 2)
    (tmp_path / "file.toml").write_text('seed = 3\n[data]\nn = 200\n[train]\nepochs = 1\n')
    one = htfm.train(config=str(tmp_path / "file.toml"))
    same = htfm.train(config={"seed": 3, "data": {"n": 200}, "train": {"epochs": 1}})
    assert one.weights_hash == same.weights_hash
    a, b = x, x + 0.1
    for score in ("w1", "mmd", "frechet"):
        assert np.isfinite(getattr(htfm.metrics, score)(a, b)), score
    assert htfm.metrics.f1_prd(a, b) and htfm.metrics.tails(a, b) and htfm.baselines.methods()
    assert sorted(htfm.couplings.assignment(a, b)) == list(range(400))


def test_fields_through_xarray_and_files(tmp_path):
    xr = pytest.importorskip("xarray")
    rng = np.random.default_rng(0)
    da = xr.DataArray(rng.gamma(0.5, 2.0, size=(12, 8, 8)), dims=("time", "lat", "lon"), name="rain")
    fields = htfm.fields.from_xarray(da, tmp_path / "rain.fields")
    assert len(fields) == 12
    model = htfm.train({"data": {"path": str(tmp_path / "rain.fields"), "kind": "fields"}, "train.epochs": 1, "train.batch": 8,
                        "net.kind": "unet", "unet.base": 8, "unet.groups": 4, "unet.multipliers": "1,1", "unet.blocks": 1,
                        "unet.attention": ""})
    drawn = model.sample(2, nfe=2, as_xarray=True)
    drawn.name = "rain"
    file = tmp_path / "samples.nc"
    drawn.to_netcdf(file, engine="scipy")
    with xr.open_dataset(file, engine="scipy") as stored:
        assert np.array_equal(stored["rain"].to_numpy(), drawn.to_numpy())
