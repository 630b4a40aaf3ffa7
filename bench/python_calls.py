"""Speed of the Python package: what a call costs over the C++ one, and the same work in PyTorch, POT and pysiglib.

    PYTHONPATH=build/python $(script/venv peers)/bin/python bench/python_calls.py [--threads 1 2] [--only calls matcher ...]

Prints one JSON line for each case with the median seconds of ours and of the peer, measured in turns, and their ratio;
"skipped" where a package or a device is missing. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time


def seconds(*calls, rounds=9, round_seconds=0.2):
    """For each call the median over rounds of its mean time; the calls take turns, so that all see the same machine."""
    means = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(rounds):
        for call, own in zip(calls, means):
            count, start = 0, time.perf_counter()
            while (spent := time.perf_counter() - start) < round_seconds:
                call()
                count += 1
            own.append(spent / count)
    return [statistics.median(own) for own in means]


def line(name, ours, peer=None, **more):
    out = {"bench": "python", "case": name, "seconds": ours, **more}
    if peer is not None:
        out |= {"peer_seconds": peer, "times_as_fast": round(peer / ours, 2)}
    print(json.dumps(out), flush=True)


def call_overhead(htfm, torch):
    """Whole calls on arrays so small that the C++ work is next to nothing: what they take is more than what the call costs."""
    path, point = torch.zeros(1, 2, 2, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)
    matcher = htfm.FlowMatcher(torch.randn(64, 2))
    batch, array = torch.randn(1, 2), path.numpy()
    cases = {
        "signature of a torch tensor": (lambda: htfm.signature(path, 1), lambda: htfm._core.signature(path, 1, "linear", False, None, False)),
        "signature of a numpy array": (lambda: htfm.signature(array, 1), lambda: htfm._core.signature(path, 1, "linear", False, None, False)),
        "assignment": (lambda: htfm.couplings.assignment(point, point), lambda: htfm._core.assign(point, point, 2.0)),
        "FlowMatcher.sample": (lambda: matcher.sample(batch), lambda: matcher._matcher.sample(batch, [])),
    }
    for name, (call, bound) in cases.items():
        whole, inner = seconds(call, bound)
        line(f"whole call of {name}", whole, over_the_bound_function=whole - inner, bar_seconds=20e-6)


class TorchPool:
    """What FlowMatcher does, in PyTorch's own operations: a pool of clocks (the end and the area of a stable subordinator on
    a grid) ranked by the radius of their source, the data's level by its rank, order 1 of the feature with running
    statistics, preconditioning with one data scale. A new pool is drawn once as many rows were taken as it holds."""

    def __init__(self, torch, x, alpha=1.7, grid=200, pool=1 << 18):
        self.torch, self.rho, self.pool = torch, alpha / 2, pool
        self.sorted = torch.linalg.norm(x - x.median(0).values, dim=1).sort().values
        self.centre = x.median(0).values
        self.data_scale = float(self.sorted[len(x) // 2]) / 1.1774
        self.mean, self.square, self.count, self.left = 0.0, 0.0, 0, 0
        self.scale = ((self.rho + 1) / grid / 2) ** (1 / self.rho)
        weight = 1 - (torch.arange(grid, dtype=torch.float64) + 0.5) / grid
        self.weight = weight * ((self.rho + 1) * (weight**self.rho).mean()) ** (-1 / self.rho)

    def positive_stable(self, *shape):
        torch, rho = self.torch, self.rho
        u = torch.rand(*shape, dtype=torch.float64) * torch.pi
        e = -torch.log(torch.rand(*shape, dtype=torch.float64))
        a = torch.sin(rho * u) / torch.sin(u) ** (1 / rho)
        return a * (torch.sin((1 - rho) * u) / e) ** ((1 - rho) / rho)

    def refill(self, dim):
        torch = self.torch
        parts = []
        for _ in range(64):  # in parts that stay in the caches
            steps = self.scale * self.positive_stable(self.pool // 64, len(self.weight))
            parts.append((steps @ self.weight, steps.sum(1)))
        area, end = (torch.cat(column) for column in zip(*parts))
        radius = (2 * area).sqrt() * torch.randn(self.pool, dim, dtype=torch.float64).norm(dim=1)
        self.radius, order = radius.sort()
        self.area, self.end, self.left = area[order], end[order], self.pool

    def sample(self, x1):
        torch = self.torch
        n, dim = x1.shape
        if self.left < n:
            self.refill(dim)
        self.left -= n
        size = torch.linalg.norm(x1 - self.centre, dim=1)
        rank = torch.searchsorted(self.sorted, size)
        level = ((rank + torch.rand(n)) / (len(self.sorted) + 1)).clamp_(0, 1 - 1e-7)
        place = (level * self.pool).long()
        area, radius = self.area[place], self.radius[place]
        z = torch.randn(n, dim, dtype=torch.float64)
        x0 = z * (radius / z.norm(dim=1)).unsqueeze(1)
        raw = torch.stack([torch.log1p(self.end[place]), area.log()], 1)
        self.count += n
        self.mean = self.mean + (raw - self.mean).sum(0) / self.count
        self.square = self.square + ((raw - self.mean) ** 2).sum(0)
        feature = ((raw - self.mean) / (self.square / self.count).sqrt()).float()
        t = torch.rand(n, dtype=torch.float64)
        s0, sd = (2 * area).sqrt(), self.data_scale
        variance = (t * sd) ** 2 + ((1 - t) * s0) ** 2
        skip = (t * sd**2 - (1 - t) * s0**2) / variance
        c_in, c_out = variance.rsqrt(), sd * s0 * variance.rsqrt()
        x_t = t.unsqueeze(1) * x1 + (1 - t).unsqueeze(1) * x0
        u_t = ((x1 - x0) - skip.unsqueeze(1) * x_t) / c_out.unsqueeze(1)
        return t.float(), (c_in.unsqueeze(1) * x_t).float(), u_t.float(), feature


def calls_of_a_pool(call, calls, pools):
    """Seconds of a call while a pool lasts (median), and of drawing a pool (median)."""
    within, drawn = [], []
    for _ in range(pools):
        own = []
        for _ in range(calls):
            start = time.perf_counter()
            call()
            own.append(time.perf_counter() - start)
        within.append(statistics.median(own))
        drawn.append(max(own) - within[-1])
    return statistics.median(within), statistics.median(drawn)


def matcher_case(htfm, torch, threads):
    x = torch.from_numpy(htfm.data.synthetic("mixture2d", 32000, seed=1)).float()
    ours = htfm.FlowMatcher(x, htfm.clocks.stable(1.7), "pool", settings={"feature.order": 1})
    peer = TorchPool(torch, x)
    batch = x[:1024].contiguous()
    calls = peer.pool // 1024
    (call, pool), (peer_call, peer_pool) = calls_of_a_pool(lambda: ours.sample(batch), calls, 5), calls_of_a_pool(lambda: peer.sample(batch), calls, 1)
    name = "FlowMatcher.sample, batch 1024, 2D, stable 1.7, order 1, pool"
    bar = "at least 5 times as fast"
    line(f"{name}: while a pool lasts", call, peer_call, threads=threads, bar=bar)
    line(f"{name}: with a new pool every {calls} calls", call + pool / calls, peer_call + peer_pool / calls, threads=threads, bar=bar)


def assignment_case(htfm, torch):
    import numpy as np

    try:
        import ot
    except ImportError as missing:
        line("assignment, 1024 points, 2D", None, skipped=f"{missing.name} is not installed")
        return
    rng = np.random.default_rng(0)
    x0, x1 = rng.normal(size=(1024, 2)), rng.standard_t(2, size=(1024, 2))
    weight = np.full(1024, 1 / 1024)

    def peer():
        return ot.emd(weight, weight, ot.dist(x1, x0), numItermax=10**7, numThreads=1).argmax(1)

    cost = ot.dist(x1, x0)
    a, b = htfm.couplings.assignment(x0, x1), peer()
    rows = np.arange(1024)
    assert abs(cost[rows, a].sum() - cost[rows, b].sum()) < 1e-6 * cost[rows, b].sum()
    line("assignment, 1024 points, 2D", *seconds(lambda: htfm.couplings.assignment(x0, x1), peer), bar="at least 5 times as fast")


def signature_case(htfm, torch, threads):
    import numpy as np

    try:
        import pysiglib
    except ImportError as missing:
        line("signature", None, skipped=f"{missing.name} is not installed")
        return
    jumps = np.random.default_rng(0).pareto(1.0, size=(1024, 200)) / 200
    paths = np.zeros((1024, 201, 2), dtype=np.float32)
    paths[:, :, 0] = np.linspace(0, 1, 201)
    paths[:, 1:, 1] = np.cumsum(jumps, axis=1)
    for depth in range(1, 7):
        ours, theirs = htfm.signature(paths, depth), pysiglib.sig(paths, depth, n_jobs=threads)
        theirs = np.asarray(theirs)[:, -ours.shape[1] :]
        assert np.allclose(ours, theirs, rtol=1e-2, atol=1e-3)
        line(f"signature of 1024 clocks of 200 steps, depth {depth}",
             *seconds(lambda: htfm.signature(paths, depth), lambda: pysiglib.sig(paths, depth, n_jobs=threads)), threads=threads,
             bar="at least 4 times as fast")


def cuda_case(htfm, torch):
    if not torch.cuda.is_available():
        line("FlowMatcher.sample of 100 CIFAR images on CUDA", None, skipped="no CUDA device")
        return
    x = torch.rand(10000, 3, 32, 32, device="cuda") * 2 - 1
    batch = x[:100].contiguous()
    for coupling in ("independent", "pool"):
        matcher = htfm.FlowMatcher(x, htfm.clocks.stable(1.7), coupling)

        def waited():
            matcher.sample(batch)
            torch.cuda.synchronize()

        whole, queued = seconds(waited, lambda: matcher.sample(batch))
        line(f"FlowMatcher.sample of 100 CIFAR images on CUDA, {coupling}", whole, queued_seconds=queued, bar_seconds=1e-3)


CASES = ("matcher", "signature", "assignment", "calls", "cuda")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", choices=CASES, nargs="+", default=CASES)
    args = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, str(max(args.threads)))
    import torch

    import htfm

    for threads in args.threads:
        torch.set_num_threads(threads)
        htfm.set_thread_count(threads)
        for name, case in (("matcher", matcher_case), ("signature", signature_case)):
            if name in args.only:
                case(htfm, torch, threads)
    torch.set_num_threads(1)
    htfm.set_thread_count(1)
    for name, case in (("assignment", assignment_case), ("calls", call_overhead)):
        if name in args.only:
            case(htfm, torch)
    htfm.set_thread_count(0)  # one for each core
    if "cuda" in args.only:
        cuda_case(htfm, torch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
