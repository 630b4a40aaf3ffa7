"""Fields as htfm reads them beside pygrib and xarray, value by value.

    python bench/peers/fields.py build/field_test grib FOLDER    # every message of every file, against pygrib
    python bench/peers/fields.py build/field_test netcdf         # NetCDF that xarray writes in many variants, against xarray
    python bench/peers/fields.py build/htfm seam                 # boxes and centres over Greenwich and the date line, exported

Needs pygrib (grib), xarray, netCDF4, h5netcdf and cftime (netcdf). Prints a line a file and fails where anything differs.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np


def dump(program, files):
    """The lines of index.jsonl with their values."""
    with tempfile.TemporaryDirectory() as folder:
        listed = os.path.join(folder, "list")
        with open(listed, "w") as f:
            f.writelines(name + "\n" for name in files)
        subprocess.run([program, "--gtest_filter=Dump.*"], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, HTFM_DUMP_FROM=listed, HTFM_DUMP_TO=folder))
        out = {name: [] for name in files}
        with open(os.path.join(folder, "index.jsonl")) as f:
            for line in f:
                own = json.loads(line)
                if "values" in own:
                    raw = np.fromfile(os.path.join(folder, own["values"] + ".bin"))
                    n = own["height"] * own["width"]
                    own["values"] = raw[:n].reshape(own["height"], own["width"])
                    own["latitude"] = raw[n:n + own["latitudes"]]
                    own["longitude"] = raw[n + own["latitudes"]:]
                out[own["file"]].append(own)
        return out


def same(a, b, tolerance=0.0):
    a, b = np.ma.filled(np.ma.asarray(a, dtype=float), np.nan), np.asarray(b, dtype=float)
    if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
        return False
    a, b = a[~np.isnan(a)], b[~np.isnan(b)]
    return bool(np.all(np.abs(a - b) <= tolerance * np.maximum(1e-30, np.abs(a)))) if a.size else True


def compare_grib(program, folder):
    import pygrib
    files = sorted(os.path.join(folder, f) for f in os.listdir(folder) if os.path.getsize(os.path.join(folder, f)) > 0)
    bad = 0
    for path, own in dump(program, files).items():
        with pygrib.open(path) as theirs:
            messages = list(theirs)
        equal, places, said, wrong, no_place, unread, nines = 0, 0, [], [], 0, 0, 0
        for k, message in enumerate(messages):
            mine = own[k] if k < len(own) else {"error": own[-1].get("error", "nothing")}
            if mine.get("error") or mine.get("problem"):
                said.append(mine.get("error") or mine["problem"])
                continue
            try:
                values = message.values
            except RuntimeError:  # it asks grids that it does not know for keys that they do not have
                values, unread = message["codedValues"].reshape(mine["values"].shape), unread + 1
            # Interpolated rows are sums of two products; all else is the same double.
            tolerance = 1e-12 if message.gridType.startswith("reduced") else 0.0
            # pygrib takes a value of 9999 for missing also where the message has no bitmap.
            real = np.ma.getmaskarray(values) & (mine["values"] == 9999) & (message["bitmapPresent"] == 0)
            values = np.ma.where(real, 9999.0, values) if real.any() else values
            nines += int(real.any())
            if not same(values, mine["values"], tolerance):
                wrong.append(f"{k + 1}: values")
                continue
            equal += 1
            try:
                lat, lon = message.latlons()
            except Exception:
                no_place += 1
                continue
            if mine["latitudes"] == 0:
                no_place += 1
                continue
            my_lat, my_lon = mine["latitude"], mine["longitude"]
            if my_lat.size != my_lon.size or my_lat.size != lat.size:
                my_lat, my_lon = np.meshgrid(my_lat, my_lon, indexing="ij")
            my_lat, my_lon = my_lat.reshape(lat.shape), my_lon.reshape(lon.shape)
            away = np.abs((my_lon - lon + 180) % 360 - 180)
            if np.max(np.abs(my_lat - lat)) > 2e-3 or np.max(away * np.cos(np.radians(lat))) > 2e-3:
                wrong.append(f"{k + 1}: places off by {np.max(np.abs(my_lat - lat)):.3g}, {np.max(away):.3g} degrees")
            else:
                places += 1
        bad += len(wrong)
        print(f"{os.path.basename(path)}: {len(messages)} messages, {equal} with equal values, {places} with equal places"
              + (f", {no_place} without places" if no_place else "")
              + (f", {unread} of a grid that pygrib does not know" if unread else "")
              + (f", {nines} with values of 9999 that pygrib takes for missing" if nines else "")
              + (f", {len(said)} refused: {said[0]}" if said else "") + (f", WRONG {wrong[:3]}" if wrong else ""))
    return bad


def variants(folder):
    """NetCDF files that xarray writes: (name, path, the variable as dimensions time, member, level, lat, lon)."""
    import cftime
    import xarray as xr
    rng = np.random.default_rng(0)
    lat, lon = np.arange(50, 44, -1.0), np.arange(0, 360, 30.0)
    base = xr.DataArray(rng.gamma(0.3, 5, (4, 6, 12)).astype("float32"), dims=("time", "lat", "lon"), name="rain",
                        coords={"time": np.array("2020-02-27", "datetime64[ns]") + np.arange(4) * np.timedelta64(1, "D"),
                                "lat": ("lat", lat, {"units": "degrees_north", "standard_name": "latitude"}),
                                "lon": ("lon", lon, {"units": "degrees_east", "standard_name": "longitude"})},
                        attrs={"units": "mm/h", "long_name": "rain rate"})
    out = []

    def write(name, data, **options):
        path = os.path.join(folder, name.replace(" ", "_") + ".nc")
        data.to_netcdf(path, **options)
        out.append((name, path, options.get("group")))

    write("plain", base)
    write("netcdf3", base, format="NETCDF3_64BIT")
    write("netcdf3 classic", base.astype("float64"), format="NETCDF3_CLASSIC")
    write("h5netcdf", base, engine="h5netcdf")
    write("transposed", base.transpose("lon", "lat", "time"))
    write("lon before lat", base.transpose("time", "lon", "lat"))
    write("time last", base.transpose("lat", "lon", "time"))
    write("ascending latitudes", base.isel(lat=slice(None, None, -1)))
    write("-180 to 180", base.assign_coords(lon=("lon", (lon + 180) % 360 - 180, base.lon.attrs)).sortby("lon"))
    for calendar in ("360_day", "noleap", "all_leap", "julian", "proleptic_gregorian", "standard"):
        times = [cftime.datetime(2000, 2, 27, calendar=calendar) + k * __import__("datetime").timedelta(days=1)
                 for k in range(4)]
        write("calendar " + calendar, base.assign_coords(time=times))
    write("hours since 1-1-1", base, encoding={"time": {"units": "hours since 0001-01-01", "calendar": "standard"}})
    write("packed int16", base, encoding={"rain": {"dtype": "int16", "scale_factor": 0.01, "add_offset": 1.0,
                                                  "_FillValue": -32768}})
    holes = base.where(base > 0.5)
    write("packed with holes", holes, encoding={"rain": {"dtype": "int16", "scale_factor": 0.01, "_FillValue": -1}})
    write("packed uint8", base.clip(0, 20), encoding={"rain": {"dtype": "uint8", "scale_factor": 0.1, "_FillValue": 255}})
    write("_Unsigned", base.clip(0, 20), encoding={"rain": {"dtype": "int8", "scale_factor": 0.1, "_Unsigned": "true",
                                                           "_FillValue": -1}}, format="NETCDF3_64BIT")
    write("holes as NaN", holes)
    write("fill value", holes, encoding={"rain": {"_FillValue": -999.0}})
    write("compressed chunks", base, encoding={"rain": {"zlib": True, "chunksizes": (1, 3, 5)}})
    write("in a group", base, group="forecast/surface")
    members = xr.concat([base, base + 1, base + 2], dim=xr.DataArray([1, 2, 5], dims="number", name="number",
                                                                     attrs={"standard_name": "realization"}))
    write("ensemble", members)
    write("ensemble inside", members.transpose("time", "lat", "number", "lon"))
    levels = xr.concat([base, base * 2], dim=xr.DataArray([500.0, 850.0], dims="level", name="level",
                                                          attrs={"units": "hPa"}))
    write("levels", levels.transpose("time", "level", "lat", "lon"))
    steps = xr.concat([base, base + 3], dim=xr.DataArray(np.array([0, 6], "timedelta64[h]").astype("timedelta64[ns]"),
                                                         dims="step", name="step"))
    write("steps", steps.transpose("time", "step", "lat", "lon"))
    write("one time without dimension", base.isel(time=2))
    curved = base.drop_vars(["lat", "lon"]).rename(lat="y", lon="x").assign_coords(
        lat=(("y", "x"), np.add.outer(lat, 0.1 * np.arange(12)), {"units": "degrees_north"}),
        lon=(("y", "x"), np.add.outer(np.arange(6) * 0.1, lon), {"units": "degrees_east"}))
    write("places of all points", curved)
    write("places of all points transposed", curved.transpose("x", "time", "y"))
    write("int32 values", (base * 10).astype("int32"))
    return out


def compare_netcdf(program):
    import xarray as xr
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        files = variants(folder)
        dumped = dump(program, [path for _, path, _ in files])
        for name, path, group in files:
            own = dumped[path]
            theirs = xr.open_dataset(path, group=group, decode_timedelta=True)["rain"]
            wanted = {}
            rows = [d for d in theirs.dims if d in ("lat", "y")][0]
            columns = [d for d in theirs.dims if d in ("lon", "x")][0]
            others = [d for d in theirs.dims if d not in (rows, columns)]
            stacked = theirs.transpose(*others, rows, columns)
            for at in np.ndindex(*[theirs.sizes[d] for d in others]):
                field = stacked[at]
                when = field["time"].values
                if isinstance(when, np.ndarray):
                    when = when.item() if when.dtype == object else when
                if isinstance(when, np.datetime64):
                    seconds = int(when.astype("datetime64[s]").astype(int))
                else:
                    import cftime
                    seconds = int(round(cftime.date2num(when, "seconds since 1970-01-01", calendar=when.calendar)))
                step = field["step"].values.astype("timedelta64[s]").astype(int) if "step" in field.coords else 0
                key = (seconds + int(step), int(field["number"]) if "number" in field.coords else None,
                       float(field["level"]) if "level" in field.coords else None,
                       int(step) if "step" in field.coords else None)
                wanted[key] = field.values
            problem = ""
            if any("error" in line for line in own):
                problem = own[-1]["error"]
            for line in own:
                if problem:
                    break
                key = (line["time"], line["member"], float(line["level"].split()[-1]) if line["level"] else None,
                       int(float(line["step"]) * 3600) if line["step"] else None)
                if key not in wanted:
                    problem = f"no field {key} among {list(wanted)[:3]}"
                elif not same(wanted[key], line["values"], 2e-7):
                    problem = f"values of {key} differ"
                else:
                    lat = theirs["lat"].values if theirs["lat"].ndim == 1 else theirs["lat"].transpose("y", "x").values
                    lon = theirs["lon"].values if theirs["lon"].ndim == 1 else theirs["lon"].transpose("y", "x").values
                    if not np.array_equal(lat.ravel(), line["latitude"]) or not np.array_equal(lon.ravel(), line["longitude"]):
                        problem = "places differ"
            if not problem and len(own) != len(wanted):
                problem = f"{len(own)} fields instead of {len(wanted)}"
            bad += bool(problem)
            print(f"{name}: " + (f"WRONG {problem}" if problem else f"{len(own)} fields equal xarray's"))
    return bad


def compare_seam(program):
    """`htfm prepare --box` and `--centre`, then `htfm export`, against xarray's roll and sel."""
    import xarray as xr
    bad = 0
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for start in (0, -180):
            for ascending in (False, True):
                lat = np.arange(-90, 90.1, 2.5) if ascending else np.arange(90, -90.1, -2.5)
                lon = start + np.arange(0, 360, 2.5)
                data = xr.Dataset({"v": (("time", "lat", "lon"), rng.normal(size=(2, lat.size, lon.size)).astype("f4"))},
                                  {"time": np.array(["2020-01-01", "2020-01-02"], "datetime64[ns]"),
                                   "lat": ("lat", lat, {"units": "degrees_north"}),
                                   "lon": ("lon", lon, {"units": "degrees_east"})})
                path = os.path.join(folder, "globe.nc")
                data.to_netcdf(path)
                for south, west, north, east in ((35, -10, 60, 30), (-20, 170, 20, -170), (-20, 170, 20, 190),
                                                 (0, 0, 45, 90), (-90, -180, 90, 180), (10, 340, 20, 20)):
                    reach = (east - west) % 360 or (360 if east != west else 0)
                    turned = data.assign_coords(lon=west + (data.lon - west) % 360).sortby("lon")
                    last = west + reach - (1e-9 if reach == 360 else -1e-9)
                    wanted = turned.sel(lon=slice(west - 1e-9, last))
                    wanted = wanted.sel(lat=slice(south, north) if ascending else slice(north, south))
                    bad += not seam_case(program, folder, path, ["--box", f"{south},{west},{north},{east}"], wanted,
                                         f"{start} ascending={ascending}")
                for centre_lat, centre_lon in ((50, 0), (0, 180), (-30, -177.5), (45, 357.5)):
                    row = int(np.argmin(np.abs(lat - centre_lat)))
                    column = int(np.argmin(np.abs((lon - centre_lon + 180) % 360 - 180)))
                    rolled = data.roll(lon=8 - column, roll_coords=True)
                    wanted = rolled.isel(lon=slice(0, 16), lat=slice(row - 6, row + 6))
                    bad += not seam_case(program, folder, path, ["--centre", f"{centre_lat},{centre_lon}", "--size", "12,16"],
                                         wanted, f"{start} ascending={ascending}")
    return bad


def seam_case(program, folder, path, options, wanted, name):
    import xarray as xr
    made, out = os.path.join(folder, "set"), os.path.join(folder, "out.nc")
    subprocess.run([program, "prepare", path, "--variable", "v", *options, "-o", made], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([program, "export", made, "-o", out], check=True, stdout=subprocess.DEVNULL)
    with xr.open_dataset(out) as own:
        good = (np.array_equal(own["v"].values, wanted["v"].values) and np.array_equal(own.time, wanted.time)
                and np.allclose(own.lat, wanted.lat) and np.allclose((own.lon.values - wanted.lon.values + 180) % 360, 180)
                and bool(np.all(np.diff(own.lon) > 0)))
    print(f"longitudes from {name}, {' '.join(options)}: " + ("equal" if good else "WRONG"))
    return good


if __name__ == "__main__":
    program, what = sys.argv[1], sys.argv[2]
    wrong = {"grib": lambda: compare_grib(program, sys.argv[3]), "netcdf": lambda: compare_netcdf(program),
             "seam": lambda: compare_seam(program)}[what]()
    sys.exit(1 if wrong else 0)
