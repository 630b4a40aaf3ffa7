"""Progress of long calls: a callback of the user's, tqdm where it is installed, or nothing."""

from __future__ import annotations

import sys
from typing import Any, Callable

from htfm import _core
from htfm._core import InputError

Progress = bool | Callable[..., Any] | None


class Reporter:
    """Shows training and sampling. ``progress``: True (tqdm), False, None (tqdm on a terminal or in a notebook), or a
    function of one dictionary with stage, step, steps and, in training, loss."""

    def __init__(self, progress: Progress):
        self._call: Callable[..., Any] | None = None
        self._bar: Any = None
        self._stage = ""
        self._tqdm: Any = None
        if callable(progress):
            self._call = progress
        elif progress is True or (progress is None and _watched()):
            try:
                from tqdm.auto import tqdm
            except ImportError:
                if progress:
                    raise InputError("[progress] expected tqdm for progress=True: pip install tqdm") from None
            else:
                self._tqdm = tqdm
        elif progress not in (None, False):
            raise InputError(f"[progress] expected True, False, None or a function, got {progress!r}")

    @property
    def active(self) -> bool:
        return self._call is not None or self._tqdm is not None

    def training(self, stage: str, p: _core.TrainProgress) -> None:
        if self._call is not None:
            self._call({"stage": stage, "step": p.step, "steps": p.steps, "loss": p.loss, "lr": p.lr, "seconds": p.seconds,
                        "validation": p.validation})  # fmt: skip
        elif self._tqdm is not None:
            self._show(stage, p.step, p.steps, p.last, {"loss": f"{p.loss:.4f}"})

    def sampling(self, stage: str, done: int, n: int) -> None:
        if self._call is not None:
            self._call({"stage": stage, "step": done, "steps": n})
        elif self._tqdm is not None:
            self._show(stage, done, n, done == n, {})

    def _show(self, stage: str, done: int, total: int, last: bool, figures: dict[str, str]) -> None:
        if self._bar is None or stage != self._stage:
            self.close()
            self._bar = self._tqdm(total=total, desc=stage, leave=False)
            self._stage = stage
        self._bar.update(done - self._bar.n)
        if figures:
            self._bar.set_postfix(figures)
        if last:
            self.close()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _watched() -> bool:
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
