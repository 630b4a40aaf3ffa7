"""Are the tails of a data set light or heavy, and how heavy."""

from __future__ import annotations

import os
from typing import Any, Sequence

from htfm import _core, clocks
from htfm._arrays import flag, real, seed_of, text, whole
from htfm._core import InputError
from htfm._frames import dataset
from htfm._words import in_python


class Tail:
    """One tail: of the radius, of one side of a column, of a direction.

    >>> import htfm, numpy as np
    >>> htfm.tails(np.random.default_rng(0).standard_t(3, size=(2000, 2))).radius.verdict
    'heavy'
    """

    def __init__(self, found: dict[str, Any]):
        self._found = found
        self.name: str = found["name"]
        #: light, heavy or unclear
        self.verdict: str = found["verdict"]
        #: The verdict in words.
        self.sentence: str = found["sentence"]
        #: The tail index, infinite where the tail is lighter than any power.
        self.index: float = found["index"]
        #: Its interval.
        self.interval: tuple[float, float] = tuple(found["interval"])
        #: The value of the data beyond which the fitted law holds.
        self.threshold: float = found["threshold"]
        #: How many values lie beyond it.
        self.exceedances: int = found["exceedances"]
        self.p_value: float = found["p_value"]

    def __repr__(self) -> str:
        low, high = self.interval
        return f"Tail({self.name}: {self.verdict}, index {self.index:.3g} in [{low:.3g}, {high:.3g}])"


class Tails:
    """The diagnosis of a data set. In a notebook it shows itself as the page of ``htfm tails``.

    >>> import htfm, numpy as np
    >>> found = htfm.tails(np.random.default_rng(0).standard_t(3, size=(2000, 2)))
    >>> found.interval[0] < found.index < found.interval[1]
    True
    """

    def __init__(self, core: _core.Diagnosis, data: _core.Dataset, name: str):
        self._core, self._data, self._name = core, data, name
        spec, self.clock_explanation = _core.suggest_clock(core)
        #: The clock that the tails speak for.
        self.clock = clocks.Clock(spec)
        #: light, heavy or unclear
        self.verdict: str = core.verdict
        #: The verdict in words.
        self.sentence: str = core.sentence
        #: The tail of the distance from the centre.
        self.radius = Tail(core.radius)
        #: Two tails a column: above, below.
        self.columns = [Tail(side) for side in core.sides]
        #: Of random directions.
        self.directions = [Tail(found) for found in core.directions]
        self.skewness: list[dict[str, Any]] = list(core.skewness)
        found = core.decisive
        decisive = self.radius if found is None else Tail(found)
        #: The index that the verdict rests on, its interval and the threshold.
        self.index, self.interval, self.threshold = decisive.index, decisive.interval, decisive.threshold

    def quantile(self, p: float, column: int | None = None, side: str = "above") -> tuple[float, float, float]:
        """The value that is exceeded (or fallen below) with probability p by the fitted distribution, and its interval;
        by default of the radius.

        >>> import htfm, numpy as np
        >>> value, low, high = htfm.tails(np.random.default_rng(0).standard_t(3, size=(2000, 2))).quantile(1e-4)
        >>> low < value < high
        True
        """
        return self._core.quantile(self._side(column, side), real(p, "p"))

    def _side(self, column: int | None, side: str) -> int:
        if column is None:
            return -1
        if side not in ("above", "below"):
            raise InputError(f"[side] expected above or below; got '{side}'")
        for k, found in enumerate(self._core.sides):
            if found["column"] == column and found["name"].endswith(side):
                return k
        raise InputError(f"[column] expected the number of a column that varies, counted from 0; got {column}")

    def riskmeasures(
        self,
        p: Sequence[float] = (0.95, 0.99, 0.995, 0.999),
        column: int | None = None,
        side: str = "above",
        interval: float = 0.95,
    ) -> Any:
        """Value at risk (quantile) and expected shortfall (sfall) by the fitted generalised Pareto law, with profile
        intervals: a data frame where pandas is installed. As riskmeasures of the R package evir.

        >>> import htfm, numpy as np
        >>> found = htfm.tails(np.random.default_rng(0).standard_t(3, size=(2000, 2)))
        >>> len(found.riskmeasures([0.99, 0.999], column=1, side="below"))
        2
        """
        from htfm._risk import _cells, as_table

        rows = _core.risk_measures(self._core, self._side(column, side), list(p), interval)
        return as_table([{"p": level, **_cells("quantile", q), **_cells("sfall", s)} for level, q, s in rows])

    def return_level(
        self,
        period: Sequence[float] = (100, 200, 1000),
        column: int | None = None,
        side: str = "above",
        interval: float = 0.95,
    ) -> Any:
        """What is exceeded once in this many rows, as return.level of the R package extRemes gives it.

        >>> import htfm, numpy as np
        >>> found = htfm.tails(np.random.default_rng(0).standard_t(3, size=(2000, 2)))
        >>> len(found.return_level([100, 1000]))
        2
        """
        from htfm._risk import _cells, as_table

        levels = [_core.level_of_period(t) for t in period]
        rows = _core.risk_measures(self._core, self._side(column, side), levels, interval)
        return as_table([{"period": t, **_cells("level", q), **_cells("sfall", s)} for t, (_, q, s) in zip(period, rows)])

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page of ``htfm tails``: verdicts, and the plots behind them; written to ``path`` where one is given.

        >>> import htfm, numpy as np
        >>> "<html" in htfm.tails(np.random.default_rng(0).standard_t(3, size=(500, 2))).to_html()
        True
        """
        page = _core.tail_page(self._name, self._data, self._core, [("call", "htfm.tails(...)")])
        if path is not None:
            _core.atomic_write(os.fspath(path), page)
        return page

    def _repr_html_(self) -> str:
        import html

        source = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{source}" style="width: 100%; height: 600px; border: 0"></iframe>'

    def plot(self, ax: Any = None) -> Any:
        """Survival of the radius on logarithmic axes, with its threshold; needs matplotlib. Returns the axes.

        >>> import htfm, numpy as np
        >>> htfm.tails(np.random.default_rng(0).standard_t(3, size=(500, 2))).plot().get_xlabel()
        'distance from the centre'
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise InputError("[plot] expected matplotlib: pip install matplotlib") from None
        axes = plt.subplots()[1] if ax is None else ax
        found = self._core.radius
        values, n = found["values"], found["rows"]
        share = [(len(values) - k) / n for k in range(len(values))]
        axes.loglog(values, share, ".", markersize=3, label="data")
        axes.axvline(found["threshold"], linewidth=0.8, linestyle="--", color="grey", label="threshold")
        axes.set_xlabel("distance from the centre")
        axes.set_ylabel("share beyond")
        axes.set_title(self.sentence if len(self.sentence) < 80 else self.verdict)
        axes.legend()
        return axes

    def __str__(self) -> str:
        return in_python(self._core.text())

    def __repr__(self) -> str:
        low, high = self.interval
        return f"Tails({self.verdict}, index {self.index:.3g} in [{low:.3g}, {high:.3g}], {self.clock.spec.describe()})"


def tails(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    missing: str = "refuse",
    log_returns: bool = False,
    radius: str = "euclidean",
    directions: int = 32,
    level: float = 0.95,
    seed: int | None = None,
    random_state: Any = None,
) -> Tails:
    """Says of a data frame, an array or a file whether its tails are light or heavy: what ``htfm tails`` does.

    >>> import htfm, numpy as np
    >>> found = htfm.tails(np.random.default_rng(0).standard_t(3, size=(5000, 2)))
    >>> found.verdict, found.clock.family
    ('heavy', 'inverse-gamma')
    """
    table, _, name = dataset(data, columns, drop, missing, flag(log_returns, "log_returns"))
    core = _core.diagnose(table, text(radius, "radius"), whole(directions, "directions"), real(level, "level"), seed_of(seed, random_state, 0))
    return Tails(core, table, name)
