"""From data, a configuration or a file to a model."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Mapping, Sequence

from htfm import _core
from htfm import config as _config
from htfm._arrays import flag, model_device, real, seed_of, whole
from htfm._core import InputError
from htfm._frames import Frame, dataset, is_path, joined
from htfm._model import FRAME_FILE, Model, origin
from htfm._progress import Progress, Reporter


def _seed(seed: Any, random_state: Any, settings: Any) -> int | None:
    """The seed that was given as an argument; not also among the settings."""
    own, keys = seed_of(seed, random_state), _config.keys_of(_config.settings_of(settings))
    if own is not None and "seed" in keys:
        raise InputError("[seed] expected the argument seed= or the key of settings, got both")
    return own


def _check_resume(resume: bool, folder: Any) -> None:
    if flag(resume, "resume") and folder is None:
        raise InputError("[resume] expected the folder of the run that is to go on, got none")


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
    file; columns may hold numbers, categories, dates and missing values (doc/tables.md). ``minutes``: time limit, with
    fewer steps or rows if all would take longer; by default none. ``folder``: keeps the run, samples.csv and report.html
    there; Ctrl-C then leaves a checkpoint that ``resume=True`` continues from. ``missing``: keep (modelled), drop or
    refuse. ``kinds``: kinds of columns of a file instead of the recognised ones:
    ``{"zip": "category", "day": "date:D.M.Y"}``. ``constraints``: relations that every row satisfies:
    ``["paid <= incurred"]``. ``condition``: columns that are given instead of modelled, for ``sample(given=...)``.

    >>> import htfm, numpy as np
    >>> x = np.random.default_rng(0).standard_t(3, size=(400, 2))
    >>> model = htfm.fit(x, compare=False, settings={"train.epochs": 2, "sample.solver": "euler", "sample.nfe": 2})
    >>> model.sample(2, seed=1).dtype
    dtype('float64')
    """
    _check_resume(resume, folder)
    options = _core.TableFitOptions()
    options.settings = _config.settings_of(settings)
    if condition:
        options.settings = [*options.settings, "condition.columns=" + joined(condition, "condition")]
    options.seed = _seed(seed, random_state, settings) or 0
    holdout, minutes = real(holdout, "holdout"), None if minutes is None else real(minutes, "minutes")
    if not 0 <= holdout <= 0.9:
        raise InputError(f"[holdout] expected a share from 0 to 0.9, got {holdout}")
    if minutes is not None and not minutes > 0:
        raise InputError(f"[minutes] expected a positive number, got {minutes}")
    options.holdout, options.minutes = holdout, 0.0 if minutes is None else minutes
    options.samples, options.compare = whole(samples, "samples"), flag(compare, "compare")
    if options.samples < 0:
        raise InputError(f"[samples] expected a number from 0, got {samples}")
    options.folder = "" if folder is None else os.fspath(folder)
    options.resume = resume
    log_returns = flag(log_returns, "log_returns")
    if kinds is not None and not isinstance(kinds, Mapping):
        raise InputError(f"[kinds] expected a dictionary of columns and kinds, got {type(kinds).__name__}")
    kinds_text = ",".join(["auto", *(f"{name}={kind}" for name, kind in (kinds or {}).items())])
    constraints_text = "; ".join([constraints] if isinstance(constraints, str) else constraints)
    with Reporter(progress) as reporter:
        options.set_callbacks(
            None,
            reporter.training if reporter.active else None,
            reporter.sampling if reporter.active else None,
            origin("htfm.fit(...)"),
        )
        if is_path(data):
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
        _core.atomic_write(os.path.join(options.folder, FRAME_FILE), json.dumps(frame.to_dict()) + "\n")
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
    own_seed = _seed(seed, random_state, settings)
    device = model_device(device)
    _check_resume(resume, folder)
    if data is not None and "data.path" in _config.keys_of(_config.settings_of(settings)):
        raise InputError("[data.path] expected the argument data= or the key of settings, got both")
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
        _core.atomic_write(os.path.join(place, FRAME_FILE), json.dumps(frame.to_dict()) + "\n")
    return Model(core, frame, folder=place)


def trust_torchscript(trusted: bool = True) -> None:
    """Allows the code in the TorchScript files of ``net.path`` to run in this process; only for files of people you
    trust.

    >>> trust_torchscript(False)
    """
    _core.trust_torchscript(trusted)


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
    stored = pathlib.Path(place) / FRAME_FILE
    frame = Frame(kind="auto")
    if stored.is_file():
        try:
            frame = Frame.from_dict(json.loads(stored.read_text()))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InputError(f"[run] {stored}: expected what fit() and save() write there, got something else") from None
    return Model(core, frame, folder=place if os.path.isdir(place) else "")
