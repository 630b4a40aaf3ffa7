"""Peers for the Frechet distance of two sets of features: how pytorch-fid (scipy's sqrtm) and torchmetrics (eigenvalues of the product)
take the trace of the root, and the symmetric way (Cholesky, then eigvalsh) in PyTorch.

    python bench/peers/frechet.py --real r.npy --fake s.npy       float32 features n x d; one thread unless --threads
Prints one JSON line per peer: seconds of processor time, and the distance.
"""
import argparse
import json
import os
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", required=True)
    parser.add_argument("--fake", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    for name in ("OMP", "MKL", "OPENBLAS"):
        os.environ[f"{name}_NUM_THREADS"] = str(args.threads)
    import numpy as np
    import torch

    torch.set_num_threads(args.threads)
    sets = [np.load(args.real).astype(np.float64), np.load(args.fake).astype(np.float64)]

    def moments():
        return [(x.mean(0), np.cov(x, rowvar=False)) for x in sets]

    (m1, s1), (m2, s2) = moments()
    base = float((m1 - m2) @ (m1 - m2) + np.trace(s1) + np.trace(s2))

    def sqrtm():
        from scipy.linalg import sqrtm as root

        return base - 2 * float(np.trace(root(s1 @ s2)).real)

    def eigvals():
        return base - 2 * torch.linalg.eigvals(torch.from_numpy(s1) @ torch.from_numpy(s2)).sqrt().real.sum().item()

    def symmetric():
        l = torch.linalg.cholesky(torch.from_numpy(s1))
        return base - 2 * torch.linalg.eigvalsh(l.T @ torch.from_numpy(s2) @ l).clamp(min=0).sqrt().sum().item()

    for case, peer, run, rounds in (
        ("moments", "numpy", moments, 1),
        ("root", "scipy sqrtm", sqrtm, 1),
        ("root", "torch eigvals", eigvals, 1),
        ("root", "torch cholesky and eigvalsh", symmetric, args.rounds),
    ):
        line = {"bench": "frechet", "case": case, "peer": peer}
        try:
            times = []
            for _ in range(rounds + (rounds > 1)):  # a warm call first where it is repeated
                start = time.process_time()
                value = run()
                times.append(time.process_time() - start)
            line["seconds"] = sorted(times[-rounds:])[rounds // 2]
            if case == "root":
                line["value"] = value
        except ImportError as error:
            line["skipped"] = str(error)
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
