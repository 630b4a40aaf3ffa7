"""What risk people ask of a model of a table."""

from __future__ import annotations

import os
from typing import Any, Iterable, Mapping, Sequence

import torch

from htfm import _core
from htfm._arrays import real, seed_of, whole
from htfm._core import InputError
from htfm._frames import Frame, back, dataset, is_path
from htfm._model import Model
from htfm._words import in_python

_JOINT = ("both", "second_given_first", "first_given_second", "mean_second", "mean_first", "rows")


def _cells(name: str, figure: tuple[float, float, float]) -> dict[str, float]:
    return {name: figure[0], f"{name}_low": figure[1], f"{name}_high": figure[2]}


def as_table(rows: list[dict[str, Any]]) -> Any:
    """A data frame where pandas is installed, else the list of rows as it is."""
    try:
        import pandas as pd
    except ImportError:
        return rows
    return pd.DataFrame(rows)


class Risk:
    """Figures of risk with intervals; made by :func:`risk`. Tables are data frames where pandas is installed, else lists
    of dictionaries. All values are in the units of the data.

    >>> import htfm, numpy as np
    >>> x = np.random.default_rng(0).standard_t(3, size=(300, 2))
    >>> quick = {"train.epochs": 1, "sample.solver": "euler", "sample.nfe": 2}
    >>> found = htfm.risk(htfm.fit(x, compare=False, settings=quick), levels=[0.99], n=2000, rounds=20)
    >>> len(found.measures), len(found.joint)
    (2, 1)
    """

    def __init__(self, core: _core.RiskReport, stress_quantiles: Sequence[float]):
        self._core, self._stress_quantiles = core, list(stress_quantiles)
        #: What the intervals hold: samples, tail fit or refits.
        self.uncertainty: str = core.uncertainty
        #: What a reader should know, a sentence each; the first says what the intervals hold.
        self.notes: list[str] = [in_python(note) for note in core.notes]
        #: (name, high or low, whether by the column's own law) of each loss.
        self.losses: list[tuple[str, str, bool]] = list(core.losses)
        self.seconds: float = core.seconds

    def _measures(self, rows: Any) -> Any:
        return as_table(
            [
                {"loss": loss, "side": side, "p": p, "period": period, **_cells("quantile", q), **_cells("sfall", s)}
                for loss, side, p, period, q, s in rows
            ]
        )

    @property
    def measures(self) -> Any:
        """Value at risk (quantile) and expected shortfall (sfall) of each loss at each level."""
        return self._measures(self._core.measures)

    @property
    def return_levels(self) -> Any:
        """The same at the levels of the return periods."""
        return self._measures(self._core.return_levels)

    @property
    def joint(self) -> Any:
        """Pairs of columns beyond their quantiles: P(both), P(one | other), mean of one given the other; ``rows``: P(second
        | first) as the training rows have it."""
        out = []
        for first, second, p, figures in self._core.joint:
            row: dict[str, Any] = {"first": first, "second": second, "p": p}
            for name, figure in zip(_JOINT, figures):
                row.update(_cells(name, figure))
            out.append(row)
        return as_table(out)

    @property
    def stress(self) -> Any:
        """Means and quantiles of all columns, given that one is beyond the stress level."""
        out = []
        for given, column, figures in self._core.stress:
            row: dict[str, Any] = {"given": given, "column": column, **_cells("mean", figures[0])}
            for q, figure in zip(self._stress_quantiles, figures[1:]):
                row.update(_cells(f"q{q:g}", figure))
            out.append(row)
        return as_table(out)

    def scenarios(self, loss: str, p: float = 0.99) -> Any:
        """The samples whose loss is beyond the level, the worst first: a table of all columns, and the portfolio.

        >>> import htfm, numpy as np
        >>> x = np.random.default_rng(0).standard_t(3, size=(300, 2))
        >>> quick = {"train.epochs": 1, "sample.solver": "euler", "sample.nfe": 2}
        >>> found = htfm.risk(htfm.fit(x, compare=False, settings=quick), n=2000, rounds=20)
        >>> found.scenarios("column 1", 0.99).shape
        (20, 2)
        """
        rows: torch.Tensor = _core.scenarios(self._core, loss, p)
        names = [name for name, _, _ in self.losses]
        return back(rows, Frame("auto", names, []), names)

    def save(self, folder: str | os.PathLike[str]) -> list[str]:
        """Writes the files of ``htfm risk -o FOLDER``; returns their names.

        >>> import tempfile
        >>> import htfm, numpy as np
        >>> x = np.random.default_rng(0).standard_t(3, size=(300, 2))
        >>> quick = {"train.epochs": 1, "sample.solver": "euler", "sample.nfe": 2}
        >>> found = htfm.risk(htfm.fit(x, compare=False, settings=quick), n=2000, rounds=20)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.save(folder)[0]
        'measures.csv'
        """
        place = os.fspath(folder)
        os.makedirs(place, exist_ok=True)
        return _core.write_risk(place, "the model", self._core, [("call", "htfm.risk(...)")])

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page of ``htfm risk``; written to ``path`` where one is given.

        >>> import htfm, numpy as np
        >>> x = np.random.default_rng(0).standard_t(3, size=(300, 2))
        >>> quick = {"train.epochs": 1, "sample.solver": "euler", "sample.nfe": 2}
        >>> found = htfm.risk(htfm.fit(x, compare=False, settings=quick), n=2000, rounds=20)
        >>> "<html" in found.to_html()
        True
        """
        page = _core.risk_page("the model", self._core, [("call", "htfm.risk(...)")])
        if path is not None:
            _core.atomic_write(os.fspath(path), page)
        return page

    def to_json(self) -> str:
        """What ``htfm risk --json`` prints.

        >>> import json
        >>> import htfm, numpy as np
        >>> x = np.random.default_rng(0).standard_t(3, size=(300, 2))
        >>> quick = {"train.epochs": 1, "sample.solver": "euler", "sample.nfe": 2}
        >>> found = htfm.risk(htfm.fit(x, compare=False, settings=quick), n=2000, rounds=20)
        >>> list(json.loads(found.to_json())["losses"])
        ['column 1', 'column 2']
        """
        return self._core.json()

    def __str__(self) -> str:
        return in_python(self._core.text())

    def __repr__(self) -> str:
        return f"Risk({', '.join(name for name, _, _ in self.losses)}; intervals: {self.uncertainty})"


def _sides(losses: str | Mapping[str, str]) -> str:
    return losses if isinstance(losses, str) else ",".join(f"{name}={side}" for name, side in losses.items())


def _reals(values: Any, what: str) -> list[float]:
    """Numbers; one alone stands for a list of it."""
    return [real(v, what) for v in values] if isinstance(values, Iterable) and not isinstance(values, str) else [real(values, what)]


def risk(
    model: Model,
    *,
    losses: str | Mapping[str, str] = "high",
    portfolio: Mapping[str, float] | str | os.PathLike[str] | None = None,
    levels: Sequence[float] = (0.95, 0.99, 0.995, 0.999),
    return_periods: Sequence[float] = (100, 200, 1000),
    rows_per_period: float = 1,
    stress_level: float = 0.99,
    stress_quantiles: Sequence[float] = (0.05, 0.5, 0.95),
    stress: Sequence[str] = (),
    n: int | None = None,
    rounds: int = 200,
    refits: int = 0,
    interval: float = 0.95,
    seed: int | None = None,
    random_state: Any = None,
    data: Any = None,
) -> Risk:
    """Value at risk, expected shortfall, return levels, joint exceedances and stress tables of a model of a table, each
    with an interval that holds the uncertainty of the fit: what ``htfm risk`` does, with the same numbers.

    ``losses``: high or low values, or a side for each column. ``portfolio``: weights by column, or a file of them.
    ``data``: the training table, where the model was not made by :func:`fit` in this session and its file has moved.

    >>> import htfm, numpy as np
    >>> x = np.random.default_rng(0).standard_t(3, size=(400, 2))
    >>> quick = {"train.epochs": 2, "sample.solver": "euler", "sample.nfe": 2}
    >>> found = htfm.risk(htfm.fit(x, compare=False, settings=quick), n=2000, rounds=20, losses="low")
    >>> [loss[:2] for loss in found.losses]
    [('column 1', 'low'), ('column 2', 'low')]
    """
    if not isinstance(model, Model):
        raise InputError(f"[model] expected a Model, got {type(model).__name__}")
    options = _core.RiskOptions()
    options.losses = _sides(losses)
    if portfolio is None:
        options.portfolio = []
    elif isinstance(portfolio, Mapping):
        options.portfolio = [(str(name), real(weight, "portfolio")) for name, weight in portfolio.items()]
    else:
        options.portfolio = _core.read_portfolio(os.fspath(portfolio))
    options.levels, options.return_periods = _reals(levels, "levels"), _reals(return_periods, "return_periods")
    options.rows_per_period, options.stress_level = real(rows_per_period, "rows_per_period"), real(stress_level, "stress_level")
    options.stress_quantiles = _reals(stress_quantiles, "stress_quantiles")
    options.stress = [stress] if isinstance(stress, str) else [str(name) for name in stress]
    options.n, options.rounds, options.refits = whole(n or 0, "n"), whole(rounds, "rounds"), whole(refits, "refits")
    options.interval = real(interval, "interval")
    options.seed = seed_of(seed, random_state)
    rows = None
    if data is not None:
        if is_path(data):
            options.data = os.fspath(data)
        else:
            rows = dataset(data)[0]
    elif model._fit is not None:
        rows = model._fit.rows
    return Risk(_core.risk(model._core, options, rows), options.stress_quantiles)
