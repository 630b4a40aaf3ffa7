"""Golden values of the filter (1, 3, 3, 1) that changes the size of images: scipy's upfirdn along both directions.

One line of sizes, then lines "key offset shape..." into fir.bin (float32), images as height x width x channels.
    python make_fir.py [--out FOLDER]
"""
import argparse
import pathlib

import numpy as np
from scipy.signal import upfirdn

TAPS = np.array([1.0, 3.0, 3.0, 1.0]) / 8


def along(x, axis, up):
    full = upfirdn(2 * TAPS if up else TAPS, x, up=2 if up else 1, down=1 if up else 2, axis=axis)
    length = 2 * x.shape[axis] if up else x.shape[axis] // 2
    return np.take(full, range(1, 1 + length), axis=axis)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "net")
    folder = parser.parse_args().out
    x = np.random.default_rng(5).standard_normal((6, 10, 3)).astype("<f4")
    arrays = [("x", x), ("down", along(along(x, 0, False), 1, False)), ("up", along(along(x, 0, True), 1, True))]
    lines, offset = ["height 6 width 10 channels 3"], 0
    with open(folder / "fir.bin", "wb") as f:
        for key, value in arrays:
            value = np.ascontiguousarray(value, dtype="<f4")
            f.write(value.tobytes())
            lines.append(" ".join([key, str(offset), *map(str, value.shape)]))
            offset += value.size
    (folder / "fir.txt").write_text("\n".join(lines) + "\n")
