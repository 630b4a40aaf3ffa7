"""Writes metric/frechet.json with sets of features, and TorchScript networks for the tests of image scores.

    python test/golden/make_features.py          needs numpy and torch; compares with scipy's sqrtm where scipy is there

The trace of the root comes from the features themselves: tr (S_a S_b)^(1/2) is the sum of the singular values of A B' / sqrt((n-1)(m-1)) for
the centred sets A and B. No covariance, no square, no root: exact to rounding, for singular covariances too.
"""
import json
import pathlib

import numpy as np
import torch

OUT = pathlib.Path(__file__).resolve().parent / "metric"


def frechet(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    ma, mb = a.mean(0), b.mean(0)
    ca, cb = (a - ma) / np.sqrt(len(a) - 1), (b - mb) / np.sqrt(len(b) - 1)
    root = np.linalg.svd(ca @ cb.T, compute_uv=False).sum()
    distance = float(((ma - mb) ** 2).sum() + (ca**2).sum() + (cb**2).sum() - 2 * root)
    try:
        from scipy.linalg import sqrtm

        plain = ((ma - mb) ** 2).sum() + (ca**2).sum() + (cb**2).sum() - 2 * np.trace(sqrtm(ca.T @ ca @ cb.T @ cb)).real
        print(f"distance {distance:.12g}, by sqrtm {plain:.12g}")
    except ImportError:
        pass
    return distance, float(root)


def make_sets():
    rng = np.random.default_rng(5)

    def features(n, dim, shift=0.0):
        mix = np.random.default_rng(7).normal(size=(dim, dim)) * (1 + np.arange(dim))[:, None] ** -0.6
        return np.maximum((rng.normal(size=(n, dim)) + shift) @ mix + 0.3, 0).astype(np.float32)

    dead_a, dead_b = features(400, 24), features(350, 24, 0.2)
    dead_a[:, 3], dead_b[:, 17], dead_a[:, 20], dead_b[:, 20] = 0, 0.5, 0, 0
    far = 4096.0
    cases = {
        "full": (features(400, 24), features(350, 24, 0.2)),
        "dead": (dead_a, dead_b),
        "few_real": (features(30, 48), features(200, 48, 0.1)),
        "few_fake": (features(200, 48), features(20, 48, 0.1)),
        "few_both": (features(25, 48), features(20, 48, 0.1)),
        "far": ((features(300, 10) + far).astype(np.float32), (features(300, 10, 0.1) + far).astype(np.float32)),
    }
    golden = {}
    for name, (a, b) in cases.items():
        np.save(OUT / f"frechet_{name}_real.npy", a)
        np.save(OUT / f"frechet_{name}_fake.npy", b)
        golden[name] = dict(zip(("distance", "root"), frechet(a, b)))
    (OUT / "frechet.json").write_text(json.dumps(golden, indent=1) + "\n")


class Patches(torch.nn.Module):
    """Means of the image's quarters, channel by channel: features that a test can compute."""

    def forward(self, x):
        return torch.nn.functional.adaptive_avg_pool2d(x.float(), 2).flatten(1)


class Maps(torch.nn.Module):
    def forward(self, x):
        return x.float() / 255


class Strict(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 4, 8, stride=8)

    def forward(self, x):
        return self.layer(x.float() / 255).flatten(1)


class Broken(torch.nn.Module):
    def forward(self, x):
        return torch.log(x.float().flatten(1) - 1000)


def make_networks():
    torch.manual_seed(0)
    for name, network in (("patches", Patches()), ("maps", Maps()), ("strict", Strict()), ("broken", Broken())):
        torch.jit.script(network.eval()).save(str(OUT / f"{name}.pt"))
    torch.save(Strict().state_dict(), OUT / "weights.pt")


if __name__ == "__main__":
    make_sets()
    make_networks()
