"""Copulas with generalised Pareto margins: what a statistician would fit to a table with extremes.

Margins are empirical between the 0.05 and 0.95 quantile and generalised Pareto beyond; the dependence is a Student-t copula or a vine
(pyvinecopulib). Used by extremes.py.
"""
import math

import numpy as np
from scipy import optimize, special, stats


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
