"""Peer for the 2D job: the same training step and the same sampling, written as a PyTorch user would.

Training, one step at batch 1,024: rows of a shuffled epoch of the nine-mode mixture (alpha_D 1.5, 32,000 points), clocks
(stable: alpha 1.7 on a grid of 200 by Kanter's formula in double, area, T_1 and the standardised feature; deterministic:
none of it), source, times, clock preconditioning, forward and backward pass of the residual MLP, AdamW, EMA.
Sampling: 24,000 points by Euler steps, one network evaluation each, all points in one batch.

--mode eager: plain PyTorch. --mode compile: torch.compile of everything up to the loss, of its gradient and of the sampling
step, fused AdamW and a foreach EMA. Prints one JSON line per case; times are medians, cpu_ms is processor time of all threads.
    python bench/peers/mlp2d.py --mode compile --threads 2 --clock stable
"""
import argparse
import copy
import json
import math
import os
import statistics
import sys
import time

BATCH, POINTS, SAMPLES, NFE, GRID, ALPHA = 1024, 32000, 24000, 100, 200, 1.7


def positive_stable(rho, u):
    """Kanter's formula for two uniform numbers in (0, 1): E exp(-s S) = exp(-s^rho). Exponential numbers as logarithms and
    powers through exp and log are the fastest forms here, eager and compiled."""
    angle, e = math.pi * u[0], -torch.log(u[1])
    return torch.sin(rho * angle) * torch.exp((1 - rho) / rho * torch.log(torch.sin((1 - rho) * angle) / e) - torch.log(torch.sin(angle)) / rho)


def open_uniform(*shape):
    return torch.rand(*shape, dtype=torch.float64).clamp_(1e-16, 1 - 1e-16)


def mixture(n, alpha):
    weights = torch.tensor([0.18, 0.08, 0.14, 0.06, 0.09, 0.10, 0.16, 0.07, 0.12])
    mode = torch.multinomial(weights, n, replacement=True)
    means = torch.stack([mode // 3, mode % 3], dim=1) * 2.0 - 2.0
    s = positive_stable(alpha / 2, open_uniform(2, n))
    return means + 0.1 * torch.sqrt(2 * s).float()[:, None] * torch.randn(n, 2)


def make_network(feature, width=64, blocks=4, groups=8):
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self, embedding):
            super().__init__()
            self.norm1, self.linear1 = nn.GroupNorm(groups, width), nn.Linear(width, width)
            self.norm2, self.linear2 = nn.GroupNorm(groups, width), nn.Linear(width, width)
            self.modulation = nn.Linear(embedding, 2 * width)

        def forward(self, x, embedding):
            scale, shift = self.modulation(embedding).chunk(2, dim=1)
            h = self.linear1(F.silu(self.norm1(x)))
            return x + self.linear2(F.silu((1 + scale) * self.norm2(h) + shift))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.input, self.output = nn.Linear(2, width), nn.Linear(width, 2)
            self.time = nn.Sequential(nn.Linear(1, 32), nn.SiLU(), nn.Linear(32, 32))
            self.path = nn.Sequential(nn.Linear(feature, 128), nn.SiLU(), nn.Linear(128, 128)) if feature else None
            self.blocks = nn.ModuleList(Block(32 + (128 if feature else 0)) for _ in range(blocks))

        def forward(self, x, t, feature):
            embedding = self.time(t)
            if self.path is not None:
                embedding = torch.cat([embedding, self.path(feature)], dim=1)
            embedding = F.silu(embedding)
            h = self.input(x)
            for block in self.blocks:
                h = block(h, embedding)
            return self.output(h)

    return Network()


class StableClock:
    """Area and standardised feature of stable clocks from given random numbers."""

    def __init__(self):
        self.rho, h = ALPHA / 2, 1 / GRID
        weight = 1 - (torch.arange(GRID, dtype=torch.float64) + 0.5) * h
        self.weight = weight * ((self.rho + 1) * (h * weight**self.rho).sum()) ** (-1 / self.rho)
        self.scale = ((self.rho + 1) * h / 2) ** (1 / self.rho)

    def draws(self, n):
        return open_uniform(2, n, GRID)

    def __call__(self, u):
        steps = self.scale * positive_stable(self.rho, u)
        end = steps.sum(dim=1)
        return steps @ self.weight, torch.stack([torch.ones_like(end), torch.log1p(end)], dim=1)


def standardise(feature, count, mean, m2):
    """Merges the batch into running statistics; returns the feature in float32 and the statistics."""
    n = feature.shape[0]
    delta = feature.mean(dim=0) - mean
    total = count + n
    mean, m2 = mean + delta * (n / total), m2 + feature.var(dim=0, unbiased=False) * n + delta**2 * (count * n / total)
    return apply_statistics(feature, total, mean, m2), (total, mean, m2)


def apply_statistics(feature, count, mean, m2):
    deviation = torch.sqrt(m2 / count)
    return ((feature - mean) * torch.where(deviation > 1e-12, 1 / deviation, 0.0)).float()


def scaling(t, source_scale, data_scale):
    """Clock preconditioning of the straight line: c_skip, c_in, c_out."""
    variance = t**2 * data_scale**2 + (1 - t) ** 2 * source_scale**2
    deviation = torch.sqrt(variance)
    return (t * data_scale**2 - (1 - t) * source_scale**2) / variance, 1 / deviation, data_scale * source_scale / deviation


class Job:
    def __init__(self, mode, stable):
        torch.manual_seed(0)
        self.compiled, self.stable = mode == "compile", stable
        self.data = mixture(POINTS, 1.5)
        # A robust scale: the median radius of a 2D standard normal vector is 1.177.
        self.data_scale = float((self.data - self.data.median(dim=0).values).norm(dim=1).median()) / 1.177
        self.network = make_network(2 if stable else 0)
        self.ema = copy.deepcopy(self.network).requires_grad_(False)
        self.parameters, self.averages = list(self.network.parameters()), list(self.ema.parameters())
        decays = [p for k, p in self.network.named_parameters() if p.ndim == 2 and not k.startswith(("time", "path"))]
        others = [p for p in self.parameters if all(p is not q for q in decays)]
        groups = [{"params": decays, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=5e-3, **({"fused": True} if self.compiled else {}))
        self.clock = StableClock()
        self.statistics = (torch.zeros(()).double(), torch.zeros(2).double(), torch.zeros(2).double())
        self.order, self.next = torch.randperm(POINTS), 0
        # Random numbers are drawn outside: compiled into the graph they are no faster.
        self.objective = torch.compile(self.loss, dynamic=False) if self.compiled else self.loss
        self.euler = torch.compile(self.euler_step, dynamic=False) if self.compiled else self.euler_step

    def loss(self, x1, z, t, draws, statistics):
        feature = None
        source_scale = torch.full_like(t, 1.0)
        if self.stable:
            area, raw = self.clock(draws)
            feature, statistics = standardise(raw, *statistics)
            source_scale = torch.sqrt(2 * area).float()[:, None]
        x0 = source_scale * z
        x, velocity = t * x1 + (1 - t) * x0, x1 - x0
        skip, scale_in, scale_out = scaling(t, source_scale, self.data_scale)
        output = self.network(scale_in * x, t, feature)
        return (output - (velocity - skip * x) / scale_out).square().mean(), statistics

    def step(self):
        if self.next + BATCH > POINTS:
            self.order, self.next = torch.randperm(POINTS), 0
        x1 = self.data[self.order[self.next : self.next + BATCH]]
        self.next += BATCH
        draws = self.clock.draws(BATCH) if self.stable else None
        loss, self.statistics = self.objective(x1, torch.randn(BATCH, 2), torch.rand(BATCH, 1), draws, self.statistics)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        with torch.no_grad():
            if self.compiled:
                torch._foreach_lerp_(self.averages, self.parameters, 0.01)
            else:
                for average, parameter in zip(self.averages, self.parameters):
                    average.lerp_(parameter, 0.01)
        return loss

    def euler_step(self, x, t, feature, source_scale):
        skip, scale_in, scale_out = scaling(t, source_scale, self.data_scale)
        return x + (skip * x + scale_out * self.ema(scale_in * x, t, feature)) / NFE

    def sampler(self):
        """Clocks and source, then a function that makes one Euler step each time it is called."""
        feature, source_scale = None, torch.ones(SAMPLES, 1)
        if self.stable:
            area, raw = self.clock(self.clock.draws(SAMPLES))
            feature, source_scale = apply_statistics(raw, *self.statistics), torch.sqrt(2 * area).float()[:, None]
        state = {"x": source_scale * torch.randn(SAMPLES, 2), "k": 0}

        def advance():
            t = torch.full((SAMPLES, 1), (state["k"] % NFE) / NFE)
            state["x"] = self.euler(state["x"], t, feature, source_scale)
            state["k"] += 1

        return advance


def measure(function, count):
    """Median wall time and mean processor time of a call, in milliseconds."""
    wall, cpu = [], time.process_time()
    for _ in range(count):
        start = time.perf_counter()
        function()
        wall.append(time.perf_counter() - start)
    return 1e3 * statistics.median(wall), 1e3 * (time.process_time() - cpu) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--mode", choices=["eager", "compile"], default="eager")
    parser.add_argument("--clock", choices=["stable", "deterministic"], default="stable")
    parser.add_argument("--steps", type=int, default=200, help="training steps that are timed, after a tenth for warm-up")
    parser.add_argument("--evaluations", type=int, default=20, help="sampling steps that are timed, after 3 for warm-up")
    args = parser.parse_args()
    line = {"peer": f"torch_{args.mode}", "threads": args.threads, "clock": args.clock}
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(args.threads)  # read when torch is loaded
    try:
        global torch
        import torch
    except ImportError:
        for bench in ("train2d", "sample2d"):
            print(json.dumps({"bench": bench, **line, "skipped": "torch is not installed"}))
        return 0
    torch.set_num_threads(args.threads)
    job = Job(args.mode, args.clock == "stable")

    for _ in range(max(10, args.steps // 10)):
        job.step()
    wall, cpu = measure(job.step, args.steps)
    loss = statistics.mean(job.step().item() for _ in range(10))
    print(json.dumps({"bench": "train2d", **line, "ms_per_step": wall, "cpu_ms": cpu, "steps": args.steps, "batch": BATCH, "loss": loss}), flush=True)

    with torch.inference_mode():
        advance = job.sampler()
        for _ in range(3):
            advance()
        wall, cpu = measure(advance, args.evaluations)
    print(json.dumps({"bench": "sample2d", **line, "ms_per_evaluation": wall, "cpu_ms": cpu, "evaluations": args.evaluations, "points": SAMPLES}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
