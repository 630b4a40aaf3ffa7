"""Seconds a field, of the wall and of the processor, of reading GRIB2 files with cfgrib and pygrib (pip install cfgrib pygrib), each file once after a first one that
warms up; a double array of the values is the end. Ours: HTFM_GRIB_FILES=FOLDER build/field_test --gtest_filter='*OwnFiles*'.

    python bench/peers/grib.py FOLDER cfgrib
    python bench/peers/grib.py FOLDER pygrib    # apart: each brings an ecCodes of its own
"""
import glob
import importlib.util
import json
import sys
import time


def cfgrib_reader():
    import cfgrib

    def read(path):
        data = cfgrib.open_dataset(path, indexpath="")
        return data[list(data.data_vars)[0]].values

    return read


def pygrib_reader():
    import pygrib

    def read(path):
        with pygrib.open(path) as file:
            return file.message(1).values

    return read


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("cfgrib", "pygrib"):
        sys.exit("usage: grib.py FOLDER cfgrib|pygrib")
    files = sorted(glob.glob(sys.argv[1] + "/*.grib2"))
    if len(files) < 2:
        sys.exit(f"{sys.argv[1]}: expected at least two files *.grib2, got {len(files)}")
    for name, make in (("cfgrib", cfgrib_reader), ("pygrib", pygrib_reader)):
        if name != sys.argv[2]:
            continue
        if not importlib.util.find_spec(name):
            print(json.dumps({"peer": name, "skipped": "not installed"}), flush=True)
            continue
        read = make()
        read(files[0])
        start, wall = time.process_time(), time.perf_counter()
        for path in files[1:]:
            read(path)
        each = [round(seconds / (len(files) - 1), 3) for seconds in (time.perf_counter() - wall, time.process_time() - start)]
        print(json.dumps({"peer": name, "seconds_a_field": each[0], "cpu_seconds_a_field": each[1]}), flush=True)


if __name__ == "__main__":
    main()
