"""Fields through xarray."""

from __future__ import annotations

import numpy as np
import pytest

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
