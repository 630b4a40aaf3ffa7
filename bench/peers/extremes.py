"""The joint law of extremes: `htfm fit` beside what a user would take instead.

    python bench/peers/extremes.py --htfm build/htfm --set gaussian --draws 10

Draws of a known law: gaussian and gumbel (five Student-t columns, nu = 2, 3, 5, 10, infinity, 5,000 rows, under that copula), independent (t3
and lognormal, 1,500 rows), rain (12 columns with 5 to 50 % zeros, 3,000 rows). Real tables: table:FILE.csv or table:FILE.csv:returns
(logarithms of ratios), 70 % of whose rows are fitted and judged by the others, another split for each draw. Rivals: margins with generalised
Pareto tails under a Student-t copula and a vine (pareto_copulas.py), flow matching of logarithms ("log-fm"), the rows themselves ("resampling").
One JSON line a draw and model, then means; a cell that the folder --cache holds is not computed again.

Figures of a draw: chi, the mean over pairs of chi(0.99) less the truth, and chi_abs, of its absolute value; columns, mean over columns and
both sides of |log(q / q_true)| at 0.9999; sum, the same of the sum of the columns; zeros, the largest error of a share of zeros
against the rows that were fitted, and zeros_true, against the law; conditional, P(loss > 1000 | a > 6) over the truth.
Figures of a split: of each column, and of the sum of the columns in units of their ranges, the mean of |log(q / q_rest)| at 0.95 and 0.99
(both sides of returns, else the upper one), and chi 0.95 and chi 0.99, mean over pairs of |chi less that of the rest|.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import zlib

import numpy as np
from scipy import special, stats

import pareto_copulas

FREEDOM = (2, 3, 5, 10, math.inf)
FAR, JOINT = 0.9999, 0.99
FITTED = 0.7  # of the rows of a table


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


def is_table(kind):
    return kind.startswith("table:")


def table(kind):
    """The numeric columns of a CSV file with their names, rows with gaps and a column that numbers the rows left out."""
    path = kind.removeprefix("table:").removesuffix(":returns")
    with open(path) as file:
        names = [name.strip().strip('"') for name in file.readline().split(",")]
    rows = np.genfromtxt(path, delimiter=",", skip_header=1, ndmin=2)
    keep = [k for k in range(rows.shape[1]) if not np.isnan(rows[:, k]).all() and not np.all(np.diff(rows[:, k]) == 1)]
    rows = rows[:, keep]
    rows = rows[~np.isnan(rows).any(1)]
    return np.diff(np.log(rows), axis=0) if kind.endswith(":returns") else rows, [names[k] for k in keep]


def split(kind, k):
    """The rows of a table that split k fits, and those that judge it."""
    rows, _ = table(kind)
    order = np.random.default_rng([7, k]).permutation(len(rows))
    fitted = int(FITTED * len(rows))
    return rows[order[:fitted]], rows[order[fitted:]]


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
    raise SystemExit(f"expected gaussian, gumbel, independent, rain or table:FILE, got {kind}")


# -- figures ----------------------------------------------------------------------------------------------------------------

def chi(x, level=JOINT):
    """Of every pair, P(both beyond their quantiles) / (1 - level); rows by ranks of their own."""
    beyond = x > np.quantile(x, level, axis=0)
    f = beyond.astype(np.float32)
    both = f.T @ f / len(x) / (1 - level)
    return both[np.triu_indices(x.shape[1], 1)]


def summary(x, kind):
    q = lambda v: np.quantile(v, [1 - FAR, FAR], axis=0)
    out = {"chi": chi(x), "columns": q(x), "sum": q(x.sum(1))}
    if kind == "independent":
        beyond = x[:, 0] > 6
        out["conditional"] = np.mean(x[beyond, 1] > 1000) if beyond.any() else math.nan
    if kind == "rain":
        out["zeros"] = np.mean(x == 0, axis=0)
    return out


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
    sides = slice(1, 2) if kind == "rain" else slice(0, 2)
    out = {"chi": float(np.mean(s["chi"] - true["chi"])), "chi_abs": float(np.mean(np.abs(s["chi"] - true["chi"]))),
           "columns": log_error(s["columns"][sides], true["columns"][sides]), "sum": log_error(s["sum"][sides], true["sum"][sides])}
    if kind == "independent":
        out["conditional"] = float(s["conditional"] / true["conditional"])
    if kind == "rain":
        out["zeros_true"] = float(np.max(np.abs(s["zeros"] - true["zeros"])))
        if rows is not None:
            out["zeros"] = float(np.max(np.abs(s["zeros"] - np.mean(rows == 0, axis=0))))
    return out


def split_figures(x, rest, kind):
    """Of samples x of a model of the other rows of a table."""
    rows, names = table(kind)
    low, high = np.quantile(rows, [0.05, 0.95], axis=0)
    unit = np.where(high > low, high - low, 1)
    signs = (1, -1) if kind.endswith(":returns") else (1,)
    parts = [(name, x[:, k], rest[:, k]) for k, name in enumerate(names)]
    if len(names) > 1:
        parts.append(("sum", (x / unit).sum(1), (rest / unit).sum(1)))
    out = {}
    for name, own, real in parts:
        ratios = [np.quantile(s * own, u) / np.quantile(s * real, u) for s in signs for u in (0.95, 0.99)]
        out[name] = float(np.mean(np.abs(np.log(np.maximum(ratios, 1e-6)))))
    for u in (0.95, 0.99) if len(names) > 1 else ():
        out[f"chi {u}"] = float(np.mean([np.abs(chi(s * x, u) - chi(s * rest, u)) for s in signs]))
    return out


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


# -- all of it --------------------------------------------------------------------------------------------------------------

def samples_of(name, x, k, o):
    rng = np.random.default_rng([8, k, zlib.crc32(name.encode())])
    if name == "htfm":
        return htfm_fit(o.htfm, x, o.samples, k, o.threads, o.setting)
    if name == "log-fm":
        return log_fm(o.htfm, x, o.samples, k, o.threads)
    if name == "resampling":
        return x
    u = pareto_copulas.pseudo(x, rng)
    if x.shape[1] == 1:  # no dependence to fit
        return pareto_copulas.with_margins(rng.random((o.samples, 1)), x)
    if name == "t copula":
        return pareto_copulas.with_margins(pareto_copulas.t_copula(u, rng, o.samples), x)
    if name == "vine":
        return pareto_copulas.with_margins(pareto_copulas.vine(u, rng, o.samples, o.threads), x)
    raise SystemExit(f"expected htfm, log-fm, t copula, vine or resampling, got {name}")


def cell(name, k, o):
    """The figures of a model on a draw, from the folder where they are there."""
    told = json.dumps([o.setting if name == "htfm" else [], o.samples])
    set_name = re.sub(r"[^A-Za-z0-9]+", "-", os.path.basename(o.kind))
    path = os.path.join(o.cache, "cells", f"{set_name}-{k}-{name.replace(' ', '-')}-{zlib.crc32(told.encode()):08x}.json")
    if os.path.exists(path):
        with open(path) as file:
            return json.load(file)
    if is_table(o.kind):
        x, rest = split(o.kind, k)
        found = split_figures(samples_of(name, x, k, o), rest, o.kind)
    else:
        x = draw(o.kind, np.random.default_rng([7, k]))
        found = figures(samples_of(name, x, k, o), truth(o.kind, o.cache), o.kind, x)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".part", "w") as file:
        json.dump(found, file)
    os.replace(path + ".part", path)
    return found


def mean_and_error(values, kind):
    """Splits of one table share rows: their scatter is corrected for it (Nadeau and Bengio, 2003)."""
    n = len(values)
    factor = 1 / n + (1 - FITTED) / FITTED if is_table(kind) else 1 / n
    return float(np.mean(values)), float(np.std(values, ddof=1) * math.sqrt(factor)) if n > 1 else math.nan


def beside_best(found, kind):
    """Of each figure of a table: ours less that of the best rival (the least mean), with a 95 % interval over splits."""
    out = {}
    for figure in found["htfm"][0]:
        values = {name: np.array([f[figure] for f in list_]) for name, list_ in found.items()}
        rival = min((name for name in values if name != "htfm"), key=lambda name: values[name].mean())
        mean, error = mean_and_error(values["htfm"] - values[rival], kind)
        reach = stats.t.ppf(0.975, len(values["htfm"]) - 1) * error
        out[figure] = {"rival": rival, "less": round(mean, 4), "from": round(mean - reach, 4), "to": round(mean + reach, 4)}
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--htfm", default="htfm")
    parser.add_argument("--set", dest="kind", default="gaussian")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--samples", type=int, default=0, help="of each model; by default 1,000,000, for tables and rain 200,000")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="htfm,log-fm,t copula,vine,resampling")
    parser.add_argument("--setting", action="append", default=[], help="key=value for htfm fit")
    parser.add_argument("--cache", default=os.path.join(os.path.expanduser("~"), ".cache", "htfm"))
    o = parser.parse_args()
    o.samples = o.samples or (200_000 if is_table(o.kind) or o.kind == "rain" else 1_000_000)
    os.makedirs(o.cache, exist_ok=True)
    found = {name: [] for name in o.only.split(",")}
    for k in range(o.first, o.first + o.draws):
        for name in found:
            found[name].append(cell(name, k, o))
            print(json.dumps({"set": o.kind, "draw": k, "model": name, **{a: round(b, 4) for a, b in found[name][-1].items()}}), flush=True)
    for name, list_ in found.items():
        spreads = {a: mean_and_error([f[a] for f in list_], o.kind) for a in list_[0]}
        print(json.dumps({"set": o.kind, "draws": len(list_), "mean of": name, **{a: round(m, 4) for a, (m, _) in spreads.items()},
                          "standard_error": {a: round(e, 4) for a, (_, e) in spreads.items() if e == e}}))
    if is_table(o.kind) and "htfm" in found and len(found) > 1 and o.draws > 1:
        print(json.dumps({"set": o.kind, "beside": "best rival", **beside_best(found, o.kind)}))


if __name__ == "__main__":
    sys.exit(main())
