"""Synthetic tables beside those of peers: htfm, a Gaussian copula, CTGAN and TVAE on the same 70/30 splits.

    python bench/peers/tables.py --program build/htfm --data TABLES diamonds AutoBi dataOhlsson --models htfm copula

Needs the packages of bench/peers/tables-requirements.txt. TABLES is a folder with the .csv files. Prints one JSON line a
table, model and seed:
    shapes, trends   sdmetrics' column shapes and column pair trends of the samples against the held-out rows, in percent
    correlations, contingency   the two parts of trends: pairs of numbers, and pairs with a category, for which sdmetrics
                     cuts the range of numbers in each set into ten bins
    utility          a gradient boosting (scikit-learn) trained on samples over one trained on the training rows, both
                     scored on the held-out rows: R2 of the logarithm of a target, or the area under the curve
    tail             mean absolute error of the logarithm of the quantiles .95 to .999 of the losses that are not zero
    missing, zeros   largest difference of the shares of missing values, and of zeros, in a column
    copies           share of samples closer to a training row than 5 % of the held-out rows are
    seconds, cpu     wall and processor time of fitting and sampling
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")

# The columns that are left out, the target that the utility is measured by, and the column whose far quantiles count.
TABLES = {
    "diamonds": {"drop": ["rownames"], "target": "price", "loss": "price"},
    "AutoBi": {"drop": ["rownames", "CASENUM"], "target": "ATTORNEY", "loss": "LOSS",
               "codes": ["ATTORNEY", "CLMSEX", "MARITAL", "CLMINSUR", "SEATBELT"]},
    "dataOhlsson": {"drop": ["rownames"], "target": "bonuskl", "loss": "skadkost",
                    "codes": ["zon", "mcklass", "bonuskl", "antskad"]},
}


def load(folder, name):
    about = TABLES[name]
    table = pd.read_csv(os.path.join(folder, name + ".csv")).drop(columns=about["drop"])
    codes = [c for c in table.columns if table[c].dtype == object] + about.get("codes", [])
    return table, codes


def split(table, seed):
    order = np.random.default_rng(seed).permutation(len(table))
    cut = int(0.7 * len(table))
    return table.iloc[order[:cut]].reset_index(drop=True), table.iloc[order[cut:]].reset_index(drop=True)


def by_htfm(train, codes, n, seed, options):
    with tempfile.TemporaryDirectory() as folder:
        path, run, out = (os.path.join(folder, x) for x in ("train.csv", "run", "out.csv"))
        train.to_csv(path, index=False)
        common = ["--seed", str(seed)] + (["--threads", str(options.threads)] if options.threads else [])
        subprocess.run([options.program, "fit", path, "-o", run, "--holdout", "0", "--no-refit", "--no-compare",
                        "--samples", "1000"] + common + options.fit, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run([options.program, "sample", run, "-n", str(n), "-o", out] + common, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return pd.read_csv(out)


def by_copula(train, codes, n, seed, options):
    """A Gaussian copula over empirical margins; categories and gaps by the intervals of their shares."""
    from scipy.stats import norm

    rng = np.random.default_rng(seed)
    scores, back = [], []
    for name in train.columns:
        column = train[name]
        if name in codes or column.dtype == object:
            keys = column.astype(object).where(column.notna(), None)
            order = keys.map(lambda v: (v is None, str(v)))
            values = sorted(set(order))
            place = {v: k for k, v in enumerate(values)}
            code = order.map(place).to_numpy()
            restore = {place[o]: k for o, k in zip(order, keys)}
        else:
            code = column.fillna(column.min() - 1 if column.notna().any() else 0).to_numpy(dtype=float)
            restore = None
        rank = pd.Series(code + 0.0).rank(method="min").to_numpy() - 1
        last = pd.Series(code + 0.0).rank(method="max").to_numpy()
        u = (rank + rng.random(len(train)) * (last - rank)) / len(train)
        scores.append(norm.ppf(np.clip(u, 1e-6, 1 - 1e-6)))
        back.append((np.sort(code), restore, column.isna().any(), column.min() - 1 if restore is None else 0, column.dtype))
    cov = np.corrcoef(np.array(scores))
    z = rng.multivariate_normal(np.zeros(len(scores)), cov, size=n, method="eigh")
    out = {}
    for k, name in enumerate(train.columns):
        values, restore, gaps, gap, dtype = back[k]
        drawn = values[np.minimum((norm.cdf(z[:, k]) * len(values)).astype(int), len(values) - 1)]
        if restore is not None:
            out[name] = pd.Series([restore[int(c)] for c in drawn])
        else:
            out[name] = pd.Series(np.where(gaps & (drawn == gap), np.nan, drawn))
    return pd.DataFrame(out)


def by_gan(kind):
    def draw(train, codes, n, seed, options):
        import ctgan
        import torch

        torch.manual_seed(seed)
        np.random.seed(seed)
        torch.set_num_threads(options.threads or 1)
        # ctgan takes no gaps in numbers: they become a column of their own, and the mean, as its users do.
        data, gaps = train.copy(), []
        for name in train.columns:
            if name in codes or train[name].dtype == object:
                data[name] = train[name].astype(object).where(train[name].notna(), "nan").astype(str)
            elif train[name].isna().any():
                data[name + "_gap"] = train[name].isna().map({True: "yes", False: "no"})
                data[name] = train[name].fillna(train[name].mean())
                gaps.append(name)
        discrete = [c for c in data.columns if data[c].dtype == object or c.endswith("_gap")]
        model = (ctgan.CTGAN if kind == "ctgan" else ctgan.TVAE)(epochs=options.epochs, **({"enable_gpu": False}))
        model.fit(data, discrete)
        out = model.sample(n)
        for name in gaps:
            out.loc[out[name + "_gap"] == "yes", name] = np.nan
        out = out[list(train.columns)]
        for name in train.columns:
            if name in codes and train[name].dtype != object:
                out[name] = pd.to_numeric(out[name], errors="coerce")
            elif train[name].dtype == object:
                out[name] = out[name].where(out[name] != "nan", None)
        return out

    return draw


def by_rows(train, codes, n, seed, options):
    """Training rows drawn with replacement: what no model of them can be much better than."""
    return train.sample(n, replace=True, random_state=seed).reset_index(drop=True)


MODELS = {"htfm": by_htfm, "rows": by_rows, "copula": by_copula, "ctgan": by_gan("ctgan"), "tvae": by_gan("tvae")}


def as_objects(table, codes):
    out = table.copy()
    for name in codes:
        column = out[name]
        if column.dtype != object:
            out[name] = column.map(lambda v: None if pd.isna(v) else str(int(v)))
    return out


def quality(held, samples, codes):
    from sdmetrics.reports.single_table import QualityReport

    columns = {c: {"sdtype": "categorical" if c in codes else "numerical"} for c in held.columns}
    report = QualityReport()
    report.generate(as_objects(held, codes), as_objects(samples, codes), {"columns": columns}, verbose=False)
    scores = report.get_properties().set_index("Property")["Score"]
    pairs = report.get_details("Column Pair Trends").dropna(subset=["Score"])
    of_numbers = pairs["Metric"] == "CorrelationSimilarity"
    parts = [100 * pairs.loc[rows, "Score"].mean() if rows.any() else None for rows in (of_numbers, ~of_numbers)]
    return 100 * scores["Column Shapes"], 100 * scores["Column Pair Trends"], *parts


def utility(train, held, samples, codes, target):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.metrics import r2_score, roc_auc_score

    known = {c: {v: k for k, v in enumerate(sorted(set(train[c].dropna().astype(str))))} for c in codes}

    def features(table):
        out = table.drop(columns=[target]).copy()
        for c in codes:
            if c != target:
                out[c] = as_objects(table, codes)[c].map({str(k).removesuffix(".0"): v for k, v in known[c].items()})
        return out.astype(float)

    def score(source):
        if target in codes:
            y = held[target].astype(float)
            model = HistGradientBoostingClassifier(random_state=0)
            model.fit(features(source[source[target].notna()]), source.loc[source[target].notna(), target].astype(float))
            p = model.predict_proba(features(held))
            if len(model.classes_) == 2:
                return roc_auc_score(y == model.classes_[1], p[:, 1])
            return np.mean([roc_auc_score(y == c, p[:, k]) for k, c in enumerate(model.classes_) if 0 < (y == c).mean() < 1])
        model = HistGradientBoostingRegressor(random_state=0)
        model.fit(features(source), np.log(source[target].clip(lower=1e-3)))
        return r2_score(np.log(held[target]), model.predict(features(held)))

    real, own = score(train), score(samples)
    return own / real, real, own


def tail(held, samples, loss):
    levels = [0.95, 0.99, 0.995, 0.999]
    a, b = held[loss].dropna(), samples[loss].dropna()
    a, b = a[a > 0], b[b > 0]
    levels = [q for q in levels if (1 - q) * len(a) >= 0.5]
    if len(b) < 10:
        return float("inf")
    return float(np.mean(np.abs(np.log(np.quantile(b, levels) / np.quantile(a, levels)))))


def copies(train, held, samples, codes, most=1000):
    def ranks(table):
        out = []
        for c in train.columns:
            if c in codes:
                out.append(as_objects(table, codes)[c].map(lambda v: -1 if v is None else hash(v) % 100003).to_numpy(float))
            else:
                ordered = np.sort(train[c].dropna().to_numpy())
                v = table[c].to_numpy(float)
                place = 0.5 * (np.searchsorted(ordered, v) + np.searchsorted(ordered, v, side="right")) / len(ordered)
                out.append(np.where(np.isnan(v), -9, place))
        return np.column_stack(out)

    is_code = np.array([c in codes for c in train.columns])
    t = ranks(train)

    def closest(rows):
        out = []
        for r in rows:
            d = np.abs(t - r)
            d[:, is_code] = d[:, is_code] > 0
            out.append(np.minimum(d, 1).mean(1).min())
        return np.array(out)

    h, s = closest(ranks(held.iloc[:most])), closest(ranks(samples.iloc[:most]))
    near = max(np.quantile(h, 0.05), 1e-12)
    return float((s < near).mean()), float((h < near).mean())


def processor_seconds():
    return sum(resource.getrusage(w).ru_utime + resource.getrusage(w).ru_stime
               for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", choices=sorted(TABLES))
    parser.add_argument("--data", required=True)
    parser.add_argument("--models", nargs="+", default=["htfm", "copula"], choices=sorted(MODELS))
    parser.add_argument("--program", default="build/htfm")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first seed; settings are chosen from 10 on")
    parser.add_argument("--epochs", type=int, default=300, help="of CTGAN and TVAE, whose default is 300")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--keep", help="folder for the samples")
    parser.add_argument("--fit", nargs="*", default=[], help="further options of htfm fit")
    options = parser.parse_args()
    for name in options.tables:
        table, codes = load(options.data, name)
        for seed in range(options.first, options.first + options.seeds):
            train, held = split(table, seed)
            for model in options.models:
                begun, spent = time.time(), processor_seconds()
                samples = MODELS[model](train, codes, max(len(train), 20000), seed, options)[list(train.columns)]
                seconds, cpu = time.time() - begun, processor_seconds() - spent
                if options.keep:
                    samples.to_csv(os.path.join(options.keep, f"{name}-{model}-{seed}.csv"), index=False)
                numbers = [c for c in train.columns if c not in codes]
                # As many rows as there are to train on: bins of pair trends span the range of each set, and more draws
                # reach further.
                shapes, trends, numbers_only, others = quality(held, samples.iloc[:len(train)], codes)
                ratio, real, own = utility(train, held, samples, codes, TABLES[name]["target"])
                near, chance = copies(train, held, samples, codes)
                print(json.dumps({
                    "table": name, "model": model, "seed": seed, "shapes": round(shapes, 2), "trends": round(trends, 2),
                    "correlations": numbers_only and round(numbers_only, 2), "contingency": others and round(others, 2),
                    "utility": round(ratio, 4), "real": round(real, 4), "synthetic": round(own, 4),
                    "tail": round(tail(held, samples, TABLES[name]["loss"]), 4),
                    "missing": round(max(abs(train[c].isna().mean() - samples[c].isna().mean()) for c in train.columns), 4),
                    "zeros": round(max(abs((train[c] == 0).mean() - (samples[c] == 0).mean()) for c in numbers), 4),
                    "copies": near, "chance": chance, "seconds": round(seconds, 1), "cpu": round(cpu, 1),
                    **({"epochs": options.epochs} if model in ("ctgan", "tvae") else {}),
                }), flush=True)


if __name__ == "__main__":
    main()
