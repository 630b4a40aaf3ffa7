"""Times pysiglib and iisignature on the clock's feature: paths (s, T_s) of 200 steps in float32, one thread.

    pip install numpy pysiglib iisignature && python bench/peers/signature.py

Prints one JSON line for each peer and case: {"bench": "signature", "peer": ..., "case": "sig" | "logsig", "per_second": ...}.
A package that is absent gives a line with "skipped". Rates are those of the best of several rounds, and of the fastest method
where a package has several.
"""
import argparse
import json
import os
import time

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before any library starts its threads


def clock_paths(np, n, steps, seed=0):
    """n x (steps+1) x 2: uniform time, then an increasing clock with Pareto(1) increments."""
    jumps = np.random.default_rng(seed).pareto(1.0, size=(n, steps)) / steps
    paths = np.zeros((n, steps + 1, 2))
    paths[:, :, 0] = np.linspace(0.0, 1.0, steps + 1)
    paths[:, 1:, 1] = np.cumsum(jumps, axis=1)
    return paths.astype(np.float32)


def seconds_per_call(call, rounds, round_seconds):
    """The best round's mean: other load on the machine only ever adds."""
    call()
    best = float("inf")
    for _ in range(rounds):
        calls, start = 0, time.perf_counter()
        while (spent := time.perf_counter() - start) < round_seconds:
            call()
            calls += 1
        best = min(best, spent / calls)
    return best


def pysiglib_cases(paths, depth):
    import pysiglib

    for method in (1, 2):
        pysiglib.prepare_log_sig(paths.shape[2], depth, method)
    yield "sig", {"sig": lambda: pysiglib.sig(paths, depth, n_jobs=1)}
    yield "logsig", {
        "method 1 (words)": lambda: pysiglib.log_sig(paths, depth, method=1, n_jobs=1),
        "method 2 (brackets)": lambda: pysiglib.log_sig(paths, depth, method=2, n_jobs=1),
    }


def iisignature_cases(paths, depth):
    import iisignature

    plan = iisignature.prepare(paths.shape[2], depth)
    yield "sig", {"sig": lambda: iisignature.sig(paths, depth)}
    yield "logsig", {"default": lambda: iisignature.logsig(paths, plan)}


PEERS = {"pysiglib": pysiglib_cases, "iisignature": iisignature_cases}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paths", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--round-seconds", type=float, default=0.1)
    options = parser.parse_args()

    def emit(**fields):
        print(json.dumps({"bench": "signature", **fields}), flush=True)

    try:
        import numpy as np
    except ImportError:
        for peer in PEERS:
            emit(peer=peer, skipped="numpy is not installed")
        return
    paths = clock_paths(np, options.paths, options.steps)
    for peer, cases in PEERS.items():
        try:
            for case, variants in cases(paths, options.depth):
                timed = {name: seconds_per_call(call, options.rounds, options.round_seconds) for name, call in variants.items()}
                fastest = min(timed, key=timed.get)
                emit(peer=peer, case=case, variant=fastest, per_second=round(options.paths / timed[fastest]), depth=options.depth,
                     paths=options.paths, steps=options.steps, threads=1)
        except ImportError:
            emit(peer=peer, skipped=f"{peer} is not installed")


if __name__ == "__main__":
    main()
