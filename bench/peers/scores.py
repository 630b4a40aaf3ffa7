"""Peers for the scores f1_knn and f1_prd: scipy's cKDTree and scikit-learn's MiniBatchKMeans.

Data: two .npy files (--real, --fake), or by default two sets of the 2D mixture (nine isotropic stable components, the
second one with another index so that the scores are not all 1). Prints one JSON line per case, one thread unless --threads.
    python bench/peers/scores.py --real r.npy --fake s.npy
"""
import argparse
import json
import os
import sys
import time


def mixture2d(n, alpha, seed):
    """Nine isotropic alpha-stable components of scale 0.1 on a 3 x 3 grid of spacing 2."""
    rng = np.random.default_rng(seed)
    weights = np.array([0.18, 0.08, 0.14, 0.06, 0.09, 0.10, 0.16, 0.07, 0.12])
    counts = np.floor(weights * n).astype(int)
    counts[: n - counts.sum()] += 1
    which = rng.permutation(np.repeat(np.arange(9), counts))
    rho = alpha / 2
    if rho < 1:  # Kanter's formula
        u = np.pi * (1 - rng.random(n)) * (1 - 1e-15)
        e = rng.standard_exponential(n)
        s = np.sin(rho * u) / np.sin(u) ** (1 / rho) * (np.sin((1 - rho) * u) / e) ** ((1 - rho) / rho)
    else:
        s = np.ones(n)
    means = np.stack([which // 3, which % 3], axis=1) * 2.0 - 2.0
    return means + 0.1 * np.sqrt(2 * s)[:, None] * rng.standard_normal((n, 2))


def read_points(path):
    array = np.load(path)
    return array.reshape(len(array), -1).astype(np.float64)


def harmonic_mean(p, r):
    return 2 * p * r / (p + r) if p + r > 0 else 0.0


def f1_knn_ckdtree(real, fake, k, threads):
    """Precision and recall of k-NN balls. Fastest way found with this tree: radii, then all points in each ball."""
    from scipy.spatial import cKDTree

    trees = cKDTree(real), cKDTree(fake)

    def covered(own, other):
        radius = own.query(own.data, k=[k + 1], workers=threads)[0][:, 0]
        hit = np.zeros(other.n, dtype=bool)
        for begin in range(0, own.n, 2048):
            part = slice(begin, begin + 2048)
            lists = other.query_ball_point(own.data[part], radius[part], workers=threads, return_sorted=False)
            for inside in lists:
                hit[inside] = True
        return float(hit.mean())

    return harmonic_mean(covered(trees[0], trees[1]), covered(trees[1], trees[0]))


def prd_curve(p_ref, p_gen, angles=201):
    slope = np.tan(np.linspace(1e-10, np.pi / 2 - 1e-10, angles))[:, None]
    precision = np.minimum(slope * p_ref, p_gen).sum(axis=1)
    return np.clip(precision, 0, 1), np.clip(precision / slope[:, 0], 0, 1)


def f_beta(precision, recall, beta):
    return float(((1 + beta**2) * precision * recall / (beta**2 * precision + recall + 1e-10)).max())


def f1_prd_minibatch(real, fake, clusters, runs, seed):
    """Precision-recall of distributions with MiniBatchKMeans(n_init=10) on the pooled set, averaged over the runs."""
    from sklearn.cluster import MiniBatchKMeans

    n = min(len(real), len(fake))
    pooled = np.concatenate([real[:n], fake[:n]])
    curves = []
    for run in range(runs):
        model = MiniBatchKMeans(n_clusters=clusters, n_init=10, random_state=seed + run)
        labels = model.fit(pooled).labels_
        p_ref = np.bincount(labels[:n], minlength=clusters) / n
        p_gen = np.bincount(labels[n:], minlength=clusters) / n
        curves.append(prd_curve(p_ref, p_gen))
    precision, recall = np.mean(curves, axis=0)
    return harmonic_mean(f_beta(precision, recall, 8), f_beta(precision, recall, 1 / 8))


def timed(peer, case, n, threads, repeats, function):
    line = {"bench": "scores", "peer": peer, "case": case}
    try:
        value, seconds = function(), []
        for _ in range(repeats):
            start = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - start)
        line |= {"seconds": sorted(seconds)[len(seconds) // 2], "best": min(seconds), "value": value, "n": n, "threads": threads}
    except ImportError as error:
        line["skipped"] = f"{error.name} is not installed"
    print(json.dumps(line), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", help=".npy, points x dimensions")
    parser.add_argument("--fake", help=".npy, points x dimensions")
    parser.add_argument("-n", type=int, default=24000, help="points of each set where none is given")
    parser.add_argument("-k", type=int, default=10, help="neighbours")
    parser.add_argument("--clusters", type=int, help="default 100, 20 up to 2,500 points")
    parser.add_argument("--case", nargs="+", choices=["f1_knn", "f1_prd"], default=["f1_knn", "f1_prd"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write", metavar="PREFIX", help="also writes the two sets to PREFIX_real.npy and PREFIX_fake.npy")
    args = parser.parse_args()
    if (args.real is None) != (args.fake is None):
        parser.error("--real and --fake go together")
    for name in ("OMP", "MKL", "OPENBLAS"):  # read when numpy is loaded
        os.environ[f"{name}_NUM_THREADS"] = str(args.threads)
    try:
        global np
        import numpy as np
    except ImportError:
        for case, peer in (("f1_knn", "scipy_ckdtree"), ("f1_prd", "sklearn_minibatch")):
            if case in args.case:
                print(json.dumps({"bench": "scores", "peer": peer, "case": case, "skipped": "numpy is not installed"}))
        return 0
    if args.real:
        real, fake = (read_points(f) for f in (args.real, args.fake))
    else:
        real, fake = mixture2d(args.n, 1.5, args.seed), mixture2d(args.n, 1.8, args.seed + 1)
    if args.write:
        np.save(f"{args.write}_real.npy", real)
        np.save(f"{args.write}_fake.npy", fake)
    n = min(len(real), len(fake))
    clusters = args.clusters or (100 if n > 2500 else 20)
    if "f1_knn" in args.case:
        timed("scipy_ckdtree", "f1_knn", n, args.threads, args.repeats, lambda: f1_knn_ckdtree(real, fake, args.k, args.threads))
    if "f1_prd" in args.case:
        timed("sklearn_minibatch", "f1_prd", n, args.threads, args.repeats,
              lambda: f1_prd_minibatch(real, fake, clusters, 10, args.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
