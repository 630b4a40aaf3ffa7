"""Makes signature/d<d>.npy: paths, signatures and logsignatures by iisignature, for test/signature/golden_test.cpp.

    pip install numpy iisignature && python make_signature.py

Each row of a file is one path: its points (POINTS x d), the signature to the depth below, the coefficients of the Lyndon words
in the tensor logarithm, and the coordinates in the Lyndon bracket basis. Lower depths are leading columns of each level-ordered
part; the script checks that.
"""
from itertools import product
from pathlib import Path

import iisignature
import numpy as np

FOLDER = Path(__file__).resolve().parent / "signature"
POINTS = 24
DEPTH = {2: 6, 3: 5, 5: 5, 8: 2}
PATHS = {2: 20, 3: 8, 5: 3, 8: 5}


def is_lyndon(word):
    return all(word < word[i:] for i in range(1, len(word)))


def lyndon_places(d, depth):
    """Places of the Lyndon words in the levels 1..depth laid out one after the other."""
    words = [w for k in range(1, depth + 1) for w in product(range(d), repeat=k)]
    return [i for i, w in enumerate(words) if is_lyndon(w)]


def paths(d, n, rng):
    """Gaussian walks; the second half of them with time in front and increasing, heavy-tailed other channels."""
    x = rng.normal(size=(n, POINTS, d)).cumsum(1) / np.sqrt(POINTS)
    half = n // 2
    x[half:, :, 1:] = (rng.pareto(1.2, size=(n - half, POINTS, d - 1)) / POINTS).cumsum(1)
    x[half:, :, 0] = np.linspace(0, 1, POINTS)
    return x


def main():
    FOLDER.mkdir(exist_ok=True)
    for d, depth in DEPTH.items():
        x = paths(d, PATHS[d], np.random.default_rng(d))
        sig = iisignature.sig(x, depth)
        plan = iisignature.prepare(d, depth, "DX")
        brackets = np.stack([iisignature.logsig(p, plan) for p in x])
        words = np.stack([iisignature.logsig(p, plan, "X") for p in x])[:, lyndon_places(d, depth)]
        for m in range(2 if d == 8 else 1, depth):
            lower = iisignature.logsig(x[0], iisignature.prepare(d, m))
            assert np.allclose(lower, brackets[0, : len(lower)], rtol=1e-9, atol=1e-12)
            assert np.allclose(iisignature.sig(x[0], m), sig[0, : iisignature.siglength(d, m)])
        out = np.concatenate([x.reshape(len(x), -1), sig, words, brackets], axis=1)
        np.save(FOLDER / f"d{d}.npy", out)
        print(f"d{d}.npy", out.shape)


if __name__ == "__main__":
    main()
