"""Rare events of a model (doc/rare-events.md)."""

from __future__ import annotations

from typing import Any, Mapping

from htfm import _core
from htfm._arrays import real, seed_of, text, whole
from htfm._sampling import Sampled


class RareEvents(Sampled):
    """How probable what hardly ever happens is, and rows of it."""

    def _rare_options(
        self, nfe: int | None, seed: int | None, device: str, solver: str | None, draws: int | None, given: Any
    ) -> _core.RareOptions:
        options = _core.RareOptions()
        sample = self._sample_options(nfe, seed, device, solver)
        if given is not None and not (isinstance(given, Mapping) and not given):
            self._give(sample, given, 1)
        options.set_sample(sample)
        if draws is not None:
            options.draws = whole(draws, "draws")
        return options

    def event_probability(
        self,
        where: str,
        *,
        nfe: int | None = None,
        seed: int | None = None,
        random_state: Any = None,
        device: str = "auto",
        solver: str | None = None,
        given: Any = None,
        draws: int | None = None,
    ) -> _core.EventProbability:
        """How probable a condition on columns is, however rare: ``probability``, ``standard_error``, the 95 % interval
        ``lower`` to ``upper``, and the network samples that it took. ``draws``: those of the estimate itself, after the
        search. ``given``: as in :meth:`sample`, the same for all; a model that has conditions needs all of them.
        doc/rare-events.md.

        >>> import htfm
        >>> model = htfm.train({"data.n": 300, "train.epochs": 1, "sample.solver": "euler", "sample.nfe": 2})
        >>> p = model.event_probability("column(1) > 5 and column(2) > 0", seed=1)
        >>> p.lower < p.probability < p.upper
        True
        """
        return _core.event_probability(self._core, text(where, "where"), self._rare_options(nfe, seed_of(seed, random_state), device, solver, draws, given))

    def rare_quantile(
        self,
        of: str,
        probability: float,
        *,
        nfe: int | None = None,
        seed: int | None = None,
        random_state: Any = None,
        device: str = "auto",
        solver: str | None = None,
        given: Any = None,
        draws: int | None = None,
    ) -> _core.RareQuantile:
        """The number that an expression of columns exceeds with this probability, down to 1e-10: ``value`` with its
        95 % interval ``lower`` to ``upper``. ``given``: as in :meth:`event_probability`.

        >>> import htfm
        >>> model = htfm.train({"data.n": 300, "train.epochs": 1, "sample.solver": "euler", "sample.nfe": 2})
        >>> q = model.rare_quantile("0.5*column(1) + 0.5*column(2)", 1e-6, seed=1)
        >>> q.lower <= q.value <= q.upper
        True
        """
        return _core.rare_quantile(
            self._core, text(of, "of"), real(probability, "probability"), self._rare_options(nfe, seed_of(seed, random_state), device, solver, draws, given)
        )

    def sample_event(
        self,
        n: int,
        where: str,
        *,
        nfe: int | None = None,
        seed: int | None = None,
        random_state: Any = None,
        device: str = "auto",
        solver: str | None = None,
        given: Any = None,
        output: str | None = None,
    ) -> tuple[Any, Any, _core.EventProbability]:
        """n rows that meet a condition, as :meth:`sample` gives them; their weights; and the condition's probability.
        The mean of weight times f(row) is an unbiased estimate of E[f(row); condition].

        >>> import htfm
        >>> model = htfm.train({"data.n": 300, "train.epochs": 1, "sample.solver": "euler", "sample.nfe": 2})
        >>> rows, weights, p = model.sample_event(100, "column(1) > 5", seed=1)
        >>> rows.shape, bool((rows[:, 0] > 5).all()), bool(abs(weights.mean() - p.probability) < 1e-9)
        ((100, 2), True, True)
        """
        drawn = _core.sample_event(self._core, text(where, "where"), whole(n, "n"), self._rare_options(nfe, seed_of(seed, random_state), device, solver, None, given))
        return self._rows(drawn.samples, output), drawn.weights.numpy(), drawn.probability

    def sample_beyond(
        self,
        n: int,
        level: float,
        of: str = "size",
        *,
        nfe: int | None = None,
        seed: int | None = None,
        random_state: Any = None,
        device: str = "auto",
        solver: str | None = None,
        given: Any = None,
        output: str | None = None,
    ) -> tuple[Any, Any, _core.RareQuantile]:
        """n rows whose size, or another expression of columns, is beyond its quantile at a level; their weights; and
        that quantile.

        >>> import htfm
        >>> model = htfm.train({"data.n": 300, "train.epochs": 1, "sample.solver": "euler", "sample.nfe": 2})
        >>> rows, weights, q = model.sample_beyond(100, 0.999, "column(1)", seed=1)
        >>> bool((rows[:, 0] > q.value).all())
        True
        """
        drawn = _core.sample_beyond(
            self._core, text(of, "of"), real(level, "level"), whole(n, "n"), self._rare_options(nfe, seed_of(seed, random_state), device, solver, None, given)
        )
        assert drawn.threshold is not None
        return self._rows(drawn.samples, output), drawn.weights.numpy(), drawn.threshold
