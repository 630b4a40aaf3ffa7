"""Fields through xarray."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import htfm

xr = pytest.importorskip("xarray")


@pytest.fixture(scope="module")
def rain():
    rng = np.random.default_rng(0)
    values = rng.gamma(0.5, 2.0, size=(40, 8, 8)).astype(np.float32)
    return xr.DataArray(values, dims=("time", "lat", "lon"), name="rain", attrs={"units": "mm"},
                        coords={"time": np.arange(40).astype("datetime64[h]").astype("datetime64[ns]"), "lat": np.linspace(50, 43, 8),
                                "lon": np.linspace(5, 12, 8)})


def test_a_set_and_samples_of_it(rain, tmp_path):
    prepared = htfm.fields.from_xarray(rain, tmp_path / "rain.fields", transform="log1p")
    assert len(prepared) == 40 and len(prepared.part(True)) == 8
    assert prepared.channels == ["rain"] and prepared.units == ["mm"]
    assert np.array_equal(prepared.fields.numpy()[:, 0], rain.to_numpy())
    seen = np.log1p(rain.to_numpy()[:32])
    assert prepared.transform.mean[0] == pytest.approx(seen.mean(), rel=1e-5)
    assert prepared.transform.deviation[0] == pytest.approx(seen.std(), rel=1e-5)
    model = htfm.train({"data": {"path": str(tmp_path / "rain.fields"), "kind": "fields"}, "train.epochs": 1,
                        "train.batch": 16, "net.kind": "unet", "unet.base": 8, "unet.groups": 4, "unet.multipliers": "1,1",
                        "unet.blocks": 1, "unet.attention": "", "sample.nfe": 2})
    drawn = model.sample(3, nfe=2, seed=1, as_xarray=True)
    assert drawn.dims == ("sample", "channel", "y", "x") and drawn.shape == (3, 1, 8, 8)
    assert drawn.attrs["units"] == "mm" and list(drawn.channel.values) == ["rain"]
    assert drawn.y.values[0] == 50 and drawn.y.values[-1] == 43
    scores = htfm.fields.evaluate(tmp_path / "rain.fields", drawn)
    assert "kr" in scores


def test_datasets_and_bad_arrays(rain):
    both = htfm.fields.from_xarray(xr.Dataset({"rain": rain, "twice": 2 * rain}))
    assert both.channels == ["rain", "twice"] and both.fields.shape == (40, 2, 8, 8)
    holes = rain.copy()
    holes[3, 2, 1] = np.nan
    with pytest.raises(ValueError, match="at time 3, row 2, column 1"):
        htfm.fields.from_xarray(holes)
    with pytest.raises(ValueError, match="expected a dimension time"):
        htfm.fields.from_xarray(rain.rename(time="when"))
    with pytest.raises(ValueError, match="one of"):
        htfm.fields.from_xarray(rain, transform="square")
    with pytest.raises(ValueError, match="DataArray"):
        htfm.fields.from_xarray(np.zeros((3, 4, 4)))


def test_rows_are_latitudes_in_whatever_order(rain):
    turned = rain.transpose("time", "lon", "lat")
    prepared = htfm.fields.from_xarray(turned)
    assert np.array_equal(prepared.fields.numpy()[:, 0], rain.to_numpy())
    renamed = turned.rename(lon="a", lat="b")
    renamed.a.attrs["units"], renamed.b.attrs["standard_name"] = "degrees_E", "latitude"
    assert np.array_equal(htfm.fields.from_xarray(renamed).fields.numpy()[:, 0], rain.to_numpy())


def test_coordinates_come_back(rain, tmp_path):
    uneven = rain.assign_coords(lat=np.array([50.0, 48, 47, 46, 45, 44, 43, 41]), lon=np.arange(330, 410, 10) % 360)
    htfm.fields.from_xarray(uneven, tmp_path / "uneven.fields")
    back = htfm.fields.to_xarray(np.zeros((1, 1, 8, 8)), tmp_path / "uneven.fields")
    assert np.array_equal(back.y, uneven.lat)
    assert np.array_equal(back.x, np.arange(-30, 50, 10)), "over Greenwich without a jump"
    places = np.add.outer(np.arange(8.0), np.linspace(0, 0.5, 8))
    curved = rain.drop_vars(["lat", "lon"]).rename(lat="y", lon="x")
    curved = curved.assign_coords(lat=(("y", "x"), 40 + places), lon=(("x", "y"), places))
    back = htfm.fields.to_xarray(np.zeros((1, 1, 8, 8)), htfm.fields.from_xarray(curved))
    assert np.array_equal(back.lat, 40 + places) and np.array_equal(back.lon, places.T)


def test_members_of_an_ensemble_are_fields_of_their_own(rain, tmp_path):
    weights = xr.DataArray([1.0, 2, 3], dims="number", coords={"number": [0, 5, 7]})
    both = (rain * weights).expand_dims(step=[np.timedelta64(6, "h")]).transpose("number", "step", "lat", "lon", "time")
    prepared = htfm.fields.from_xarray(both, tmp_path / "ensemble.fields")
    assert len(prepared) == 120 and prepared.member.tolist() == [0, 5, 7] * 40
    assert np.array_equal(prepared.fields.numpy()[1::3, 0], 2 * rain.to_numpy())
    assert prepared.part(True) == list(range(96, 120)), "the last 8 times, whole"
    assert prepared.time.tolist()[:4] == [0, 0, 0, 3600]
    again = htfm.fields.open(tmp_path / "ensemble.fields")
    assert again.member.tolist() == prepared.member.tolist()
    assert htfm.fields.from_xarray(rain).member is None
    alone = htfm.fields.from_xarray(both.isel(time=3), holdout=0)
    assert alone.time.tolist() == [3 * 3600] * 3, "its time stands beside it"
    later = both.isel(number=[1]).squeeze("step").assign_coords(valid_time=("time", rain.time.values + np.timedelta64(6, "h")))
    assert htfm.fields.from_xarray(later).time.tolist()[:2] == [6 * 3600, 7 * 3600], "dated by validity"
    named = htfm.fields.from_xarray(both.assign_coords(number=["a", "b", "c"]).rename(number="run"), member="run")
    assert named.member.tolist() == [0, 1, 2] * 40
    holes = both.transpose("time", "number", "step", "lat", "lon").copy()
    holes[4, 1, 0, 2, 3] = np.nan
    with pytest.raises(ValueError, match="at time 4, number 1, row 2, column 3"):
        htfm.fields.from_xarray(holes)


def test_one_level_or_step_must_be_chosen(rain):
    levels = rain.expand_dims(level=[500, 850])
    with pytest.raises(ValueError, match=r"got level, lat, lon: choose one of it, .* \.isel\(level=0\), or name it with channel="):
        htfm.fields.from_xarray(levels)
    assert htfm.fields.from_xarray(levels, channel="level").channels == ["500", "850"]
    assert np.array_equal(htfm.fields.from_xarray(levels.isel(level=[1])).fields.numpy()[:, 0], rain.to_numpy())
    with pytest.raises(ValueError, match="got lat:?"):
        htfm.fields.from_xarray(rain.isel(lon=0))
    with pytest.raises(ValueError, match=r"got one field over lat, lon: give it one with \.expand_dims\('time'\)"):
        htfm.fields.from_xarray(rain.isel(time=0))
    assert len(htfm.fields.from_xarray(rain.isel(time=0).expand_dims("time"), holdout=0)) == 1


def test_missing_values_are_refused_with_what_to_do(rain):
    holes = rain.copy()
    holes[3, 1, 2] = np.nan
    with pytest.raises(ValueError, match=r"got nan at time 3, row 1, column 2: leave out what lacks values \(\.dropna\)"):
        htfm.fields.from_xarray(holes)
    assert len(htfm.fields.from_xarray(holes.dropna("time"))) == len(rain.time) - 1


def test_times_that_were_not_decoded_are_refused(rain):
    raw = rain.assign_coords(time=("time", np.arange(len(rain.time)), {"units": "days since 2000-01-01"}))
    with pytest.raises(ValueError, match=r"got numbers of 'days since 2000-01-01': xarray\.decode_cf makes dates of them"):
        htfm.fields.from_xarray(raw)
    decoded = xr.decode_cf(raw.to_dataset(name="rain")).rain
    assert htfm.fields.from_xarray(decoded).time.tolist()[1] == 946684800 + 86400
    del raw.time.attrs["units"]
    numbered = htfm.fields.from_xarray(raw)
    assert numbered.time.tolist()[:3] == [0, 1, 2], "numbers of nothing are numbered"
    assert not numbered.dated and htfm.fields.from_xarray(decoded).dated
    members = htfm.fields.from_xarray(raw.isel(time=slice(4)).drop_vars("time").rename(time="member"), holdout=0.25)
    assert members.time.tolist() == [0, 1, 2, 3] and members.held_out.tolist() == [0, 0, 0, 1]


def test_a_set_alone_gives_its_fields(rain):
    back = htfm.fields.to_xarray(htfm.fields.from_xarray(rain))
    assert np.array_equal(back.to_numpy()[:, 0], rain.to_numpy()) and np.array_equal(back.y, rain.lat)
    with pytest.raises(ValueError, match="an array n x channels x height x width or an open set, got 2 dimensions"):
        htfm.fields.to_xarray(np.zeros((4, 4)))


class Date:
    """As cftime has them."""

    calendar = "noleap"

    def __init__(self, day: int):
        self.year, self.month, self.day, self.hour, self.minute, self.second = 2000, 2, day, 6, 0, 0


def test_times_of_models_keep_their_calendar(rain, tmp_path):
    days = np.array([Date(day) for day in (27, 28)], dtype=object)
    prepared = htfm.fields.from_xarray(rain.isel(time=slice(0, 2)).assign_coords(time=days), tmp_path / "noleap.fields")
    assert prepared.calendar == "noleap"
    seconds = (30 * 365 + 31 + 26) * 86400 + 6 * 3600  # in a calendar without leap years
    assert prepared.time.tolist() == [seconds, seconds + 86400]
    with pytest.raises(ValueError, match="expected times of datetime64 or cftime, got '2000-01-01'"):
        htfm.fields.from_xarray(rain.isel(time=[0]).assign_coords(time=["2000-01-01"]))
    with pytest.raises(ValueError, match="a missing one .NaT. at 1"):
        gap = np.array(["2000-01-01", "NaT"], dtype="datetime64[ns]")
        htfm.fields.from_xarray(rain.isel(time=[0, 1]).assign_coords(time=gap))


def test_the_last_times_are_held_out_in_any_order(rain):
    prepared = htfm.fields.from_xarray(rain.isel(time=slice(None, None, -1)))
    assert prepared.part(True) == list(range(8))


def test_variables_that_are_no_fields_are_named(rain):
    for name, other in (("crs", ((), 0)), ("time_bnds", (("time", "bnds"), np.zeros((40, 2))))):
        with pytest.raises(ValueError, match=f"got '{name}' over .*drop_vars..{name}"):
            htfm.fields.from_xarray(xr.Dataset({"rain": rain, name: other}))
    with pytest.raises(ValueError, match="expected numbers, got values of type complex64"):
        htfm.fields.from_xarray(rain.astype("c8"))


def test_wrong_arguments_are_named_in_one_line(tmp_path):
    rain = xr.DataArray(np.random.default_rng(0).gamma(1.0, size=(10, 4, 4)), dims=("time", "y", "x"), name="rain")
    for name in ("holdout", "unit", "threshold", "quantum", "depth", "reach"):
        with pytest.raises(ValueError, match=rf"^\[{name}\] expected a number, got 'a'$"):
            htfm.fields.from_xarray(rain, **{name: "a"})
    with pytest.raises(ValueError, match="at least one variable"):
        htfm.fields.from_xarray(xr.Dataset())
    path = tmp_path / "rain.fields"
    htfm.fields.from_xarray(rain, path)
    samples = torch.rand(3, 1, 4, 4, requires_grad=True)
    assert htfm.fields.to_xarray(samples, path).shape == (3, 1, 4, 4) and htfm.fields.evaluate(path, samples)["kr"]
    for option, found in (({"channel": "a"}, "channel"), ({"wet": "a"}, "wet")):
        with pytest.raises(ValueError, match=rf"^\[{found}\] expected"):
            htfm.fields.evaluate(path, samples, **option)
    for wrong, found in ((lambda: htfm.fields.evaluate(path, None), "fake"), (lambda: htfm.fields.to_xarray(np.zeros((2, 3, 4, 4)), path), "fields")):
        with pytest.raises(ValueError, match=rf"^\[{found}\] expected"):
            wrong()
    with pytest.raises(ValueError, match=r"no-file\.nc"):  # one name is one file, not a list of letters
        htfm.fields.prepare(str(tmp_path / "no-file.nc"), None, tmp_path / "out.fields", variable="rain", size=4)
    np.save(tmp_path / "images.npy", np.zeros((120, 1, 8, 8), dtype=np.uint8))
    model = htfm.train({"data.path": tmp_path / "images.npy", "data.kind": "images", "train.epochs": 1, "train.batch": 60, "net.kind": "unet",
                        "unet.base": 8, "unet.groups": 4, "unet.multipliers": "1", "unet.blocks": 1, "unet.attention": "", "sample.nfe": 2})
    assert isinstance(model.sample(1, output="torch"), torch.Tensor)
    with pytest.raises(ValueError, match=r"^\[output\] expected numpy or torch"):
        model.sample(1, output="pandas")
