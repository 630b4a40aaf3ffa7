"""Samples of a model, as the data were."""

from __future__ import annotations

import math
import os
import warnings
from typing import TYPE_CHECKING, Any, Mapping

import torch

from htfm import _core
from htfm._arrays import flag, model_device, real, seed_of, text, whole
from htfm._core import InputError
from htfm._frames import Frame, back
from htfm._progress import Progress, Reporter
from htfm._words import in_python

if TYPE_CHECKING:
    from typing_extensions import Self  # of typing from Python 3.11 on


def _cell(value: Any) -> str:
    return f"{value:.17g}" if isinstance(value, float) else str(value)


def doubts(drawn: _core.SampleResult, n: int, options: _core.SampleOptions) -> list[str]:
    """What is wrong with samples: those whose solver gave up, and those that are not finite."""
    out = []
    if drawn.incomplete:
        out.append(f"[sample] {drawn.incomplete} of {n} samples are unfinished: {options.solver} spent its {options.nfe} "
                   "evaluations before t = 1 (a larger nfe lets it go on)")
    if drawn.diverged:
        out.append(f"[sample] {drawn.diverged} of {n} samples are not finite")
    return out


_OWN_NUMBERS = {"rtol": "dopri5", "atol": "dopri5", "eta": "stochastic", "eta_from": "stochastic"}


def set_solver_numbers(options: _core.SampleOptions, **numbers: Any) -> None:
    """Sets those that are given, and refuses those that the solver does not use."""
    for name, value in numbers.items():
        if value is None:
            continue
        setattr(options, name, real(value, name))
        if _OWN_NUMBERS.get(name, options.solver) != options.solver:
            raise InputError(f"[{name}] expected the solver {_OWN_NUMBERS[name]} with it, got {options.solver}, which does not use it")


class Sampled:
    """What draws samples: a trained model, and what its table was."""

    def __init__(
        self, core: _core.Model, frame: Frame, fit: _core.TableFit | None = None, folder: str = ""
    ):
        self._core = core
        self._frame = frame
        self._fit = fit
        self._folder = folder
        #: The last call of sample(): evaluations a sample, diverged rows, seconds, areas of the clocks.
        self.last: _core.SampleResult | None = None
        self._steps: tuple[Any, _core.FittedSteps] | None = None

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

        ``output``: pandas, polars, numpy or torch instead. Evaluations (``nfe``), seed and solver are by default the run's
        own. The same seed gives the bits of ``htfm sample``. A column of whole numbers whose samples do not fit
        its dtype stays float64.

        ``given``: conditions of a model that has some (``condition.columns``, ``condition.label``): a dictionary such as
        ``{"line": "fire"}``, the same as text ``"line=fire,region=EU"``, or a data frame or the path of a table with a row
        for each sample (``each``: samples for each row). Conditions that are not given are drawn from those of training.
        ``guidance``: its strength. Conditions come back as columns of a table, and in ``last.conditions``.

        >>> import htfm
        >>> model = htfm.train({"data.n": 300, "train.epochs": 1})
        >>> model.sample(4, seed=7).shape
        (4, 2)
        """
        core = self._core
        options = self._sample_options(nfe, seed_of(seed, random_state), device, solver)
        if n is not None:
            options.n = whole(n, "n")
        if time_grid is not None:
            options.set_time_grid(time_grid)
        set_solver_numbers(options, time_power=time_power, time_centre=time_centre, time_spread=time_spread, rtol=rtol, atol=atol, eta=eta)
        if weights not in ("ema", "raw"):
            raise InputError(f"[weights] expected ema or raw; got '{weights}'")
        options.averaged = weights == "ema"
        options.first = whole(first, "first")
        if guidance is not None:
            options.guidance = real(guidance, "guidance")
        if isinstance(given, Mapping) and not given:
            given = None
        if given is None and each != 1:
            raise InputError(f"[each] expected given= with it, whose rows it counts samples for; got {each!r} alone")
        if given is not None:
            self._give(options, given, whole(each, "each"))
            if n is None and not isinstance(given, Mapping) and "=" not in str(given):
                options.n = options.given_count()
            for warning in options.given_warnings(core):
                warnings.warn(in_python(warning), stacklevel=2)
        # The solver fitted takes much longer to fit than to draw a few samples, and is the same for every seed; not so
        # with conditions, nor on a device, where it depends on the batch.
        steady = options.solver == "fitted" and model_device(device) != "cuda" and not core.condition_columns and core.image_shape is None
        state = (options.nfe, options.averaged, core.weights._version)
        if steady and self._steps is not None and self._steps[0] == state:
            options.set_steps(self._steps[1])
        with Reporter(progress) as reporter:
            options.set_report(
                (lambda done, total: reporter.sampling("sampling", done, total)) if reporter.active else None
            )
            self.last = _core.sample(core, options)
        if steady:
            self._steps = state, self.last.steps
        for warning in doubts(self.last, options.n, options):
            warnings.warn(warning, stacklevel=2)
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
        random_state: Any = None,
        device: str = "auto",
        solver: str | None = None,
        spectrum: bool = False,
    ) -> Self:
        """Sets the laws of scores right by n samples of the model, which are others than those of its own seed: samples
        that are drawn with the same solver and ``nfe`` then have the data's law at every point. For fields prepared with
        ``transform="scores"``; fit() has done it for tables. With ``spectrum`` the shares of the wave numbers in the
        power of fields are corrected too, by those of the prepared set that the model was trained on. Returns the model.

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
        own_seed = seed_of(seed, random_state)
        options = self._sample_options(nfe, own_seed, device, solver)
        if own_seed is None:
            options.seed = options.seed + 1
        options.n = whole(n, "n")
        _core.calibrate(self._core, options, flag(spectrum, "spectrum"))
        return self

    def _sample_options(
        self, nfe: int | None, seed: int | None, device: str, solver: str | None
    ) -> _core.SampleOptions:
        options = _core.sample_options(self._core.config)
        if seed is not None:
            options.seed = seed
        if solver is not None:
            options.solver = text(solver, "solver")
        if nfe is not None:
            options.nfe = whole(nfe, "nfe")
        elif options.solver == "dopri5":
            options.nfe = max(options.nfe, 2000)
        options.set_device(_core.choose_device(model_device(device), self._core.config.network))
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
            if output not in (None, "numpy", "torch"):
                raise InputError(f"[output] expected numpy or torch for images and fields; got '{output}'")
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
        frame = self._frame if output is None else Frame(output, self._frame.columns, self._frame.dtypes, self._frame.numbered)
        if frame.columns and len(frame.columns) != rows.shape[1]:  # without what is given
            of = dict(zip(frame.columns, frame.dtypes))
            frame = Frame(frame.kind, names, [of.get(name, "float64") for name in names], frame.numbered)
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
            raise InputError(f"[given] expected a dictionary, a text, a path or a data frame, got {type(given).__name__}")
        missing = [name for name in names if name not in [str(c) for c in given.columns]]
        if missing:
            raise InputError(f"[given] expected the columns {', '.join(names)}; got none named {', '.join(missing)}")
        columns = []
        for name, categories in core.condition_columns:
            cells = given[name].to_list()
            number = [math.nan if c is None or c != c else core.given_value(name, _cell(c)) for c in cells]
            columns.append(torch.tensor(number, dtype=torch.float64))
        options.set_given_rows(torch.stack(columns, 1), each)
