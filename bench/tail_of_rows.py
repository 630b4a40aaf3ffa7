"""How well 10,000 values of a Student-t law tell their far quantiles.

Errors of log quantiles at .99, .999 and .9999 of |x| over 20 draws, with generalised Pareto tails (one shape for both
sides) of the outer 2, 5 and 10 % of each side, and with a Student-t law fitted to all values. The last column is the
share of draws beyond 0.05, 0.10 or 0.30. Needs numpy and scipy.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import t as student

NU = 2.5
ROWS = 10_000
DRAWS = 20
PROBABILITIES = (1e-2, 1e-3, 1e-4)
AIM = (0.05, 0.10, 0.30)


def pareto_loss(parameters, sides):
    """Minus the log-likelihood of the excesses of both sides."""
    shape, *log_scales = parameters
    loss = 0.0
    for excesses, log_scale in zip(sides, log_scales):
        inner = 1 + shape * excesses / np.exp(log_scale)
        if (inner <= 0).any():
            return 1e10
        loss += len(excesses) * log_scale + (1 + 1 / shape) * np.log(inner).sum()
    return loss


def pareto_quantiles(x, k):
    """Quantiles of |x - median| by tails fitted to the k outermost values of each side."""
    ordered = np.sort(x)
    upper, lower = ordered[-k - 1], ordered[k]
    sides = (ordered[-k:] - upper, lower - ordered[:k])
    start = [0.3, *(np.log(side.mean()) for side in sides)]
    shape, *log_scales = minimize(pareto_loss, start, args=(sides,), method="Nelder-Mead").x
    edges = (upper - np.median(x), np.median(x) - lower)

    def beyond(q):
        return sum(
            k / len(x) * (1 + shape * max(q - edge, 0) / np.exp(log_scale)) ** (-1 / shape)
            for edge, log_scale in zip(edges, log_scales)
        )

    def quantile(p):
        low, high = 0.01, 1e5
        for _ in range(200):
            middle = np.sqrt(low * high)
            low, high = (middle, high) if beyond(middle) > p else (low, middle)
        return low

    return np.array([quantile(p) for p in PROBABILITIES])


def student_quantiles(x):
    """The same by a Student-t law of all values."""
    nu, _, scale = student.fit(x)
    return scale * student.ppf(1 - np.array(PROBABILITIES) / 2, nu)


def main():
    truth = student.ppf(1 - np.array(PROBABILITIES) / 2, NU)
    errors = {}
    for draw in range(DRAWS):
        x = student.rvs(NU, size=ROWS, random_state=np.random.default_rng(1000 + draw))
        for share in (0.02, 0.05, 0.1):
            found = pareto_quantiles(x, int(share * ROWS))
            errors.setdefault(f"Pareto, {share:.0%}", []).append(np.log(found / truth))
        errors.setdefault("Student-t", []).append(np.log(student_quantiles(x) / truth))
    for name, rows in errors.items():
        e = np.array(rows)
        root = np.sqrt((e**2).mean(axis=0))
        missed = (np.abs(e) > AIM).any(axis=1).mean()
        print(f"{name:<12} root mean square {root.round(3)}, mean {e.mean(axis=0).round(3)}, missed {missed:.2f}")


if __name__ == "__main__":
    main()
