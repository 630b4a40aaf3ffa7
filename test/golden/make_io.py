"""Makes the golden files of the io room with numpy and the PyPI package safetensors, and reads ours with other people's readers.

    python test/golden/make_io.py                        writes test/golden/io/*
    python test/golden/make_io.py --verify FILE...       reads safetensors files of ours, prints what they hold, checks their hash
    python test/golden/make_io.py --verify-events DIR    reads event files of ours with TensorBoard's reader, prints the curves

Packages: numpy, safetensors, ml_dtypes; xxhash for --verify; tensorboard for --verify-events.
"""

import argparse
import json
import pathlib
import struct
import sys
import zlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent / "io"


def numbers(rows, columns, dtype):
    """x[i, j] = i - j / 8: exact in every type here; the tests know the formula."""
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    return (i - j / 8).astype(dtype)


def make_npy():
    np.save(FOLDER / "f4.npy", numbers(3, 4, "<f4"))
    np.save(FOLDER / "f8.npy", numbers(5, 2, "<f8"))
    np.save(FOLDER / "scalar.npy", np.float64(2.5))
    np.save(FOLDER / "vector.npy", numbers(1, 6, "<f8")[0])
    np.save(FOLDER / "cube.npy", numbers(6, 4, "<f4").reshape(2, 3, 4))
    np.save(FOLDER / "no_rows.npy", np.zeros((0, 3), "<f4"))
    np.save(FOLDER / "i8.npy", np.arange(-3, 4, dtype="<i8"))
    np.save(FOLDER / "u1.npy", np.arange(250, 256, dtype="u1").reshape(3, 2))
    for version in (2, 3):
        with open(FOLDER / f"f8_version{version}.npy", "wb") as file:
            np.lib.format.write_array(file, numbers(3, 2, "<f8"), version=(version, 0))
    np.save(FOLDER / "fortran.npy", np.asfortranarray(numbers(3, 2, "<f8")))
    np.save(FOLDER / "big_endian.npy", numbers(3, 2, ">f4"))
    np.save(FOLDER / "half.npy", numbers(3, 2, "<f2"))
    np.save(FOLDER / "complex.npy", numbers(3, 2, "<c16"))
    np.save(FOLDER / "bool.npy", np.array([[True], [False]]))
    np.save(FOLDER / "text.npy", np.array([["a"], ["bc"]]))
    np.save(FOLDER / "object.npy", np.array([[1.5], [None]], dtype=object), allow_pickle=True)
    np.save(FOLDER / "structured.npy", np.zeros(2, dtype=[("x", "<f4"), ("y", "<f8")]))
    broken = numbers(4, 3, "<f8")
    broken[2, 1] = np.nan
    broken[3, 0] = np.inf
    np.save(FOLDER / "nan.npy", broken)


def make_safetensors():
    import ml_dtypes
    from safetensors.numpy import save_file

    one = {"weight": numbers(2, 3, "<f4")}
    save_file(one, FOLDER / "one.safetensors", metadata={"step": "12"})
    mixed = {
        "b.float64": numbers(2, 2, "<f8"),
        "a.float32": numbers(3, 1, "<f4"),
        "c.int64": np.arange(-2, 3, dtype="<i8"),
        "d.uint8": np.array([0, 127, 255], dtype="u1"),
        "e.bfloat16": numbers(2, 4, ml_dtypes.bfloat16),
        "f.float16": numbers(2, 2, "<f2"),
        "g.scalar": np.array(-1.25, dtype="<f4"),
        "h.empty": np.zeros((0, 7), dtype="<f4"),
        'i."quoted" \u00e9\n': np.array([3], dtype="<f4"),
    }
    save_file(mixed, FOLDER / "mixed.safetensors")
    save_file({}, FOLDER / "nothing.safetensors")


def make_png():
    """Encoded here with zlib alone, so that reading is compared with another writer than libpng."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def png(name, rows, colour, depth=8, extra=b""):
        height, width = len(rows), 7
        head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
        data = b"".join(b"\0" + bytes(row) for row in rows)
        (FOLDER / name).write_bytes(b"\x89PNG\r\n\x1a\n" + head + extra + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))

    def pixel(c, y, x):
        """The tests know the formula."""
        return (31 * c + 7 * y + 3 * x * x + 200) % 256

    grey = [[pixel(0, y, x) for x in range(7)] for y in range(5)]
    colour = [[pixel(c, y, x) for x in range(7) for c in range(3)] for y in range(5)]
    palette = bytes(pixel(c, 0, x) for x in range(7) for c in range(3))
    png("grey.png", grey, 0)
    png("rgb.png", colour, 2)
    png("palette.png", [[(x + y) % 7 for x in range(7)] for y in range(5)], 3, extra=chunk(b"PLTE", palette))
    png("alpha.png", [[v for x in range(7) for v in (pixel(0, y, x), 128)] for y in range(5)], 4)
    png("sixteen.png", [[v for x in range(7) for v in (pixel(0, y, x), 1)] for y in range(5)], 0, depth=16)


def verify(paths):
    from safetensors import safe_open
    import xxhash

    for path in paths:
        raw = pathlib.Path(path).read_bytes()
        (length,) = struct.unpack("<Q", raw[:8])
        assert length % 8 == 0, f"{path}: the header is not padded to 8 bytes"
        header = json.loads(raw[8 : 8 + length])
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            for name in file.keys():
                view = file.get_slice(name)
                line = f"{path}: {name!r} {view.get_dtype()} {view.get_shape()}"
                if view.get_dtype() != "BF16":  # numpy has no such type
                    tensor = file.get_tensor(name)
                    begin, end = header[name]["data_offsets"]
                    assert tensor.tobytes() == raw[8 + length + begin : 8 + length + end], f"{path}: {name!r} differs"
                    line += f" first {tensor.reshape(-1)[:3].tolist()}"
                print(line)
        print(f"{path}: metadata {metadata}")
        if "htfm.data_hash" in metadata:
            digest = xxhash.xxh64(raw[8 + length :]).hexdigest()
            assert digest == metadata["htfm.data_hash"], f"{path}: hash {digest} differs"
            print(f"{path}: data hash as written")


def verify_events(folder):
    from tensorboard.backend.event_processing import event_accumulator

    events = event_accumulator.EventAccumulator(folder, size_guidance={event_accumulator.SCALARS: 0})
    events.Reload()
    tags = events.Tags()["scalars"]
    assert tags, f"{folder}: no curves"
    for tag in tags:
        points = events.Scalars(tag)
        shown = [(point.step, point.value) for point in points]
        print(f"{folder}: {tag} {len(points)} points {shown[:3]} ... {shown[-1:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verify", nargs="+", metavar="FILE")
    parser.add_argument("--verify-events", metavar="DIR")
    options = parser.parse_args()
    if options.verify:
        verify(options.verify)
    if options.verify_events:
        verify_events(options.verify_events)
    if not options.verify and not options.verify_events:
        FOLDER.mkdir(exist_ok=True)
        make_npy()
        make_safetensors()
        make_png()
        for path in FOLDER.iterdir():
            path.chmod(0o644)  # the safetensors package leaves its files to their owner alone
        print(f"{len(list(FOLDER.iterdir()))} files in {FOLDER}", file=sys.stderr)


if __name__ == "__main__":
    main()
