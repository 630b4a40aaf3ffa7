"""Tables in and out: pandas and polars data frames, arrays, files."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Sequence

import numpy as np
import torch

from htfm import _core
from htfm._arrays import share_floats
from htfm._core import InputError

IN_MEMORY = "(rows in memory)"


@dataclass
class Frame:
    """What a table was, so that samples come back as the same."""

    kind: str = "numpy"  # pandas, polars, numpy, torch
    columns: list[str] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "columns": self.columns, "dtypes": self.dtypes}

    @staticmethod
    def from_dict(stored: dict[str, Any]) -> Frame:
        return Frame(stored["kind"], list(stored["columns"]), list(stored["dtypes"]))


def is_path(data: Any) -> bool:
    """Whether data name a file."""
    return isinstance(data, (str, os.PathLike))


def _kind(data: Any) -> str:
    module = type(data).__module__.split(".")[0]
    if module in ("pandas", "polars"):
        return module
    return "torch" if isinstance(data, torch.Tensor) else "numpy"


def _refuse(column: str, found: Any) -> InputError:
    return InputError(f"[table] column '{column}': expected numbers, got {found} (leave it out with drop=['{column}'])")


def _pandas_rows(data: Any, left_out: set[str]) -> tuple[np.ndarray, Frame]:
    import pandas as pd

    if isinstance(data, pd.Series):
        data = data.to_frame(data.name if data.name is not None else "x")
    kept = [k for k, name in enumerate(data.columns) if str(name) not in left_out]
    names, dtypes, parts = [], [], []
    for k in kept:
        column = data.iloc[:, k]
        if not (pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype)):
            raise _refuse(str(data.columns[k]), column.dtype)
        if pd.api.types.is_complex_dtype(column.dtype):
            raise _refuse(str(data.columns[k]), column.dtype)
        names.append(str(data.columns[k]))
        dtypes.append(str(column.dtype))
        parts.append(column)
    if not parts:
        raise InputError("[table] expected a column of numbers, got none")
    same = len(kept) == data.shape[1] and all(d == "float64" for d in dtypes)
    rows = (
        data.to_numpy()
        if same
        else np.column_stack([c.to_numpy(dtype=np.float64, na_value=np.nan) for c in parts])
    )
    return rows, Frame("pandas", names, dtypes)


def _polars_rows(data: Any, left_out: set[str]) -> tuple[np.ndarray, Frame]:
    import polars as pl

    if isinstance(data, pl.Series):
        data = data.to_frame()
    names = [name for name in data.columns if name not in left_out]
    if not names:
        raise InputError("[table] expected a column of numbers, got none")
    for name in names:
        if not (data.schema[name].is_numeric() or data.schema[name] == pl.Boolean):
            raise _refuse(name, data.schema[name])
    rows = data.select([pl.col(name).cast(pl.Float64).fill_null(float("nan")) for name in names]).to_numpy()
    return rows, Frame("polars", names, [str(data.schema[name]) for name in names])


def rows_of(data: Any, left_out: Sequence[str] = ()) -> tuple[torch.Tensor, Frame]:
    """Rows x columns (float32 or float64) of a data frame or an array, and what they were."""
    kind = _kind(data)
    if kind in ("pandas", "polars"):
        read = _pandas_rows if kind == "pandas" else _polars_rows
        rows, frame = read(data, set(left_out))
        tensor, _ = share_floats(rows, "table")
        return tensor, frame
    original = str(getattr(data, "dtype", "float64"))
    tensor, _ = share_floats(data, "table")
    tensor = tensor.detach().cpu()
    if tensor.dim() == 1:
        tensor = tensor.reshape(-1, 1)
    if tensor.dim() != 2:
        raise InputError(f"[table] expected rows x columns, got {tensor.dim()} dimensions")
    return tensor, Frame(kind, [], [original] * tensor.shape[1])


def joined(names: Sequence[str] | str | None, what: str) -> str:
    """Column names as the library takes them."""
    if names is None:
        return ""
    if isinstance(names, str):
        return names
    for name in names:
        if "," in str(name):
            raise InputError(f"[{what}] expected column names without commas, got '{name}'")
    return ",".join(str(name) for name in names)


def dataset(
    data: Any,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    missing: str = "refuse",
    log_returns: bool = False,
) -> tuple[_core.Dataset, Frame, str]:
    """The data set of a file, a data frame or an array; what it was; and its name."""
    if is_path(data):
        path = os.fspath(data)
        spec = _core.FileSpec(path, joined(columns, "columns"), joined(drop, "drop"), missing, log_returns)
        return _core.file_dataset(spec), Frame(kind="auto"), path
    left_out = [] if drop is None else [drop] if isinstance(drop, str) else list(drop)
    kind = _kind(data)
    if kind in ("pandas", "polars"):
        if columns is not None:
            wanted = [columns] if isinstance(columns, str) else list(columns)
            known = [str(name) for name in data.columns]
            for name in wanted:
                if name not in known:
                    raise InputError(f"[columns] expected one of {', '.join(known)}; got '{name}'")
            data, columns = data[wanted], None
        for name in left_out:
            if name not in [str(c) for c in data.columns]:
                raise InputError(f"[drop] expected one of {', '.join(map(str, data.columns))}; got '{name}'")
    rows, frame = rows_of(data, left_out)
    frames = kind in ("pandas", "polars")
    spec = _core.FileSpec(
        IN_MEMORY, joined(columns, "columns"), "" if frames else joined(drop, "drop"), missing, log_returns
    )
    set_ = _core.rows_dataset(rows, frame.columns, spec)
    if log_returns or set_.rows.shape[1] != rows.shape[1]:  # other columns, or no longer of the same kind
        frame.columns = list(set_.names) if frames else []
        frame.dtypes = ["float64"] * set_.rows.shape[1]
    return set_, frame, IN_MEMORY


def _column(values: np.ndarray, dtype: str) -> np.ndarray | None:
    """Values of a column as its own dtype; None where float64 is as near as it gets."""
    low = dtype.lower()
    if low.startswith("bool"):
        return values >= 0.5 if np.isfinite(values).all() else None
    if low.startswith(("int", "uint")):
        kind = np.dtype(low)
        limits = np.iinfo(kind)
        fits = np.isfinite(values).all() and (values >= float(limits.min)).all() and (values <= float(limits.max)).all()
        return np.rint(values).astype(kind) if fits else None
    if low.startswith("float") and low != "float64":
        return values.astype(np.dtype(low))
    return values


def back(rows: torch.Tensor, frame: Frame, names: Sequence[str]) -> Any:
    """Rows (n x columns, float64) as the table that they stand for; no copy for float64 arrays."""
    kind = frame.kind
    if kind == "torch":
        return rows if set(frame.dtypes) <= {"torch.float64"} else rows.to(getattr(torch, frame.dtypes[0].split(".")[-1]))
    values = rows.numpy()
    columns = list(frame.columns) or list(names)
    if kind == "auto":
        kind = "pandas" if columns and _has_pandas() else "numpy"
    if kind == "numpy":
        dtypes = set(frame.dtypes)
        if len(dtypes) == 1 and not columns and (own := _column(values, dtypes.pop())) is not None:
            return own
        return values
    dtypes_of = frame.dtypes if len(frame.dtypes) == values.shape[1] else ["float64"] * values.shape[1]
    if not columns:
        columns = [f"column {k + 1}" for k in range(values.shape[1])]
    if kind == "pandas":
        import pandas as pd

        if all(d == "float64" for d in dtypes_of):
            return pd.DataFrame(values, columns=columns, copy=False)
        parts = {}
        for k, dtype in enumerate(dtypes_of):
            own = _column(values[:, k], dtype)
            part = pd.Series(values[:, k] if own is None else own)
            parts[columns[k]] = part.astype(dtype) if own is not None and str(part.dtype) != dtype else part
        return pd.DataFrame(parts)
    import polars as pl

    series = []
    for k, dtype in enumerate(dtypes_of):
        own = _column(values[:, k], dtype)
        series.append(pl.Series(columns[k], np.ascontiguousarray(values[:, k] if own is None else own)))
    return pl.DataFrame(series)


def _has_pandas() -> bool:
    import importlib.util

    return importlib.util.find_spec("pandas") is not None
