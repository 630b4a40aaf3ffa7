"""Scores of samples against data: those of ``htfm eval``, with the same numbers.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> a, b = rng.normal(size=(500, 2)), rng.normal(size=(500, 2))
>>> 0.5 < f1_prd(a, b) <= 1.0
True
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import torch

from htfm import _core
from htfm._arrays import ArrayLike, points as _points, real as _real, seed_of, whole

__all__ = [
    "Score",
    "compute",
    "f1_knn",
    "f1_prd",
    "frechet",
    "images",
    "mmd",
    "names",
    "register",
    "tails",
    "w1",
    "w1_sliced",
]


class Score(float):
    """A number with its parts as attributes.

    >>> Score(0.5, precision=0.4).precision
    0.4
    """

    def __new__(cls, value: float, **parts: Any) -> Score:
        out = super().__new__(cls, value)
        out.__dict__.update(parts)
        return out

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"this score has {', '.join(sorted(self.__dict__)) or 'no parts'}, not '{name}'")


def _pair(real: ArrayLike, fake: ArrayLike) -> tuple[torch.Tensor, torch.Tensor]:
    return _points(real, "real"), _points(fake, "fake")


def names() -> dict[str, str]:
    """The scores that :func:`compute` knows, with a line each.

    >>> "f1_prd" in names()
    True
    """
    return dict(_core.metric_infos())


def compute(
    real: ArrayLike,
    fake: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    k: int = 10,
    rounds: int = 200,
    seed: int | None = None,
    random_state: Any = None,
) -> dict[str, Score]:
    """Scores by name (all where none are named). Those with a bootstrap interval have ``.low`` and ``.high``.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).standard_t(3, size=(400, 2))
    >>> float(compute(x, x, ["w1_pooled"])["w1_pooled"])
    0.0
    """
    a, b = _pair(real, fake)
    wanted = [names] if isinstance(names, str) else list(names or [])
    values = _core.compute_metrics(wanted, a, b, seed_of(seed, random_state, 0), whole(k, "k"), whole(rounds, "rounds"))
    return {
        name: Score(value, low=low, high=high) if interval else Score(value) for name, value, low, high, interval in values
    }


def f1_prd(
    real: ArrayLike,
    fake: ArrayLike,
    *,
    clusters: int = 0,
    clusterings: int = 10,
    angles: int = 201,
    seed: int | None = None,
    random_state: Any = None,
) -> Score:
    """Precision and recall of distributions, harmonic mean; ``.precision``, ``.recall`` and the curve.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> round(float(f1_prd(x, x)), 3)
    1.0
    """
    a, b = _pair(real, fake)
    f1, precision, recall, curve_precision, curve_recall = _core.f1_prd(
        a, b, whole(clusters, "clusters"), whole(clusterings, "clusterings"), whole(angles, "angles"), seed_of(seed, random_state, 0)
    )
    return Score(f1, precision=precision, recall=recall, curve=(curve_precision, curve_recall))


def f1_knn(real: ArrayLike, fake: ArrayLike, k: int = 10) -> Score:
    """Precision and recall by balls of k nearest neighbours, harmonic mean; ``.precision``, ``.recall``.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> float(f1_knn(x, x))
    1.0
    """
    f1, precision, recall = _core.f1_knn(*_pair(real, fake), whole(k, "k"))
    return Score(f1, precision=precision, recall=recall)


def w1(real: ArrayLike, fake: ArrayLike) -> float:
    """The exact Wasserstein-1 distance of all coordinates, taken as two samples of numbers.

    >>> w1([0.0, 1.0], [1.0, 2.0])
    1.0
    """
    return _core.w1_pooled(*_pair(real, fake))


def w1_sliced(
    real: ArrayLike, fake: ArrayLike, directions: int = 128, *, seed: int | None = None, random_state: Any = None
) -> Score:
    """Mean Wasserstein-1 distance over random directions; ``.standard_error`` by their choice.

    >>> float(w1_sliced([[0.0, 0.0]], [[0.0, 0.0]]))
    0.0
    """
    value, error = _core.w1_sliced(*_pair(real, fake), whole(directions, "directions"), seed_of(seed, random_state, 0))
    return Score(value, standard_error=error)


def mmd(
    real: ArrayLike,
    fake: ArrayLike,
    *,
    points: int = 4096,
    octaves: int = 4,
    bandwidth: float = 0.0,
    seed: int | None = None,
    random_state: Any = None,
) -> Score:
    """The squared maximum mean discrepancy, unbiased; ``.bandwidth`` is the middle one.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> abs(mmd(rng.normal(size=(200, 2)), rng.normal(size=(200, 2)))) < 0.1
    True
    """
    value, used = _core.mmd(
        *_pair(real, fake), whole(points, "points"), whole(octaves, "octaves"), _real(bandwidth, "bandwidth"), seed_of(seed, random_state, 0)
    )
    return Score(value, bandwidth=used)


def frechet(real: ArrayLike, fake: ArrayLike) -> Score:
    """The Frechet distance of two sets of features, taken as Gaussians; ``.mean`` and ``.covariance`` are its shares.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> round(float(frechet(x, x + 1.0)), 6)
    3.0
    """
    value, mean, covariance = _core.frechet(*_pair(real, fake))
    return Score(value, mean=mean, covariance=covariance)


def tails(
    real: ArrayLike,
    fake: ArrayLike,
    *,
    tail_fraction: float = 0.005,
    levels: Sequence[float] = (0.99, 0.999, 0.9999),
) -> dict[str, Any]:
    """Tails of the radii about the centre of ``real``: far quantiles, their log ratios, Hill indices.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).standard_t(3, size=(2000, 2))
    >>> tails(x, x)["log_ratio"][0]
    0.0
    """
    return dict(_core.tails_of(*_pair(real, fake), _real(tail_fraction, "tail_fraction"), [_real(p, "levels") for p in levels]))


def images(
    real: str,
    samples: ArrayLike,
    network: str,
    *,
    kind: str = "auto",
    subset: str = "all",
    k: int = 3,
    batch: int = 500,
    cache: str = "",
    device: str = "cpu",
) -> dict[str, Any]:
    """Scores of image samples (n x c x h x w in [-1, 1] or bytes) against real ones by the features of a TorchScript
    network: what ``htfm eval`` does for images (doc/images.md).

    >>> import numpy as np, tempfile, torch
    >>> pixels = np.random.default_rng(0).integers(0, 256, size=(40, 3, 32, 32), dtype=np.uint8)
    >>> network = torch.jit.trace(lambda x: x.float().mean((2, 3)), torch.zeros(1, 3, 32, 32))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     network.save(folder + "/features.pt")
    ...     with open(folder + "/data_batch_1.bin", "wb") as file:  # CIFAR-10: a label, then the pixels
    ...         _ = file.write(b"".join(b"\\0" + image.tobytes() for image in pixels))
    ...     scores = images(folder + "/data_batch_1.bin", pixels, folder + "/features.pt")
    >>> abs(scores["frechet"]) < 1e-9
    True
    """
    from htfm._arrays import share

    return dict(_core.evaluate_images(real, kind, subset, network, share(samples, "samples")[0].cpu(), whole(batch, "batch"), whole(k, "k"), cache, str(device)))


def register(name: str, score: Callable[[Any, Any], Mapping[str, float] | float], summary: str = "") -> None:
    """Makes a score of one's own known to :func:`compute` and to reports of this process: a function of two float64
    arrays that gives a number, or several by name.

    >>> import numpy as np
    >>> register("mean_gap", lambda real, fake: float(abs(real.mean() - fake.mean())))
    >>> float(compute(np.zeros((5, 1)), np.ones((5, 1)), ["mean_gap"])["mean_gap"])
    1.0
    """

    def values(real: torch.Tensor, fake: torch.Tensor) -> dict[str, float]:
        found = score(real.numpy(), fake.numpy())
        if isinstance(found, Mapping):
            return {str(key): float(value) for key, value in found.items()}
        return {name: float(found)}

    _core.register_metric(name, summary or name, values)
