"""Fields on grids through xarray: prepared sets to train on, and samples back."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence

import numpy as np
import torch

from htfm import _core
from htfm._arrays import real as _real, whole
from htfm._core import FieldSet, InputError
from htfm._words import in_python

if TYPE_CHECKING:
    import xarray

__all__ = ["FieldSet", "evaluate", "from_xarray", "open", "prepare", "recipes", "settings", "to_xarray"]

_TIMES = ("time", "valid_time", "t", "sample")
_CHANNELS = ("channel", "variable", "band")
_MEMBERS = ("member", "number", "realization", "ensemble", "ensemble_member", "ens")
_NAMES = {
    "latitude": ("lat", "lats", "latitude", "latitudes", "nav_lat", "xlat"),
    "longitude": ("lon", "lons", "longitude", "longitudes", "nav_lon", "xlong"),
}


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


def _check_same_dims(fields: xarray.Dataset) -> None:
    """All variables over the dimensions of the one that has the most."""
    most: Any = max(fields.data_vars.values(), key=lambda v: v.ndim, default=None)
    for name, v in fields.data_vars.items():
        if v.ndim == 0 or not set(v.dims) <= set(most.dims):
            raise InputError(
                f"[fields] expected variables over {', '.join(map(str, most.dims))}, got '{name}' over "
                f"{', '.join(map(str, v.dims)) or 'no dimension'}: leave it out with .drop_vars('{name}')"
            )


def _is_place(name: Any, coordinate: xarray.DataArray, what: str) -> bool:
    """Whether a coordinate holds latitudes, or longitudes, as the reader of NetCDF knows them."""
    attributes = {key: str(coordinate.attrs.get(key, "")).lower() for key in ("standard_name", "long_name", "units")}
    standard, units = attributes["standard_name"], attributes["units"]
    if coordinate.dtype.kind not in "iuf":
        return False
    if standard in (what, f"grid_{what}"):
        return standard == what
    if re.match("degrees?_?" + ("n" if what == "latitude" else "e"), units):
        return True
    named = str(name).lower() in _NAMES[what] or attributes["long_name"] == what
    return named and units in ("", "degree", "degrees", "deg", "radian", "radians", "rad")


def _is_along(fields: xarray.DataArray, dim: Any, what: str) -> bool:
    if dim in fields.coords and fields[dim].ndim == 1 and _is_place(dim, fields[dim], what):
        return True
    return str(dim).lower() in _NAMES[what] or str(dim) in (("y", "Y", "rlat") if what == "latitude" else ("x", "X", "rlon"))


def _places(fields: xarray.DataArray, y: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Latitudes and longitudes in degrees, of rows and columns or of all points; empty where they are not known."""
    found = []
    for what, dim in (("latitude", y), ("longitude", x)):
        own = [v for name, v in fields.coords.items() if v.dims == (dim,) and _is_place(name, v, what)]
        own += [v.transpose(y, x) for name, v in fields.coords.items() if set(v.dims) == {y, x} and _is_place(name, v, what)]
        values = own[0].to_numpy().astype(np.float64) if own else np.empty(0)
        if own and str(own[0].attrs.get("units", "")).lower().startswith("rad"):
            values = np.degrees(values)
        found.append(values)
    latitude, longitude = found
    known = latitude.ndim == longitude.ndim and np.isfinite(latitude).all() and np.isfinite(longitude).all()
    return (latitude, longitude) if known else (np.empty(0), np.empty(0))


class _Dims(NamedTuple):
    """What the dimensions of an array of fields stand for."""

    time: Any
    member: Any
    channel: Any
    y: Any
    x: Any
    single: list[Any]  # a step, a level: of length one, they say only where the fields are


def _dims(fields: xarray.DataArray, time: str | None, channel: str | None, member: str | None) -> _Dims:
    m = _find(fields.dims, member, _MEMBERS, "member", False)
    if time is None and m is None and fields.ndim == 2 and not set(_TIMES) & set(fields.dims):
        names = ", ".join(map(str, fields.dims))
        raise InputError(f"[fields] expected a dimension of times, got one field over {names}: give it one with .expand_dims('time')")
    t = _find(fields.dims, time, _TIMES, "time", m is None)
    c = _find(fields.dims, channel, _CHANNELS, "channel", False)
    rest = [d for d in fields.dims if d not in (t, m, c)]
    places = [d for d in rest if _is_along(fields, d, "latitude") or _is_along(fields, d, "longitude")]
    single = [d for d in rest if fields.sizes[d] == 1 and d not in places][: max(0, len(rest) - 2)]
    rest = [d for d in rest if d not in single]
    if len(rest) != 2:
        further = next((d for d in rest if d not in places), None)
        hint = f": choose one of it, as with .isel({further}=0), or name it with channel=" if len(rest) > 2 and further else ""
        names = ", ".join(map(str, rest)) or "none"
        raise InputError(f"[fields] expected two dimensions beside time, member and channel, got {names}{hint}")
    if _is_along(fields, rest[0], "longitude") and _is_along(fields, rest[1], "latitude"):
        rest.reverse()
    return _Dims(t, m, c, rest[0], rest[1], single)


def _check_finite(values: np.ndarray, t: Any, m: Any, members: int) -> None:
    for k, own in enumerate(values):  # one after the other: a mask of all of them takes a quarter of their memory
        if np.isfinite(own).all():
            continue
        where = np.argwhere(~np.isfinite(own))[0]
        at = ", ".join(f"{name} {number}" for name, number in ((t, k // members), (m, k % members)) if name is not None)
        what_to_do = "leave out what lacks values (.dropna), fill them (.fillna), or cut a part without them"
        raise InputError(
            f"[fields] expected finite values, got {own[tuple(where)]} at {at}, row {where[1]}, column {where[2]}: {what_to_do}"
        )


def _stamps(fields: xarray.DataArray, t: Any) -> tuple[np.ndarray, str | None]:
    """Seconds since 1970 and their calendar, by the time of validity where there is one; times that are no dates are
    numbered, and have no calendar. Without a dimension of times: the one time of all fields, or 0."""
    if t is None:
        names = [name for name in ("valid_time", *_TIMES) if name in fields.coords and fields[name].ndim == 0]
        return _stamps(fields.expand_dims(names[0]), names[0]) if names else (np.zeros(1, dtype=np.int64), None)
    source = "valid_time" if "valid_time" in fields.coords and fields["valid_time"].dims == (t,) else t
    times: Any = fields[source].to_numpy() if source in fields.coords else np.arange(fields.sizes[t])
    if times.dtype.kind == "M":
        if np.isnat(times).any():
            raise InputError(f"[{t}] expected times, got a missing one (NaT) at {int(np.argmax(np.isnat(times)))}")
        return times.astype("datetime64[s]").astype(np.int64), "standard"
    units = str(fields[source].attrs.get("units", "")) if source in fields.coords else ""
    if times.dtype.kind in "iuf" and " since " in units.lower():
        raise InputError(f"[{t}] expected times of datetime64 or cftime, got numbers of '{units}': xarray.decode_cf makes dates of them")
    if times.dtype.kind in "iufm" or isinstance(times[0], tuple):  # also leads, and pairs of a time and a member
        return np.arange(len(times), dtype=np.int64), None
    calendar = getattr(times[0], "calendar", None)  # of cftime
    if not calendar:
        raise InputError(f"[{t}] expected times of datetime64 or cftime, got '{times[0]}': xarray.decode_cf or pandas.to_datetime makes them")
    seconds = [_core.seconds_since_1970(d.year, d.month, d.day, d.hour, d.minute, d.second, calendar) for d in times]
    return np.array(seconds, dtype=np.int64), calendar


def from_xarray(
    fields: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    time: str | None = None,
    channel: str | None = None,
    member: str | None = None,
    holdout: float = 0.2,
    transform: str = "none",
    unit: float = 1.0,
    threshold: float | None = None,
    quantum: float = 0.0,
    depth: float = 0.0,
    reach: float | None = None,
    scores: str = "normal",
) -> FieldSet:
    """A prepared set out of a DataArray (time x [member x] [channel x] y x x) or a Dataset (its variables are the
    channels).

    Each member of an ensemble is a field of its own; all members of a time are in the same part. The last share
    ``holdout`` of the times is held out, in whatever order they are. Rows are latitudes and columns
    longitudes where the coordinates say which is which; times are datetime64 or cftime, and numbers, leads and stacked
    pairs are numbered (``FieldSet.dated`` is then False, and what is exported has no times). ``transform``: none, log1p or asinh of x / unit, or scores (normal or logistic: ``scores``) by
    the distribution of each channel; ``threshold``: values below it are dry;
    ``reach``: hidden values of dry points fall with their distance from the rain, up to this many points (512 with
    scores, otherwise none; doc/weather.md). With ``path`` the set is written to that file, which
    ``htfm.train({"data": {"path": path}, ...})`` takes. A missing value is an InputError that says where.

    >>> import numpy as np, xarray as xr
    >>> rain = xr.DataArray(np.random.default_rng(0).gamma(1.0, size=(10, 8, 8)), dims=("time", "y", "x"), name="rain")
    >>> len(from_xarray(rain, transform="log1p"))
    10
    """
    import xarray as xr

    holdout, unit, quantum, depth = _real(holdout, "holdout"), _real(unit, "unit"), _real(quantum, "quantum"), _real(depth, "depth")
    threshold, reach = (None if v is None else _real(v, name) for v, name in ((threshold, "threshold"), (reach, "reach")))
    if isinstance(fields, xr.Dataset):
        if not fields.data_vars:
            raise InputError("[fields] expected at least one variable, got a Dataset of none")
        _check_same_dims(fields)
        units = [str(fields[name].attrs.get("units", "")) for name in fields.data_vars]
        fields = fields.to_array("channel")
        channel = "channel"
    elif isinstance(fields, xr.DataArray):
        units = [str(fields.attrs.get("units", ""))]
    else:
        raise InputError(f"[fields] expected an xarray DataArray or Dataset, got {type(fields).__name__}")
    if fields.dtype.kind not in "biufO":
        raise InputError(f"[fields] expected numbers, got values of type {fields.dtype}")
    dims = _dims(fields, time, channel, member)
    t, m, c = dims.time, dims.member, dims.channel
    ordered = fields.squeeze(dims.single).transpose(*(d for d in (t, m, c) if d is not None), dims.y, dims.x)
    values = np.ascontiguousarray(ordered.to_numpy(), dtype=np.float32)
    members = 1 if m is None else ordered.sizes[m]
    values = values.reshape((-1, 1 if c is None else ordered.sizes[c], *values.shape[-2:]))
    _check_finite(values, t, m, members)
    n, channels = values.shape[:2]
    if not 0 <= holdout < 1:
        raise InputError(f"[holdout] expected a share from 0 to below 1, got {holdout}")
    stamps, calendar = _stamps(ordered, t)
    together = members  # fields of one time
    if t is None and calendar is None:  # members of no time are numbered
        stamps, together = np.arange(members, dtype=np.int64), 1
    held = torch.zeros(n, dtype=torch.uint8)
    apart = round(len(stamps) * holdout)
    if apart:
        last = np.argsort(stamps, kind="stable")[len(stamps) - apart :]
        held.view(-1, together)[torch.from_numpy(last)] = 1
    corners = np.full((n, 4), np.nan)
    latitude, longitude = _places(ordered, dims.y, dims.x)
    out = FieldSet()
    if latitude.size and longitude.size:
        corners[:] = [latitude.flat[0], longitude.flat[0], latitude.flat[-1], longitude.flat[-1]]
        out.south_first = bool(latitude.flat[0] < latitude.flat[-1])
        out.set_places(torch.from_numpy(latitude.ravel().copy()), torch.from_numpy(longitude.ravel().copy()))
    out.fields, out.calendar, out.dated = torch.from_numpy(values), calendar or "standard", calendar is not None
    out.time, out.held_out = torch.from_numpy(np.repeat(stamps, together)), held
    if m is not None:
        numbers = ordered[m].to_numpy() if m in ordered.coords else np.arange(members)
        numbers = numbers if numbers.dtype.kind in "iu" else np.arange(members)  # names are numbered
        out.member = torch.from_numpy(np.tile(numbers.astype(np.int64), n // members))
    out.place, out.corners = torch.zeros(n, 2, dtype=torch.int64), torch.from_numpy(corners)
    names = [str(v) for v in ordered[c].to_numpy()] if c and c in ordered.coords else None
    out.channels = names or [str(fields.name or "value")] * channels
    out.units = units if len(units) == channels else [units[0] if units else ""] * channels
    if reach is None:
        reach = 512.0 if transform == "scores" and threshold is not None else 0.0
    try:
        settings = _core.FieldTransform(transform, unit, threshold, quantum, depth, reach, scores)
        out.transform = _core.fit_field_transform(settings, out.fields, held)
    except InputError as error:
        raise InputError(in_python(str(error), dequantise="quantum", dry_depth="depth", dry_reach="reach")) from None
    out.provenance = json.dumps({"source": "xarray", "dims": [str(d) for d in ordered.dims], "shape": list(values.shape)})
    if path is not None:
        _core.write_field_set(os.fspath(path), out)
        return _core.open_field_set(os.fspath(path))
    return out


def to_xarray(samples: Any, prepared: str | os.PathLike[str] | FieldSet | None = None) -> xarray.DataArray:
    """Fields n x c x h x w as a DataArray with dimensions sample, channel, y, x; names, units and, if all
    fields lie at one place, coordinates out of the prepared set that they were trained on. A set alone gives its own fields.

    >>> import numpy as np
    >>> to_xarray(np.zeros((2, 1, 4, 5))).dims
    ('sample', 'channel', 'y', 'x')
    """
    import xarray as xr

    if isinstance(samples, FieldSet):
        samples, prepared = samples.fields, samples if prepared is None else prepared
    values = samples.detach().cpu().numpy() if isinstance(samples, torch.Tensor) else np.asarray(samples)
    if values.ndim != 4:
        raise InputError(f"[fields] expected an array n x channels x height x width or an open set, got {values.ndim} dimensions")
    out = xr.DataArray(values, dims=("sample", "channel", "y", "x"))
    if prepared is None:
        return out
    set_ = prepared if isinstance(prepared, FieldSet) else _core.open_field_set(os.fspath(prepared))
    if len(set_.channels) != values.shape[1]:
        raise InputError(f"[fields] expected the channels {', '.join(set_.channels)} of the set, got {values.shape[1]} of them")
    out = out.assign_coords(channel=list(set_.channels))
    if len(set(set_.units)) == 1 and set_.units[0]:
        out.attrs["units"] = set_.units[0]
    if not set_.one_place():
        return out
    height, width = values.shape[2:]
    latitude, longitude = map(np.asarray, set_.places(0))
    if latitude.size == height and longitude.size == width:
        longitude = np.unwrap(longitude, period=360)  # eastwards without a jump, below 360 degrees
        return out.assign_coords(y=latitude, x=longitude - 360 * (longitude.max() >= 360))
    if latitude.size == longitude.size == height * width:
        shaped = {"lat": latitude, "lon": longitude}
        return out.assign_coords({name: (("y", "x"), v.reshape(height, width)) for name, v in shaped.items()})
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
    return {name: in_python(meaning) for name, meaning in _core.prepare_settings()}


def prepare(
    files: Sequence[str | os.PathLike[str]] | str | os.PathLike[str], recipe: str | None, output: str | os.PathLike[str], **changes: Any
) -> tuple[int, int]:
    """A prepared set out of GRIB2 or NetCDF files by a recipe, where this build can read them; how many fields it has to
    train on and held out. Further arguments are :func:`settings` (with "_" for "-"), which override the recipe or stand alone.

    >>> prepare(["no such file.grib2"], "mrms", "rain.fields", size=(64, 64), skip_damaged=True)
    Traceback (most recent call last):
    ...
    htfm._core.InputError: ...
    """
    if isinstance(files, (str, os.PathLike)):
        files = [files]
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

    channel, wet = whole(channel, "channel"), None if wet is None else _real(wet, "wet")
    if isinstance(fake, (str, os.PathLike)):
        return dict(_core.evaluate_fields(os.fspath(real), os.fspath(fake), part, channel, -1.0 if wet is None else wet))
    values = fake.detach().cpu() if isinstance(fake, torch.Tensor) else fake.to_numpy() if hasattr(fake, "to_numpy") else np.asarray(fake)
    if values.ndim < 2:
        raise InputError(f"[fake] expected fields n x channels x height x width or a path, got {type(fake).__name__}")
    tensor = torch.as_tensor(np.ascontiguousarray(values, dtype=np.float32))
    with tempfile.TemporaryDirectory() as scratch:
        file = os.path.join(scratch, "samples.npy")
        _core.write_npy(file, tensor)
        return evaluate(real, file, part=part, channel=channel, wet=wet)
