"""The joint law of extremes: `htfm fit` beside copulas on draws whose law is known.

    python bench/peers/extremes.py --htfm build/htfm --set gaussian --draws 10

Sets: gaussian and gumbel (five Student-t columns, nu = 2, 3, 5, 10, infinity, 5,000 rows, under that copula), independent (t3 and
lognormal, 1,500 rows), rain (12 columns with 5 to 50 % zeros, 3,000 rows), and table:FILE.csv or table:FILE.csv:returns, 70 % of whose rows are
fitted and judged by the others (quantiles at 0.99, chi at 0.95, the sum of columns in units of their ranges). Rivals: margins with generalised Pareto tails beyond the
0.05 and 0.95 quantile, with a Student-t copula and with a vine (pyvinecopulib); flow matching of logarithms ("Log-FM"). One JSON line a draw and model, then means.

Figures of a draw: chi, the mean over pairs of chi(0.99) less the truth, and chi_abs, of its absolute value; columns, mean over columns and
both sides of |log(q / q_true)| at 0.9999; sum, the same of the sum of the columns; zeros, the largest error of a share of zeros
against the rows that were fitted, and zeros_true, against the law;
conditional, P(loss > 1000 | a > 6) over the truth.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
from scipy import optimize, special, stats

FREEDOM = (2, 3, 5, 10, math.inf)
FAR, JOINT = 0.9999, 0.99


# -- draws ------------------------------------------------------------------------------------------------------------------

def gaussian_copula(rng, n, d, decay=0.6):
    r = decay ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    return special.ndtr(rng.standard_normal((n, d)) @ np.linalg.cholesky(r).T)


def gumbel_copula(rng, n, d, theta=2.0):
    a = 1 / theta  # frailty: positive stable, by Kanter's formula
    v, e = np.pi * rng.random(n), rng.exponential(size=n)
    s = np.sin(a * v) / np.sin(v) ** theta * (np.sin((1 - a) * v) / e) ** ((1 - a) / a)
    return np.exp(-(rng.exponential(size=(n, d)) / s[:, None]) ** a)


def student_columns(u):
    u = np.clip(u, 1e-300, 1 - 1e-16)
    return np.stack([special.ndtri(u[:, k]) if math.isinf(nu) else special.stdtrit(nu, u[:, k]) for k, nu in enumerate(FREEDOM)], 1)


def rain(rng, n, d=12):
    """Rain sums: a common wet spell and a place's own, zero below a level of its own, heavier than exponential above."""
    z = 0.7 * rng.standard_normal((n, 1)) + math.sqrt(0.51) * rng.standard_normal((n, d))
    dry = np.linspace(0.05, 0.5, d)
    u = special.ndtr(z)
    wet = np.clip((u - dry) / (1 - dry), 0, 1 - 1e-16)
    xi = 0.15
    return np.where(u > dry, 4 * ((1 - wet) ** -xi - 1) / xi, 0.0)


def table(kind):
    """The numeric columns of a CSV file, rows with gaps and a column that numbers the rows left out; logarithms of ratios by ":returns"."""
    path = kind.removeprefix("table:").removesuffix(":returns")
    rows = np.genfromtxt(path, delimiter=",", skip_header=1)
    rows = rows[:, ~np.isnan(rows).all(0)]
    if np.all(np.diff(rows[:, 0]) == 1):
        rows = rows[:, 1:]
    rows = rows[~np.isnan(rows).any(1)]
    return np.diff(np.log(rows), axis=0) if kind.endswith(":returns") else rows


def draw(kind, rng, n=0):
    if kind == "gaussian":
        return student_columns(gaussian_copula(rng, n or 5000, 5))
    if kind == "gumbel":
        return student_columns(gumbel_copula(rng, n or 5000, 5))
    if kind == "independent":
        n = n or 1500
        return np.stack([special.stdtrit(3, rng.random(n)), np.exp(5 + rng.standard_normal(n) * math.log(1000 / math.exp(5)) / 1.8808)], 1)
    if kind == "rain":
        return rain(rng, n or 3000)
    if kind.startswith("table:"):
        rows = table(kind)
        return rows[rng.permutation(len(rows))[:int(0.7 * len(rows))]]
    raise SystemExit(f"expected gaussian, gumbel, independent or rain, got {kind}")


# -- figures ----------------------------------------------------------------------------------------------------------------

def chi(x, level=JOINT):
    """Of every pair, P(both beyond their quantiles) / (1 - level); rows by ranks of their own."""
    beyond = x > np.quantile(x, level, axis=0)
    f = beyond.astype(np.float32)
    both = f.T @ f / len(x) / (1 - level)
    return both[np.triu_indices(x.shape[1], 1)]


def summary(x, kind):
    far, joint = (0.99, 0.95) if kind.startswith("table:") else (FAR, JOINT)
    q = lambda v: np.quantile(v, [1 - far, far], axis=0)
    spread = np.diff(np.quantile(x, [0.05, 0.95], axis=0), axis=0)[0] if kind.startswith("table:") else 1
    out = {"chi": chi(x, joint), "columns": q(x), "sum": q((x / np.where(spread > 0, spread, 1)).sum(1))}
    if kind == "independent":
        beyond = x[:, 0] > 6
        out["conditional"] = np.mean(x[beyond, 1] > 1000) if beyond.any() else math.nan
    if kind == "rain":
        out["zeros"] = np.mean(x == 0, axis=0)
    return out


def held_out(kind, k):
    """The rows of a table that draw k leaves out: what a split is judged by."""
    rows = table(kind)
    return summary(rows[np.random.default_rng([7, k]).permutation(len(rows))[int(0.7 * len(rows)):]], kind)


def truth(kind, cache):
    path = os.path.join(cache, f"truth-{kind}.npz")
    if not os.path.exists(path):
        parts = [summary(draw(kind, np.random.default_rng([99, k]), 2_000_000), kind) for k in range(6)]
        np.savez(path, **{k: np.mean([p[k] for p in parts], axis=0) for k in parts[0]})
    return dict(np.load(path))


def figures(x, true, kind, rows=None):
    """Of samples x of a model of `rows`."""
    s = summary(x, kind)
    log_error = lambda a, b: float(np.nanmean(np.abs(np.log(np.abs(a) / np.abs(b)))))
    sides = slice(0, 2) if kind in ("gaussian", "gumbel", "independent") or kind.endswith(":returns") else slice(1, 2)
    out = {"chi": float(np.mean(s["chi"] - true["chi"])), "chi_abs": float(np.mean(np.abs(s["chi"] - true["chi"]))),
           "columns": log_error(s["columns"][sides], true["columns"][sides]), "sum": log_error(s["sum"][sides], true["sum"][sides])}
    if kind == "independent":
        out["conditional"] = float(s["conditional"] / true["conditional"])
    if kind == "rain":
        out["zeros_true"] = float(np.max(np.abs(s["zeros"] - true["zeros"])))
        if rows is not None:
            out["zeros"] = float(np.max(np.abs(s["zeros"] - np.mean(rows == 0, axis=0))))
    return out


# -- rivals -----------------------------------------------------------------------------------------------------------------

class Margin:
    """Empirical between two thresholds, generalised Pareto beyond; a bound with ties has no tail."""

    def __init__(self, x, share=0.05):
        self.x = np.sort(x)
        self.n, self.share = len(x), share
        self.tails = []
        for sign in (-1, 1):
            y = np.sort(sign * self.x)
            k = int(share * self.n)
            t = y[-k - 1]
            excess = y[-k:] - t
            tied = np.mean(y == y[-1]) > 0.01
            if tied or excess.min() < 0 or np.all(excess == 0):
                self.tails.append(None)
                continue
            shape, _, scale = stats.genpareto.fit(excess, floc=0)
            self.tails.append((t, shape, scale))

    def quantile(self, u):
        out = np.interp(u, (np.arange(self.n) + 0.5) / self.n, self.x)
        for sign, tail in zip((-1, 1), self.tails):
            if tail is None:
                continue
            p = u if sign < 0 else 1 - u
            far = p < self.share
            t, shape, scale = tail
            out[far] = sign * (t + stats.genpareto.ppf(1 - p[far] / self.share, shape, 0, scale))
        return out


def pseudo(x, rng):
    """Ranks over n + 1, ties at random."""
    out = np.empty_like(x)
    for k in range(x.shape[1]):
        out[np.lexsort((rng.random(len(x)), x[:, k])), k] = np.arange(1, len(x) + 1)
    return out / (len(x) + 1)


def nearest_correlation(r):
    w, v = np.linalg.eigh(r)
    r = v @ np.diag(np.maximum(w, 1e-6)) @ v.T
    s = np.sqrt(np.diag(r))
    return r / s[:, None] / s[None]


def t_copula(u, rng, n):
    d = u.shape[1]
    r = np.eye(d)
    for i in range(d):
        for j in range(i):
            r[i, j] = r[j, i] = math.sin(math.pi / 2 * stats.kendalltau(u[:, i], u[:, j]).statistic)
    r = nearest_correlation(r)
    root = np.linalg.cholesky(r)

    def loss(log_nu):
        nu = math.exp(log_nu)
        x = special.stdtrit(nu, u)
        q = np.sum(np.linalg.solve(root, x.T) ** 2, axis=0)
        joint = special.gammaln((nu + d) / 2) - special.gammaln(nu / 2) - d / 2 * math.log(nu * math.pi) - np.log(np.diag(root)).sum() - (nu + d) / 2 * np.log1p(q / nu)
        one = special.gammaln((nu + 1) / 2) - special.gammaln(nu / 2) - 0.5 * math.log(nu * math.pi) - (nu + 1) / 2 * np.log1p(x * x / nu)
        return -np.sum(joint) + np.sum(one)

    nu = math.exp(optimize.minimize_scalar(loss, bounds=(math.log(1), math.log(200)), method="bounded", options={"xatol": 0.02}).x)
    z = rng.standard_normal((n, d)) @ root.T / np.sqrt(rng.chisquare(nu, n) / nu)[:, None]
    return special.stdtr(nu, z)


def vine(u, rng, n, threads):
    import pyvinecopulib as pv
    families = getattr(pv, "families", pv).parametric
    model = pv.Vinecop.from_data(u, controls=pv.FitControlsVinecop(family_set=families, num_threads=threads))
    draw_rows = getattr(model, "sample", None) or model.simulate
    return draw_rows(n, seeds=[int(rng.integers(1 << 30))], num_threads=threads)


def with_margins(u, x):
    return np.stack([Margin(x[:, k]).quantile(np.clip(u[:, k], 1e-12, 1 - 1e-12)) for k in range(x.shape[1])], 1)


# -- the program ------------------------------------------------------------------------------------------------------------

def save_rows(path, x):
    names = ",".join(f"x{k}" for k in range(x.shape[1]))
    np.savetxt(path, x, delimiter=",", header=names, comments="", fmt="%.12g")


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr[-2000:]}")


def htfm_model(program, arguments, x, n, seed, threads):
    """Samples of a model that `arguments` (with {data} and {run}) make."""
    with tempfile.TemporaryDirectory() as folder:
        data, run, out = (os.path.join(folder, name) for name in ("data.csv", "run", "out.npy"))
        save_rows(data, x)
        open(os.path.join(folder, "none.toml"), "w").close()
        own = [a.format(data=data, run=run, folder=folder) for a in arguments]
        call([program] + own + ["--seed", str(seed), "--threads", str(threads)])
        call([program, "sample", run, "-n", str(n), "-o", out, "--seed", str(seed), "--threads", str(threads)])
        return np.load(out)


def htfm_fit(program, x, n, seed, threads, settings=()):
    return htfm_model(program, ["fit", "{data}", "-o", "{run}", "--no-compare", "--samples", "1000"] +
                      [w for s in settings for w in ("--set", s)], x, n, seed, threads)


def log_fm(program, x, n, seed, threads):
    """Flow matching of sign(y) log(1 + |y|), y the columns by median and interquartile range, from a Gaussian source."""
    batch = 512
    settings = ["data.path={data}", "data.kind=table", "data.normalise=log", "train.lr=0.002", "train.ema=0.998", f"train.batch={batch}",
                f"train.epochs={max(1, 3000 * batch // len(x))}", "sample.solver=ab2"]
    return htfm_model(program, ["train", "{folder}/none.toml", "-o", "{run}"] + [w for s in settings for w in ("--set", s)], x, n, seed, threads)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--htfm", default="htfm")
    parser.add_argument("--set", dest="kind", default="gaussian")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="htfm,log-fm,t copula,vine,resampling")
    parser.add_argument("--setting", action="append", default=[], help="key=value for htfm fit")
    parser.add_argument("--cache", default=os.path.join(os.path.expanduser("~"), ".cache", "htfm"))
    o = parser.parse_args()
    os.makedirs(o.cache, exist_ok=True)
    true = None if o.kind.startswith("table:") else truth(o.kind, o.cache)
    all_figures = {}
    for k in range(o.first, o.first + o.draws):
        x = draw(o.kind, np.random.default_rng([7, k]))
        rng = np.random.default_rng([8, k])
        if o.kind.startswith("table:"):
            true = held_out(o.kind, k)
        models = {"htfm": lambda: htfm_fit(o.htfm, x, o.samples, k, o.threads, o.setting),
                  "log-fm": lambda: log_fm(o.htfm, x, o.samples, k, o.threads),
                  "t copula": lambda: with_margins(t_copula(pseudo(x, rng), rng, o.samples), x),
                  "vine": lambda: with_margins(vine(pseudo(x, rng), rng, o.samples, o.threads), x),
                  "resampling": lambda: x}
        for name in o.only.split(","):
            f = figures(models[name](), true, o.kind, x)
            print(json.dumps({"set": o.kind, "draw": k, "model": name, **{a: round(b, 4) for a, b in f.items()}}), flush=True)
            all_figures.setdefault(name, []).append(f)
    for name, f in all_figures.items():
        mean = {a: round(float(np.mean([g[a] for g in f])), 4) for a in f[0]}
        error = {a: round(float(np.std([g[a] for g in f], ddof=1) / math.sqrt(len(f))), 4) for a in f[0]} if len(f) > 1 else {}
        print(json.dumps({"set": o.kind, "draws": len(f), "mean of": name, **mean, "standard_error": error}))


if __name__ == "__main__":
    sys.exit(main())
