"""Peers for positive stable draws in double, E exp(-s S) = exp(-s^rho): numpy with Kanter's formula, scipy's levy_stable.

Prints one JSON line per peer; laplace_error is |mean exp(-S) - exp(-1)| over its standard error, so that the draws are known
to follow the law.
    python bench/peers/stable.py --rho 0.85
"""
import argparse
import json
import os
import statistics
import sys
import time


def numpy_kanter(np, rho, n, seed):
    """Powers by exp and log, in place: faster than numpy's power."""
    rng = np.random.default_rng(seed)

    def draw():
        angle = np.pi * np.clip(rng.random(n), 1e-16, 1 - 1e-16)
        log = np.log(np.sin((1 - rho) * angle) / rng.standard_exponential(n))
        log *= (1 - rho) / rho
        log -= np.log(np.sin(angle)) / rho
        s = np.exp(log, out=log)
        s *= np.sin(rho * angle)
        return s

    return draw


def scipy_levy(np, rho, n, seed):
    from scipy.stats import levy_stable

    rng = np.random.default_rng(seed)
    scale = np.cos(np.pi * rho / 2) ** (1 / rho)
    return lambda: levy_stable.rvs(rho, 1, scale=scale, size=n, random_state=rng)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rho", type=float, default=0.85)
    parser.add_argument("-n", type=int, default=204800, help="draws a call: the clocks of one training step")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for name in ("OMP", "MKL", "OPENBLAS"):  # read when numpy is loaded
        os.environ[f"{name}_NUM_THREADS"] = "1"
    for peer, make in (("numpy", numpy_kanter), ("scipy", scipy_levy)):
        line = {"bench": "stable", "peer": peer}
        try:
            import numpy as np

            draw = make(np, args.rho, args.n, args.seed)
            e = np.exp(-draw())
            error = abs(e.mean() - np.exp(-1)) / (e.std() / len(e) ** 0.5)
            wall, cpu = [], []
            for _ in range(args.repeats):
                start = time.perf_counter(), time.process_time()
                draw()
                wall.append(time.perf_counter() - start[0])
                cpu.append(time.process_time() - start[1])
            line |= {"per_second": args.n / statistics.median(wall), "per_cpu_second": args.n / statistics.median(cpu), "n": args.n,
                     "rho": args.rho, "laplace_error": float(error)}
        except ImportError as missing:
            line["skipped"] = f"{missing.name} is not installed"
        print(json.dumps(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
