"""Peers for the exact assignment of two point sets, cost |x - y|^p: scipy's linear_sum_assignment, POT's ot.emd. One thread.

Prints one JSON line per peer; seconds are those of the solver alone, the matrix of costs being given to it.
    python bench/peers/assignment.py --source source.npy --data data.npy -p 1.5
"""
import argparse
import json
import os
import statistics
import sys
import time

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before any library starts its threads


def scipy_lsa(np, cost):
    from scipy.optimize import linear_sum_assignment

    return lambda: linear_sum_assignment(cost)[1]


def pot_emd(np, cost):
    import ot

    weight = np.full(len(cost), 1 / len(cost))
    return lambda: ot.emd(weight, weight, cost, numItermax=10**7, numThreads=1, center_dual=False).argmax(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, help=".npy, points x dimensions")
    parser.add_argument("--data", required=True, help=".npy, points x dimensions")
    parser.add_argument("-p", type=float, default=2.0, help="power of the distance")
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    for peer, make in (("scipy", scipy_lsa), ("POT", pot_emd)):
        line = {"bench": "assignment", "peer": peer, "p": args.p}
        try:
            import numpy as np
            from scipy.spatial.distance import cdist

            x, y = (np.load(f).astype(np.float64) for f in (args.source, args.data))
            cost = cdist(y, x) ** args.p
            solve = make(np, cost)
            column, wall, cpu = solve(), [], []
            for _ in range(args.repeats):
                start = time.perf_counter(), time.process_time()
                solve()
                wall.append(time.perf_counter() - start[0])
                cpu.append(time.process_time() - start[1])
            line |= {"seconds": statistics.median(wall), "cpu_seconds": statistics.median(cpu), "cost": float(cost[np.arange(len(cost)), column].sum()),
                     "n": len(cost)}
        except ImportError as missing:
            line["skipped"] = f"{missing.name} is not installed"
        print(json.dumps(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
