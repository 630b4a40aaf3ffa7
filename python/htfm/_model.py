"""From data to a model, samples and a report."""

from __future__ import annotations

import json
import math
import os
import pathlib
import tempfile
import warnings
from typing import Any, Mapping, Sequence

import torch

from htfm import _core
from htfm import config as _config
from htfm._arrays import seed_of
from htfm._core import InputError
from htfm._frames import Frame, back, dataset, is_path
from htfm._progress import Progress, Reporter

_FRAME_FILE = "frame.json"  # in a run folder: what the table was


def _cell(value: Any) -> str:
    return f"{value:.17g}" if isinstance(value, float) else str(value)


def _origin(call: str) -> list[tuple[str, str]]:
    return [("call", call), ("program", f"htfm {_core.version} (Python)")]


class Model:
    """A trained model. Made by :func:`fit`, :func:`train` or :func:`load`.

    >>> import htfm
    >>> model = htfm.train({"data.n": 500, "train.epochs": 1, "clock.family": "stable", "clock.alpha": 1.7})
    >>> model.clock
    'stable(alpha=1.7), grid 200'
    """

    def __init__(
        self, core: _core.Model, frame: Frame, fit: _core.TableFit | None = None, folder: str = ""
    ):
        self._core = core
        self._frame = frame
        self._fit = fit
        self._folder = folder
        #: The last call of sample(): evaluations a sample, diverged rows, seconds, areas of the clocks.
        self.last: _core.SampleResult | None = None

    # What it is

    @property
    def columns(self) -> list[str]:
        """The names of the columns; empty where they have none."""
        return list(self._core.column_names)

    @property
    def dim(self) -> int:
        """Values of a row as the network sees it."""
        return self._core.dim

    @property
    def clock(self) -> str:
        """The clock, which the data may have chosen."""
        return self._core.clock.describe()

    @property
    def clock_explanation(self) -> str:
        """Why the data chose it; empty where the configuration names it."""
        return self._core.clock_explanation

    @property
    def step(self) -> int:
        """Steps that it was trained."""
        return self._core.step

    @property
    def config(self) -> dict[str, str]:
        """Every key of its configuration."""
        return _config.entries(self._core.config)

    @property
    def weights(self) -> torch.Tensor:
        """The weights that samples are drawn with, as one vector that shares the model's memory."""
        return self._core.weights

    @property
    def weights_hash(self) -> str:
        """Names the weights: the same number as ``htfm info`` prints."""
        return self._core.weights_hash()

    @property
    def column_kinds(self) -> list[str]:
        """What each column was taken for, in words."""
        return list(self._core.column_kinds)

    def describe(self) -> dict[str, Any]:
        """What the model is, as ``htfm info`` says it.

        >>> import htfm
        >>> htfm.train({"data.n": 200, "train.epochs": 1}).describe()["method"]
        'htfm'
        """
        return dict(self._core.describe())

    # What fit() found

    @property
    def scores(self) -> dict[str, Any]:
        """The result of fit() in numbers: what fit.json holds; empty for other models."""
        return json.loads(_core.fit_json(self._fit)) if self._fit is not None else {}

    @property
    def comparison(self) -> list[str]:
        """How it compares with simpler models on rows that none has seen, a sentence each."""
        return list(_core.comparison_sentences(self._fit)) if self._fit is not None else []

    @property
    def notes(self) -> list[str]:
        """How fit() read the table and which clock it chose, a sentence each."""
        return list(self._fit.notes) if self._fit is not None else []

    @property
    def losses(self) -> tuple[list[float], list[float]]:
        """Steps and losses of the training of fit()."""
        return self._fit.losses if self._fit is not None else ([], [])

    # Samples

    def sample(
        self,
        n: int | None = None,
        nfe: int | None = None,
        seed: int | None = None,
        *,
        random_state: Any = None,
        device: str = "auto",
        solver: str | None = None,
        time_grid: str | None = None,
        time_power: float | None = None,
        time_centre: float | None = None,
        time_spread: float | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        eta: float | None = None,
        weights: str = "ema",
        first: int = 0,
        given: Any = None,
        each: int = 1,
        guidance: float | None = None,
        output: str | None = None,
        as_xarray: bool = False,
        progress: Progress = False,
    ) -> Any:
        """n rows as the data were: a data frame with the same columns and dtypes, an array, fields n x c x h x w.

        ``output``: pandas, polars, numpy or torch instead. What is not given is the run's own: evaluations (``nfe``),
        seed, solver. The same seed gives the bits of ``htfm sample``. A column of whole numbers whose samples do not fit
        its dtype stays float64.

        ``given``: conditions of a model that has some (``condition.columns``, ``condition.label``): a dictionary such as
        ``{"line": "fire"}``, the same as text ``"line=fire,region=EU"``, or a data frame or the path of a table with a row
        for each sample (``each``: so many samples of a row). What is not given is drawn from what was seen in training.
        ``guidance``: its strength. Conditions come back as columns of a table, and in ``last.conditions``.

        >>> import htfm
        >>> model = htfm.train({"data.n": 300, "train.epochs": 1})
        >>> model.sample(4, seed=7).shape
        (4, 2)
        """
        core = self._core
        options = self._sample_options(nfe, seed_of(seed, random_state), device, solver)
        if n is not None:
            options.n = int(n)
        if time_grid is not None:
            options.set_time_grid(time_grid)
        if time_power is not None:
            options.time_power = time_power
        if time_centre is not None:
            options.time_centre = time_centre
        if time_spread is not None:
            options.time_spread = time_spread
        if rtol is not None:
            options.rtol = rtol
        if atol is not None:
            options.atol = atol
        if eta is not None:
            options.eta = eta
        if weights not in ("ema", "raw"):
            raise InputError(f"[weights] expected ema or raw; got '{weights}'")
        options.averaged = weights == "ema"
        options.first = first
        if guidance is not None:
            options.guidance = float(guidance)
        if given is not None:
            self._give(options, given, each)
            if n is None and not isinstance(given, Mapping) and "=" not in str(given):
                options.n = options.given_count()
            for warning in options.given_warnings(core):
                warnings.warn(warning, stacklevel=2)
        with Reporter(progress) as reporter:
            options.set_report(
                (lambda done, total: reporter.sampling("sampling", done, total)) if reporter.active else None
            )
            self.last = _core.sample(core, options)
        rows, names = _core.written_rows(core, self.last), list(_core.written_names(core))
        columns = list(_core.written_columns(core))
        if not core.condition_columns:
            names = list(core.column_names)
        elif sorted(self._frame.columns) == sorted(names):  # in the order of the table
            order = [names.index(name) for name in self._frame.columns]
            rows, columns = rows[:, order].contiguous(), [columns[k] for k in order if columns]
        return self._rows(rows, output, as_xarray, names, columns)

    def calibrate(
        self,
        n: int = 2000,
        *,
        nfe: int | None = None,
        seed: int | None = None,
        device: str = "auto",
        solver: str | None = None,
    ) -> Model:
        """Sets the laws of scores right by n samples of the model, which are others than those of its own seed: samples
        that are drawn with the same solver and ``nfe`` then have the data's law at every point. For fields prepared with
        ``transform="scores"``; fit() has done it for tables. Returns the model.

        >>> import htfm, numpy as np, xarray as xr, tempfile
        >>> rain = np.random.default_rng(0).gamma(0.3, size=(200, 4, 4))
        >>> rain = xr.DataArray(np.where(rain < 0.2, 0, rain), dims=("time", "y", "x"), name="rain")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = htfm.fields.from_xarray(rain, folder + "/rain.fields", transform="scores", threshold=0.1)
        ...     model = htfm.train({"data.path": folder + "/rain.fields", "train.epochs": 1, "sample.nfe": 4})
        >>> wet = (model.calibrate(500).sample(500) > 0).mean()
        >>> bool(abs(wet - (rain[:160] > 0).mean()) < 0.1)
        True
        """
        options = self._sample_options(nfe, seed, device, solver)
        if seed is None:
            options.seed = options.seed + 1
        options.n = int(n)
        _core.calibrate(self._core, options)
        return self

    def _sample_options(
        self, nfe: int | None, seed: int | None, device: str, solver: str | None
    ) -> _core.SampleOptions:
        options = _core.sample_options(self._core.config)
        if seed is not None:
            options.seed = seed
        if solver is not None:
            options.solver = solver
        if nfe is not None:
            options.nfe = nfe
        elif options.solver == "dopri5":
            options.nfe = max(options.nfe, 2000)
        options.set_device(_core.choose_device(device, self._core.config.network))
        return options

    def _rows(
        self,
        rows: torch.Tensor,
        output: str | None,
        as_xarray: bool = False,
        names: list[str] | None = None,
        columns: list[Any] | None = None,
    ) -> Any:
        """Rows of the library as the data were; ``names`` and ``columns``: what they hold, where not what is modelled."""
        core = self._core
        names = list(core.column_names) if names is None else names
        columns = list(core.columns) if columns is None else columns
        shape = core.image_shape
        if shape is not None:
            images = rows.reshape(-1, *shape)
            if as_xarray:
                from htfm.fields import to_xarray

                return to_xarray(images, core.config.data_path if core.is_field else None)
            return images if output == "torch" or self._frame.kind == "torch" else images.numpy()
        if as_xarray:
            raise InputError("[as_xarray] expected a model of fields or images, got one of a table")
        if output not in (None, "pandas", "polars", "numpy", "torch"):
            raise InputError(f"[output] expected pandas, polars, numpy or torch; got '{output}'")
        if output in ("numpy", "torch"):
            return rows if output == "torch" else rows.numpy()
        frame = self._frame if output is None else Frame(output, self._frame.columns, self._frame.dtypes)
        return back(rows, frame, names, columns)

    def _give(self, options: _core.SampleOptions, given: Any, each: int) -> None:
        core = self._core
        if isinstance(given, Mapping):
            given = ",".join(f"{name}={value}" for name, value in given.items())
        if isinstance(given, (str, os.PathLike)):
            options.set_given(core, os.fspath(given), each)
            return
        names = [name for name, _ in core.condition_columns]
        if not hasattr(given, "columns"):
            raise InputError("[given] expected a dictionary, a text, a path or a data frame, got another thing")
        missing = [name for name in names if name not in [str(c) for c in given.columns]]
        if missing:
            raise InputError(f"[given] expected the columns {', '.join(names)}; got none named {', '.join(missing)}")
        columns = []
        for name, categories in core.condition_columns:
            cells = given[name].to_list()
            number = [math.nan if c is None or c != c else core.given_value(name, _cell(c)) for c in cells]
            columns.append(torch.tensor(number, dtype=torch.float64))
        options.set_given_rows(torch.stack(columns, 1), each)

    # Rare events

    def _rare_options(
        self, nfe: int | None, seed: int | None, device: str, solver: str | None, draws: int | None
    ) -> _core.RareOptions:
        options = _core.RareOptions()
        options.set_sample(self._sample_options(nfe, seed_of(seed, None), device, solver))
        if draws is not None:
            options.draws = draws
        return options

    def event_probability(
        self,
        where: str,
        *,
        nfe: int | None = None,
        seed: int | None = None,
        device: str = "auto",
        solver: str | None = None,
        draws: int | None = None,
    ) -> _core.EventProbability:
        """How probable a condition on columns is, however rare: ``probability``, ``standard_error``, the 95 % interval
        ``lower`` to ``upper``, and the network samples that it took. ``draws``: those of the estimate itself, after the
        search. doc/rare-events.md.

        >>> import htfm
        >>> model = htfm.train({"data.n": 300, "train.epochs": 1, "sample.solver": "euler", "sample.nfe": 2})
        >>> p = model.event_probability("column(1) > 5 and column(2) > 0", seed=1)
        >>> p.lower < p.probability < p.upper
        True
        """
        return _core.event_probability(self._core, where, self._rare_options(nfe, seed, device, solver, draws))

    def rare_quantile(
        self,
        of: str,
        probability: float,
        *,
        nfe: int | None = None,
        seed: int | None = None,
        device: str = "auto",
        solver: str | None = None,
        draws: int | None = None,
    ) -> _core.RareQuantile:
        """The number that an expression of columns exceeds with this probability, down to 1e-10: ``value`` with its
        95 % interval ``lower`` to ``upper``.

        >>> import htfm
        >>> model = htfm.train({"data.n": 300, "train.epochs": 1, "sample.solver": "euler", "sample.nfe": 2})
        >>> q = model.rare_quantile("0.5*column(1) + 0.5*column(2)", 1e-6, seed=1)
        >>> q.lower <= q.value <= q.upper
        True
        """
        return _core.rare_quantile(
            self._core, of, probability, self._rare_options(nfe, seed, device, solver, draws)
        )

    def sample_event(
        self,
        n: int,
        where: str,
        *,
        nfe: int | None = None,
        seed: int | None = None,
        device: str = "auto",
        solver: str | None = None,
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
        drawn = _core.sample_event(self._core, where, n, self._rare_options(nfe, seed, device, solver, None))
        return self._rows(drawn.samples, output), drawn.weights.numpy(), drawn.probability

    def sample_beyond(
        self,
        n: int,
        level: float,
        of: str = "size",
        *,
        nfe: int | None = None,
        seed: int | None = None,
        device: str = "auto",
        solver: str | None = None,
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
            self._core, of, level, n, self._rare_options(nfe, seed, device, solver, None)
        )
        assert drawn.threshold is not None
        return self._rows(drawn.samples, output), drawn.weights.numpy(), drawn.threshold

    # Files

    def save(self, path: str | os.PathLike[str]) -> str:
        """Writes the model into a new run folder, or into one checkpoint file where the path ends in .safetensors; to be
        read by :func:`load` and by the program. Returns the checkpoint's path.

        >>> import htfm, tempfile
        >>> model = htfm.train({"data.n": 200, "train.epochs": 1})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = model.save(folder + "/run")
        ...     htfm.load(folder + "/run").weights_hash == model.weights_hash
        True
        """
        target = os.fspath(path)
        if target.endswith(".safetensors"):
            self._core.save(target)
            return target
        checkpoint = _core.checkpoint_name(target, self._core.step)
        self._core.save(checkpoint)
        _core.atomic_write(os.path.join(target, "config.toml"), _core.format_config(self._core.config))
        _core.atomic_write(os.path.join(target, _FRAME_FILE), json.dumps(self._frame.to_dict()) + "\n")
        if self._fit is not None:
            _core.atomic_write(os.path.join(target, "fit.json"), _core.fit_json(self._fit) + "\n")
        return checkpoint

    def report(
        self, path: str | os.PathLike[str] | None = None, *, n: int | None = None, seed: int | None = None
    ) -> str:
        """The report as one self-contained HTML page: of fit(), the model beside held-out rows and simpler models; of
        other models what ``htfm report`` makes. Written to ``path`` where one is given; returns the HTML.

        >>> import htfm, numpy as np
        >>> quick = {"train.epochs": 1, "sample.solver": "euler", "sample.nfe": 2}
        >>> model = htfm.fit(np.random.default_rng(0).standard_t(3, size=(300, 2)), compare=False, settings=quick)
        >>> "<html" in model.report()
        True
        """
        if self._fit is not None:
            page = _core.fit_page(self._fit, _origin("htfm.fit(...)"))
        elif self._core.is_field:
            raise InputError("[report] expected a table or points; for fields: htfm report run -o report.html")
        elif self._core.config.data_path.startswith("("):
            raise InputError("[report] expected a model whose data are a file or a synthetic set, got rows in memory")
        else:
            with tempfile.TemporaryDirectory() as scratch:
                checkpoint = os.path.join(scratch, "model.safetensors")
                self._core.save(checkpoint)
                page = _core.run_page(checkpoint, n or 0, seed, "auto", self._folder, _origin("Model.report(...)"))
        if path is not None:
            _core.atomic_write(os.fspath(path), page)
        return page

    def __repr__(self) -> str:
        what = self.describe()
        return f"Model({what['method']}, {what['clock']}, {what['dimension']} dimensions, step {what['step']})"


def fit(
    data: Any,
    minutes: float | None = None,
    *,
    seed: int | None = None,
    random_state: Any = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    condition: Sequence[str] | None = None,
    missing: str = "keep",
    log_returns: bool = False,
    kinds: Mapping[str, str] | None = None,
    constraints: Sequence[str] = (),
    decimal: str = "auto",
    holdout: float = 0.3,
    samples: int = 10000,
    compare: bool = True,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    settings: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> Model:
    """From a table to a model: what ``htfm fit`` does, with the same bits for the same rows and seed.

    ``data``: a pandas or polars data frame, an array, or the path of a .csv, .tsv, .csv.gz, .npy, .parquet or .xlsx
    file; columns may hold numbers, categories, dates and missing values (doc/tables.md). ``minutes``: time to spend;
    where not given, two at the most. ``folder``: keeps the run, samples.csv and report.html there; Ctrl-C then leaves a
    checkpoint that ``resume=True`` goes on from. ``missing``: keep (modelled), drop or refuse. ``kinds``: what columns
    of a file hold, over what is recognised: ``{"zip": "category", "day": "date:D.M.Y"}``. ``constraints``: what every
    row keeps: ``["paid <= incurred"]``. ``condition``: columns that are given and not modelled, for
    ``sample(given=...)``.

    >>> import htfm, numpy as np
    >>> x = np.random.default_rng(0).standard_t(3, size=(400, 2))
    >>> model = htfm.fit(x, compare=False, settings={"train.epochs": 2, "sample.solver": "euler", "sample.nfe": 2})
    >>> model.sample(2, seed=1).dtype
    dtype('float64')
    """
    options = _core.TableFitOptions()
    options.settings = _config.settings_of(settings)
    if condition:
        from htfm._frames import joined as _joined

        options.settings = [*options.settings, "condition.columns=" + _joined(condition, "condition")]
    options.seed = seed_of(seed, random_state, 0)
    if not 0 <= holdout <= 0.9:
        raise InputError(f"[holdout] expected a share from 0 to 0.9, got {holdout}")
    if minutes is not None and not minutes > 0:
        raise InputError(f"[minutes] expected a positive number, got {minutes}")
    options.holdout, options.minutes = holdout, 0.0 if minutes is None else float(minutes)
    options.samples, options.compare = int(samples), compare
    options.folder = "" if folder is None else os.fspath(folder)
    options.resume = resume
    kinds_text = ",".join(["auto", *(f"{name}={kind}" for name, kind in (kinds or {}).items())])
    constraints_text = "; ".join([constraints] if isinstance(constraints, str) else constraints)
    with Reporter(progress) as reporter:
        options.set_callbacks(
            None,
            reporter.training if reporter.active else None,
            reporter.sampling if reporter.active else None,
            _origin("htfm.fit(...)"),
        )
        if is_path(data):
            from htfm._frames import joined

            frame = Frame(kind="auto")
            options.file = _core.FileSpec(
                os.fspath(data),
                joined(columns, "columns"),
                joined(drop, "drop"),
                missing,
                log_returns,
                "table",
                kinds_text,
                decimal,
                constraints_text,
            )
            result = _core.fit_table(options)
        else:
            table, frame, name = dataset(
                data, columns, drop, missing, log_returns, kinds_text, decimal, constraints_text
            )
            options.file = _core.FileSpec(name)
            result = _core.fit_rows(table, options)
    if options.folder:
        _core.atomic_write(os.path.join(options.folder, _FRAME_FILE), json.dumps(frame.to_dict()) + "\n")
    return Model(result.model, frame, result, options.folder)


def train(
    config: Any = None,
    data: Any = None,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    random_state: Any = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    device: str = "auto",
    progress: Progress = None,
) -> Model:
    """Trains as a configuration says: a dictionary, or the path of a TOML file; what ``htfm train`` does, with the same
    bits. ``data``: rows at hand (data frame or array) instead of those that the configuration names.

    Ctrl-C ends it at the next step; with ``folder`` the checkpoint of that step is written, and ``resume=True`` goes on
    from it to the same bits.

    >>> import htfm
    >>> htfm.train({"data": {"n": 300}, "train": {"epochs": 1}, "clock": {"family": "stable", "alpha": 1.7}}).step
    1
    """
    own_seed = seed_of(seed, random_state)
    extra = dict(settings or {})
    if own_seed is not None:
        extra["seed"] = own_seed
    frame = Frame(kind="numpy")
    table = None
    if data is not None:
        if is_path(data):
            extra["data.path"] = os.fspath(data)
            frame = Frame(kind="auto")
        else:
            table, frame, name = dataset(data)
            extra["data.path"], extra["data.kind"] = name, "table"
    run = _config.make(config, extra)
    place = "" if folder is None else os.fspath(folder)
    with Reporter(progress) as reporter:
        report = (lambda p: reporter.training("training", p)) if reporter.active else None
        if table is None:
            core = _core.train(run, place, device, resume, report)
        else:
            core = _core.train_rows(run, table, place, device, resume, report)
    if place:
        _core.atomic_write(os.path.join(place, _FRAME_FILE), json.dumps(frame.to_dict()) + "\n")
    return Model(core, frame, folder=place)


def load(path: str | os.PathLike[str]) -> Model:
    """The model of a run folder, its newest checkpoint, or of a checkpoint file; of the program or of Python.

    >>> import htfm
    >>> htfm.load("no such run")
    Traceback (most recent call last):
    ...
    _core.InputError: [run] no such run: expected a run folder or a checkpoint file, got nothing
    """
    place = os.fspath(path)
    core = _core.Model.load(_core.resolve_checkpoint(place))
    stored = pathlib.Path(place) / _FRAME_FILE
    frame = Frame(kind="auto")
    if stored.is_file():
        frame = Frame.from_dict(json.loads(stored.read_text()))
    return Model(core, frame, folder=place if os.path.isdir(place) else "")
