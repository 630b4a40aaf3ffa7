"""A trained model: what it is, and its files."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

import torch

from htfm import _core
from htfm import config as _config
from htfm._arrays import seed_of
from htfm._core import InputError
from htfm._frames import Frame
from htfm._rare import RareEvents
from htfm._words import in_python

FRAME_FILE = "frame.json"  # in a run folder: what the table was


def origin(call: str) -> list[tuple[str, str]]:
    """What a page says that it comes from."""
    return [("call", call), ("program", f"htfm {_core.version} (Python)")]


class Model(RareEvents):
    """A trained model. Made by :func:`fit`, :func:`train` or :func:`load`.

    >>> import htfm
    >>> model = htfm.train({"data.n": 500, "train.epochs": 1, "clock.family": "stable", "clock.alpha": 1.7})
    >>> model.clock
    'stable(alpha=1.7), grid 200'
    """

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
        """What each column was recognised as, in words."""
        return [in_python(kind) for kind in self._core.column_kinds]

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
        return [in_python(s) for s in _core.comparison_sentences(self._fit)] if self._fit is not None else []

    @property
    def notes(self) -> list[str]:
        """How fit() read the table and which clock it chose, a sentence each."""
        return [in_python(note) for note in self._fit.notes] if self._fit is not None else []

    @property
    def losses(self) -> tuple[list[float], list[float]]:
        """Steps and losses of the training of fit()."""
        return self._fit.losses if self._fit is not None else ([], [])

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
        _core.atomic_write(os.path.join(target, FRAME_FILE), json.dumps(self._frame.to_dict()) + "\n")
        if self._fit is not None:
            _core.atomic_write(os.path.join(target, "fit.json"), _core.fit_json(self._fit) + "\n")
        return checkpoint

    def __reduce__(self) -> tuple[Any, ...]:  # for pickle and copy; what fit() found stays behind
        with tempfile.TemporaryDirectory() as scratch:
            checkpoint = os.path.join(scratch, "model.safetensors")
            self._core.save(checkpoint)
            with open(checkpoint, "rb") as file:
                return _again, (file.read(), self._frame.to_dict(), self._folder)

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        n: int | None = None,
        seed: int | None = None,
        random_state: Any = None,
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
            page = _core.fit_page(self._fit, origin("htfm.fit(...)"))
        elif self._core.is_field:
            raise InputError("[report] expected a model of a table or of points, got one of fields: save it, and htfm report RUN -o report.html")
        elif self._core.config.data_path.startswith("("):
            raise InputError("[report] expected a model whose data are a file or a synthetic set, got rows in memory: save them, and train on that file")
        else:
            with tempfile.TemporaryDirectory() as scratch:
                checkpoint = os.path.join(scratch, "model.safetensors")
                self._core.save(checkpoint)
                page = _core.run_page(checkpoint, n or 0, seed_of(seed, random_state), "auto", self._folder, origin("Model.report(...)"))
        if path is not None:
            _core.atomic_write(os.fspath(path), page)
        return page

    def __repr__(self) -> str:
        what = self.describe()
        return f"Model({what['method']}, {what['clock']}, {what['dimension']} dimensions, step {what['step']})"


def _again(checkpoint: bytes, frame: dict[str, Any], folder: str) -> Model:
    """A model out of a pickle."""
    with tempfile.TemporaryDirectory() as scratch:
        place = os.path.join(scratch, "model.safetensors")
        with open(place, "wb") as file:
            file.write(checkpoint)
        return Model(_core.Model.load(place), Frame.from_dict(frame), folder=folder)
