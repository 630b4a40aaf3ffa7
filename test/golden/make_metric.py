"""Writes metric/*.npy and metric/scores.json: small pairs of sets and their scores by scipy, scikit-learn, prdc and numpy.

    pip install numpy scipy scikit-learn prdc && python test/golden/make_metric.py
The score f1_prd depends on random numbers, so its mean and standard deviation over seeds are kept.
"""
import contextlib
import io
import json
import os
import pathlib
import sys

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
import prdc
from scipy.stats import wasserstein_distance

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent.parent / "bench" / "peers"))
import scores

scores.np = np
SEEDS = 8


def knn(real, fake, k):
    """Precision and recall by all pairwise distances."""
    def covered(own, other):
        d = np.sqrt(((own[:, None] - own[None]) ** 2).sum(-1))
        radius = np.sort(d, axis=1)[:, k]
        return float((np.sqrt(((own[:, None] - other[None]) ** 2).sum(-1)) <= radius[:, None]).any(axis=0).mean())

    return covered(real, fake), covered(fake, real)


def main():
    rng = np.random.default_rng(2024)
    cases = {
        "mixture": (scores.mixture2d(2600, 1.5, 1), scores.mixture2d(2600, 1.8, 2) + 0.05 * rng.standard_normal((2600, 2)), 10),
        "student3d": (rng.standard_t(2.0, (900, 3)), 1.2 * rng.standard_t(3.0, (1100, 3)), 5),
        "normal12d": (rng.standard_normal((300, 12)), rng.standard_normal((300, 12)) * 1.1 + 0.1, 3),
    }
    golden, out = {}, here / "metric"
    out.mkdir(exist_ok=True)
    for name, (real, fake, k) in cases.items():
        real, fake = real.astype(np.float32), fake.astype(np.float32)
        np.save(out / f"{name}_real.npy", real)
        np.save(out / f"{name}_fake.npy", fake)
        real, fake = real.astype(np.float64), fake.astype(np.float64)
        precision, recall = knn(real, fake, k)
        with contextlib.redirect_stdout(io.StringIO()):
            other = prdc.compute_prdc(real, fake, nearest_k=k)
        assert abs(other["precision"] - precision) < 1e-12 and abs(other["recall"] - recall) < 1e-12
        assert abs(scores.f1_knn_ckdtree(real, fake, k, 1) - scores.harmonic_mean(precision, recall)) < 1e-12
        n = min(len(real), len(fake))
        prd = [scores.f1_prd_minibatch(real, fake, 100 if n > 2500 else 20, 10, 1000 * s) for s in range(SEEDS)]
        center = np.median(real, axis=0)
        radii = [np.linalg.norm(x - center, axis=1) for x in (real, fake)]
        golden[name] = {
            "k": k,
            "precision_knn": precision,
            "recall_knn": recall,
            "f1_prd_mean": float(np.mean(prd)),
            "f1_prd_sd": float(np.std(prd, ddof=1)),
            "f1_prd_seeds": SEEDS,
            "w1_pooled": float(wasserstein_distance(real.ravel(), fake.ravel())),
            "log_q_0.99": float(np.log(np.quantile(radii[1], 0.99) / np.quantile(radii[0], 0.99))),
        }
    (out / "scores.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
