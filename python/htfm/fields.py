"""Fields on grids through xarray: prepared sets to train on, and samples back."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np
import torch

from htfm import _core
from htfm._core import FieldSet, InputError

if TYPE_CHECKING:
    import xarray

__all__ = ["FieldSet", "evaluate", "from_xarray", "open", "prepare", "recipes", "settings", "to_xarray"]

_TIMES = ("time", "valid_time", "t", "sample")
_CHANNELS = ("channel", "variable", "band")


def _find(dims: Sequence[Any], wanted: str | None, known: Sequence[str], what: str, needed: bool) -> str | None:
    if wanted is not None:
        if wanted not in dims:
            raise InputError(f"[{what}] expected one of {', '.join(map(str, dims))}; got '{wanted}'")
        return wanted
    for name in known:
        if name in dims:
            return name
    if needed:
        raise InputError(f"[fields] expected a dimension {' or '.join(known)}, got {', '.join(map(str, dims))}: name it with {what}=")
    return None


def from_xarray(
    fields: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    time: str | None = None,
    channel: str | None = None,
    holdout: float = 0.2,
    transform: str = "none",
    unit: float = 1.0,
    threshold: float | None = None,
    quantum: float = 0.0,
    depth: float = 0.0,
    reach: float | None = None,
    scores: str = "normal",
) -> FieldSet:
    """A prepared set out of a DataArray (time x [channel x] y x x) or a Dataset (its variables are the channels).

    The last share ``holdout`` of the times is held out. ``transform``: none, log1p or asinh of x / unit, or
    scores (normal or logistic: ``scores``) by the distribution of each channel; ``threshold``: values below it are dry;
    ``reach``: hidden values of dry points fall with their distance from the rain, up to this many points (512 with
    scores, otherwise none; doc/weather.md). With ``path`` the set is written to that file, which
    ``htfm.train({"data": {"path": path}, ...})`` takes. A missing value is an InputError that says where.

    >>> import numpy as np, xarray as xr
    >>> rain = xr.DataArray(np.random.default_rng(0).gamma(1.0, size=(10, 8, 8)), dims=("time", "y", "x"), name="rain")
    >>> len(from_xarray(rain, transform="log1p"))
    10
    """
    import xarray as xr

    if isinstance(fields, xr.Dataset):
        units = [str(fields[name].attrs.get("units", "")) for name in fields.data_vars]
        fields = fields.to_array("channel")
        channel = "channel"
    elif isinstance(fields, xr.DataArray):
        units = [str(fields.attrs.get("units", ""))]
    else:
        raise InputError(f"[fields] expected an xarray DataArray or Dataset, got {type(fields).__name__}")
    t = _find(fields.dims, time, _TIMES, "time", True)
    c = _find(fields.dims, channel, _CHANNELS, "channel", False)
    rest = [d for d in fields.dims if d not in (t, c)]
    if len(rest) != 2:
        raise InputError(f"[fields] expected two dimensions beside time and channel, got {', '.join(map(str, rest)) or 'none'}")
    ordered = fields.transpose(t, *([c] if c else []), *rest)
    values = np.ascontiguousarray(ordered.to_numpy(), dtype=np.float32)
    if c is None:
        values = values[:, None]
    for k, own in enumerate(values):  # one after the other: a mask of all of them takes a quarter of their memory
        if not np.isfinite(own).all():
            where = np.argwhere(~np.isfinite(own))[0]
            raise InputError(f"[fields] expected finite values, got {own[tuple(where)]} at {t} {k}, row {where[1]}, column {where[2]}")
    n, channels, height, width = values.shape
    if not 0 <= holdout < 1:
        raise InputError(f"[holdout] expected a share from 0 to below 1, got {holdout}")
    held = torch.zeros(n, dtype=torch.uint8)
    apart = round(n * holdout)
    if apart:
        held[n - apart :] = 1
    if t in ordered.coords and np.issubdtype(ordered[t].dtype, np.datetime64):
        stamps = ordered[t].to_numpy().astype("datetime64[s]").astype(np.int64)
    else:
        stamps = np.arange(n, dtype=np.int64)
    corners = np.full((n, 4), np.nan)
    south_first = False
    y, x = rest
    if all(d in ordered.coords and np.issubdtype(ordered[d].dtype, np.number) for d in rest) and str(y).startswith("lat"):
        rows, cols = ordered[y].to_numpy(), ordered[x].to_numpy()
        corners[:] = [rows[0], cols[0], rows[-1], cols[-1]]
        south_first = bool(rows[0] < rows[-1])
    out = FieldSet()
    out.fields = torch.from_numpy(values)
    out.time, out.held_out = torch.from_numpy(stamps), held
    out.place, out.corners = torch.zeros(n, 2, dtype=torch.int64), torch.from_numpy(corners)
    names = [str(v) for v in ordered[c].to_numpy()] if c and c in ordered.coords else None
    out.channels = names or [str(fields.name or "value")] * channels
    out.units = units if len(units) == channels else [units[0] if units else ""] * channels
    out.south_first = south_first
    if reach is None:
        reach = 512.0 if transform == "scores" and threshold is not None else 0.0
    settings = _core.FieldTransform(transform, unit, threshold, quantum, depth, reach, scores)
    out.transform = _core.fit_field_transform(settings, out.fields, held)
    out.provenance = json.dumps({"source": "xarray", "dims": [str(d) for d in ordered.dims], "shape": list(values.shape)})
    if path is not None:
        _core.write_field_set(os.fspath(path), out)
        return _core.open_field_set(os.fspath(path))
    return out


def to_xarray(samples: Any, prepared: str | os.PathLike[str] | FieldSet | None = None) -> xarray.DataArray:
    """Fields n x c x h x w as a DataArray with dimensions sample, channel, y, x; names, units and, on a latitude and
    longitude grid of one window, coordinates out of the prepared set that they were trained on.

    >>> import numpy as np
    >>> to_xarray(np.zeros((2, 1, 4, 5))).dims
    ('sample', 'channel', 'y', 'x')
    """
    import xarray as xr

    values = samples.numpy() if isinstance(samples, torch.Tensor) else np.asarray(samples)
    if values.ndim != 4:
        raise InputError(f"[fields] expected n x channels x height x width, got {values.ndim} dimensions")
    out = xr.DataArray(values, dims=("sample", "channel", "y", "x"))
    if prepared is None:
        return out
    set_ = prepared if isinstance(prepared, FieldSet) else _core.open_field_set(os.fspath(prepared))
    out = out.assign_coords(channel=list(set_.channels))
    if len(set(set_.units)) == 1 and set_.units[0]:
        out.attrs["units"] = set_.units[0]
    corners = set_.corners
    if corners is not None and bool(torch.isfinite(corners).all()) and bool((corners == corners[0]).all()):
        first_lat, first_lon, last_lat, last_lon = corners[0].tolist()
        height, width = values.shape[2:]
        out = out.assign_coords(y=np.linspace(first_lat, last_lat, height), x=np.linspace(first_lon, last_lon, width))
    return out


def open(path: str | os.PathLike[str]) -> FieldSet:
    """A prepared set; it is mapped, not read.

    >>> import numpy as np, tempfile, xarray as xr
    >>> rain = xr.DataArray(np.random.default_rng(0).gamma(1.0, size=(10, 8, 8)), dims=("time", "y", "x"), name="rain")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = from_xarray(rain, folder + "/rain.fields")
    ...     open(folder + "/rain.fields").channels
    ['rain']
    """
    return _core.open_field_set(os.fspath(path))


def recipes() -> dict[str, str]:
    """The recipes of ``htfm prepare``, with a line each.

    >>> len(recipes()) > 0
    True
    """
    return dict(_core.recipes())


def settings() -> dict[str, str]:
    """The settings of :func:`prepare` with their meanings: the options of ``htfm prepare``.

    >>> settings()["tiles"]
    'Many windows, each this many rows and columns from the next, inside the coverage of the first frame'
    """
    return dict(_core.prepare_settings())


def prepare(
    files: Sequence[str | os.PathLike[str]], recipe: str | None, output: str | os.PathLike[str], **changes: Any
) -> tuple[int, int]:
    """A prepared set out of GRIB2 or NetCDF files by a recipe, where this build can read them; how many fields it has to
    train on and held out. Further arguments are :func:`settings` (with "_" for "-"), which override the recipe or stand alone.

    >>> prepare(["no such file.grib2"], "mrms", "rain.fields", size=(64, 64), skip_damaged=True)
    Traceback (most recent call last):
    ...
    htfm._core.InputError: ...
    """
    values = {} if recipe is None else {"recipe": [recipe]}
    for name, value in changes.items():
        several = value if isinstance(value, (list, tuple)) else (value,)
        values[name.replace("_", "-")] = [str(v).lower() if isinstance(v, bool) else str(v) for v in several]
    return _core.prepare_fields([os.fspath(f) for f in files], values, os.fspath(output))


def evaluate(
    real: str | os.PathLike[str],
    fake: Any,
    *,
    part: str = "held-out",
    channel: int = 0,
    wet: float | None = None,
) -> dict[str, Any]:
    """Scores of samples of fields (an array n x c x h x w, a DataArray, an .npy file or another prepared set) against a
    prepared set: what ``htfm eval`` prints. Scores with an interval are (value, low, high).

    >>> import numpy as np, tempfile, xarray as xr
    >>> rain = xr.DataArray(np.random.default_rng(0).gamma(1.0, size=(10, 8, 8)), dims=("time", "y", "x"), name="rain")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = from_xarray(rain, folder + "/rain.fields")
    ...     scores = evaluate(folder + "/rain.fields", rain.to_numpy()[:, None], part="all")
    >>> scores["kr"][0] < 1e-6
    True
    """
    import tempfile

    if isinstance(fake, (str, os.PathLike)):
        return dict(_core.evaluate_fields(os.fspath(real), os.fspath(fake), part, channel, -1.0 if wet is None else wet))
    values = fake.to_numpy() if hasattr(fake, "to_numpy") else fake
    tensor = torch.as_tensor(np.ascontiguousarray(values, dtype=np.float32))
    with tempfile.TemporaryDirectory() as scratch:
        file = os.path.join(scratch, "samples.npy")
        _core.write_npy(file, tensor)
        return evaluate(real, file, part=part, channel=channel, wet=wet)
