"""Tables in and out: pandas and polars data frames, arrays, files."""

from __future__ import annotations

import ast
import datetime
import decimal
import numbers as numbers_abc
import os
from dataclasses import dataclass, field
from typing import Any, Literal, Sequence

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
    numbered: list[int] = field(default_factory=list)  # the columns of pandas whose names are whole numbers

    def to_dict(self) -> dict[str, Any]:
        stored = {"kind": self.kind, "columns": self.columns, "dtypes": self.dtypes}
        return {**stored, "numbered": self.numbered} if self.numbered else stored

    @staticmethod
    def from_dict(stored: dict[str, Any]) -> Frame:
        return Frame(stored["kind"], list(stored["columns"]), list(stored["dtypes"]), list(stored.get("numbered", [])))


def is_path(data: Any) -> bool:
    """Whether data name a file."""
    return isinstance(data, (str, os.PathLike))


def _kind(data: Any) -> str:
    module = type(data).__module__.split(".")[0]
    if module in ("pandas", "polars"):
        return module
    return "torch" if isinstance(data, torch.Tensor) else "numpy"


def _collected(data: Any) -> Any:
    """A table that is still a query (polars' LazyFrame) as its rows, one of pyarrow as pandas holds it."""
    module, name = type(data).__module__.split(".")[0], type(data).__name__
    if module == "polars" and name == "LazyFrame":
        return data.collect()
    return data.to_pandas() if module == "pyarrow" and name == "Table" else data


def _category(values: Any, categories: Sequence[str], ordered: bool = False) -> tuple[np.ndarray, _core.TableColumn]:
    """Codes (below zero: missing) as the library keeps them."""
    codes = np.asarray(values, dtype=np.float64)
    codes = np.where(codes < 0, np.nan, codes)
    return codes, _core.TableColumn("category", [str(c) for c in categories], ordered)


def _days(stamps: np.ndarray) -> tuple[np.ndarray, _core.TableColumn]:
    """Times as days, or as seconds where one has a time of day. Microseconds reach every year that has four digits."""
    empty = np.isnat(stamps)
    seconds = stamps.astype("datetime64[us]").astype(np.int64) / 1e6
    whole = bool((seconds[~empty] % 86400 == 0).all())
    values = np.where(empty, np.nan, seconds / 86400 if whole else np.round(seconds))
    return values, _core.TableColumn("date", [], False, "Y-M-D" if whole else "Y-M-D h:m:s")


def _refuse(column: str, found: Any) -> InputError:
    return InputError(f"[table] column '{column}': expected numbers, got {found} (leave it out with drop=['{column}'])")


def _held(column: Any) -> str:
    """What a column of pandas holds: its dtype, or the types of its objects."""
    if str(column.dtype) != "object":
        return str(column.dtype)
    return " and ".join(sorted({type(v).__name__ for v in column.dropna()}))


def _only_booleans(column: Any) -> bool:
    """Whether a column of Python's objects holds True and False, with gaps."""
    return str(column.dtype) == "object" and all(isinstance(v, (bool, np.bool_)) for v in column.dropna())


def _pandas_texts(column: Any) -> tuple[np.ndarray, _core.TableColumn] | None:
    """Categories, texts, booleans and dates; None where a column holds numbers."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return _category(column.cat.codes.to_numpy(), list(column.cat.categories), bool(column.cat.ordered))
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return _days(column.dt.tz_localize(None).to_numpy(dtype="datetime64[us]"))
    if pd.api.types.is_bool_dtype(column.dtype):
        return _category(column.to_numpy(dtype=np.float64, na_value=-1), ["False", "True"])
    if not (pd.api.types.is_object_dtype(column.dtype) or pd.api.types.is_string_dtype(column.dtype)):
        return None
    there = column.dropna()
    if len(there) and all(isinstance(v, datetime.date) for v in there):
        return _days(pd.to_datetime(column).dt.tz_localize(None).to_numpy(dtype="datetime64[us]"))
    if all(isinstance(v, (str, bool, np.bool_)) for v in there):
        codes, names = pd.factorize(column.map(str, na_action="ignore"), sort=True)
        return _category(codes, list(names))
    return None


def _pandas_numbers(column: Any) -> Any | None:
    """A column of numbers, also those of Python and spans of time (in seconds); None where it holds something else."""
    import pandas as pd

    if pd.api.types.is_timedelta64_dtype(column.dtype):
        return column.dt.total_seconds()
    if pd.api.types.is_object_dtype(column.dtype):
        numbers = all(isinstance(v, (numbers_abc.Real, decimal.Decimal)) for v in column.dropna())
        return column.where(column.notna(), np.nan).astype(np.float64) if numbers else None
    known = pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype)
    return column if known and not pd.api.types.is_complex_dtype(column.dtype) else None


def _pandas_rows(data: Any, left_out: set[str], texts: bool = False) -> tuple[np.ndarray, Frame, list[Any]]:
    import pandas as pd

    if isinstance(data, pd.Series):
        data = data.to_frame(data.name if data.name is not None else "x")
    kept = [k for k, name in enumerate(data.columns) if str(name) not in left_out]
    names: list[str] = []
    dtypes: list[str] = []
    parts: list[Any] = []
    columns: list[Any] = []
    for k in kept:
        column = data.iloc[:, k]
        if texts and (found := _pandas_texts(column)) is not None:
            names.append(str(data.columns[k]))
            dtypes.append("boolean" if _only_booleans(column) else str(column.dtype))
            parts.append(pd.Series(found[0]))
            columns.append(found[1])
            continue
        columns.append(_core.TableColumn())
        numbers = _pandas_numbers(column)
        if numbers is None:
            raise _refuse(str(data.columns[k]), _held(column))
        names.append(str(data.columns[k]))
        dtypes.append(str(column.dtype))
        parts.append(numbers)
    if not parts:
        raise InputError("[table] expected a column of numbers, got none")
    same = len(kept) == data.shape[1] and all(d == "float64" for d in dtypes)
    rows = (
        data.to_numpy()
        if same
        else np.column_stack([c.to_numpy(dtype=np.float64, na_value=np.nan) for c in parts])
    )
    numbered = [int(data.columns[k]) for k in kept if isinstance(data.columns[k], (int, np.integer))]
    return rows, Frame("pandas", names, dtypes, numbered), columns if any(c.kind != "number" for c in columns) else []


def _polars_texts(column: Any) -> tuple[np.ndarray, _core.TableColumn] | None:
    import polars as pl

    if column.dtype == pl.Boolean:
        return _category(column.cast(pl.Int64).fill_null(-1).to_numpy(), ["false", "true"])
    if column.dtype in (pl.String, pl.Categorical) or isinstance(column.dtype, pl.Enum):
        text = column.cast(pl.String)
        names = sorted(text.drop_nulls().unique().to_list())
        place = {name: k for k, name in enumerate(names)}
        return _category([place.get(v, -1) for v in text.to_list()], names)
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        return _days(column.cast(pl.Datetime("us")).to_numpy().astype("datetime64[us]"))
    return None


def _polars_rows(data: Any, left_out: set[str], texts: bool = False) -> tuple[np.ndarray, Frame, list[Any]]:
    import polars as pl

    if isinstance(data, pl.Series):
        data = data.to_frame()
    names = [name for name in data.columns if name not in left_out]
    if not names:
        raise InputError("[table] expected a column of numbers, got none")
    frame = Frame("polars", names, [str(data.schema[name]) for name in names])
    found = {name: _polars_texts(data[name]) for name in names} if texts else {}
    if any(column is not None for column in found.values()):
        parts, columns = [], []
        for name in names:
            own = found[name]
            if own is None and not data.schema[name].is_numeric():
                raise _refuse(name, data.schema[name])
            parts.append(data[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() if own is None else own[0])
            columns.append(_core.TableColumn() if own is None else own[1])
        return np.column_stack(parts), frame, columns
    for name in names:
        if not (data.schema[name].is_numeric() or data.schema[name] == pl.Boolean):
            raise _refuse(name, data.schema[name])
    rows = data.select([pl.col(name).cast(pl.Float64).fill_null(float("nan")) for name in names]).to_numpy()
    return rows, frame, []


def rows_of(
    data: Any, left_out: Sequence[str] = (), texts: bool = False
) -> tuple[torch.Tensor, Frame, list[_core.TableColumn]]:
    """Rows x columns (float32 or float64) of a data frame or an array, what they were, and what the columns hold."""
    data = _collected(data)
    kind = _kind(data)
    if kind in ("pandas", "polars"):
        read = _pandas_rows if kind == "pandas" else _polars_rows
        rows, frame, columns = read(data, set(left_out), texts)
        tensor, _ = share_floats(rows, "table")
        return tensor, frame, columns
    original = str(getattr(data, "dtype", "float64"))
    tensor, _ = share_floats(data, "table")
    tensor = tensor.detach().cpu()
    if tensor.dim() == 1:
        tensor = tensor.reshape(-1, 1)
    if tensor.dim() != 2:
        raise InputError(f"[table] expected rows x columns, got {tensor.dim()} dimensions")
    return tensor, Frame(kind, [], [original] * tensor.shape[1]), []


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
    kinds: str = "numbers",
    decimal: str = "auto",
    constraints: str = "",
) -> tuple[_core.Dataset, Frame, str]:
    """The data set of a file, a data frame or an array; what it was; and its name."""
    if is_path(data):
        path = os.fspath(data)
        spec = _core.FileSpec(
            path, joined(columns, "columns"), joined(drop, "drop"), missing, log_returns, "table", kinds, decimal, constraints
        )
        return _core.file_dataset(spec), Frame(kind="auto"), path
    data = _collected(data)
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
    rows, frame, texts = rows_of(data, left_out, kinds != "numbers")
    frames = kind in ("pandas", "polars")
    spec = _core.FileSpec(
        IN_MEMORY,
        joined(columns, "columns"),
        "" if frames else joined(drop, "drop"),
        missing,
        log_returns,
        "table",
        kinds,
        decimal,
        constraints,
    )
    set_ = _core.rows_dataset(rows, frame.columns, spec, texts)
    if log_returns or set_.rows.shape[1] != rows.shape[1]:  # other columns, or no longer of the same kind
        frame.columns = list(set_.names) if frames else []
        frame.dtypes = ["float64"] * set_.rows.shape[1]
    return set_, frame, IN_MEMORY


def _column(values: np.ndarray, dtype: str) -> np.ndarray | None:
    """Values of a column as its own dtype; None where float64 is as near as it gets."""
    low = dtype.lower().split("[")[0]  # int64[pyarrow]
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


def _pandas_column(values: np.ndarray, dtype: str) -> Any:
    """Numbers as a column of pandas of its own dtype, missing values included; float64 where they do not fit it."""
    import pandas as pd

    if dtype.startswith("timedelta64"):
        try:
            return pd.to_timedelta(pd.Series(values), unit="s").astype(dtype)
        except (OverflowError, pd.errors.OutOfBoundsTimedelta):  # seconds
            return pd.Series(values)
    if dtype == "object":
        return pd.Series(values)
    empty = np.isnan(values)
    if empty.any() and dtype[:1] in ("I", "U"):  # Int64: whole numbers with gaps
        own = _column(np.where(empty, 0, values), dtype)
        return pd.Series(values if own is None else pd.arrays.IntegerArray(own, empty))
    own = _column(values, dtype)
    part = pd.Series(values if own is None else own)
    return part.astype(dtype) if own is not None and str(part.dtype) != dtype else part


def _stamps_in_zone(stamps: Any, dtype: str) -> Any:
    """Times of a clock as those of the zone that a dtype of pandas names."""
    import pandas as pd

    zone = dtype.partition(", ")[2].rstrip("]")
    if not dtype.startswith("datetime64") or not zone:
        return stamps
    try:
        # An hour that a clock shows twice is summer's, one that it leaves out the next.
        return stamps.dt.tz_localize(zone, ambiguous=np.ones(len(stamps), dtype=bool), nonexistent="shift_forward")
    except (KeyError, ValueError, TypeError):  # a zone that its name does not give back, tzfile('...')
        return stamps


def _own_unit(stamps: Any, dtype: str) -> Any:
    """Times in the unit of a dtype of pandas, where it reaches them; others in microseconds."""
    import pandas as pd

    unit = dtype.partition("[")[2].partition(",")[0].rstrip("]")
    if dtype.startswith("datetime64") and unit in ("s", "ms", "us", "ns"):
        try:
            return stamps.dt.as_unit(unit)
        except (OverflowError, pd.errors.OutOfBoundsDatetime):
            pass
    return stamps


def _named(values: np.ndarray, column: _core.TableColumn, dtype: str) -> Any:
    """Codes and days as what they stand for: objects or stamps, None or NaT where one is missing."""
    empty = np.isnan(values)
    if column.kind == "date":
        unit = 1.0 if "h" in column.date_form else 86400.0
        stamps = (np.where(empty, 0, values) * unit * 1000).round().astype("datetime64[ms]").astype("datetime64[us]")
        stamps[empty] = np.datetime64("NaT")
        return stamps
    if dtype.lower().startswith("bool") and not empty.any():
        return values >= 0.5
    names = np.array([*column.categories, None], dtype=object)
    return names[np.where(empty, len(column.categories), values).astype(np.int64)]


def _polars_column(name: str, values: np.ndarray, dtype: str) -> Any:
    """Texts, times and numbers as a column of polars, of its own dtype where they are what it holds."""
    import polars as pl

    found = pl.Series(name, values.tolist() if values.dtype == object else np.ascontiguousarray(values))
    kind, _, options = dtype.partition("(")
    try:
        if kind == "Boolean" and found.dtype == pl.String:
            return found.replace_strict({"true": True, "false": False}, return_dtype=pl.Boolean)
        if kind == "Date" and found.dtype == pl.Datetime:
            return found.cast(pl.Date)
        if kind == "Datetime" and found.dtype == pl.Datetime:
            unit: Literal["ns", "us", "ms"] = "ns" if "'ns'" in options else "ms" if "'ms'" in options else "us"
            zone = options.partition("time_zone='")[2].partition("'")[0]
            return (found.dt.replace_time_zone("UTC").dt.convert_time_zone(zone) if zone else found).dt.cast_time_unit(unit)
        if kind == "Categorical" and found.dtype == pl.String:
            return found.cast(pl.Categorical)
        if kind == "Enum" and found.dtype == pl.String:
            return found.cast(pl.Enum(ast.literal_eval(options.partition("=")[2].rstrip(")"))))
    except (pl.exceptions.PolarsError, SyntaxError, ValueError):  # it does not hold them
        pass
    return found


def _frame_of(values: np.ndarray, frame: Frame, names: Sequence[str], columns: Sequence[_core.TableColumn]) -> Any:
    """A data frame of columns some of which are no numbers."""
    names = list(frame.columns) or list(names) or [f"column {k + 1}" for k in range(values.shape[1])]
    dtypes = frame.dtypes if len(frame.dtypes) == values.shape[1] else ["float64"] * values.shape[1]
    parts = []
    for k, column in enumerate(columns):
        number = _column(values[:, k], dtypes[k]) if column.kind == "number" else _named(values[:, k], column, dtypes[k])
        parts.append(values[:, k] if number is None else number)
    if frame.kind == "polars":
        import polars as pl

        return pl.DataFrame([_polars_column(n, v, dtype) for n, v, dtype in zip(names, parts, dtypes)])
    import pandas as pd

    series = []
    for part, column, dtype, own in zip(parts, columns, dtypes, values.T):
        of = pd.Series(part)
        if column.kind == "category" and dtype == "category":
            of = pd.Series(pd.Categorical(of, categories=column.categories, ordered=column.ordered))
        elif column.kind == "category" and dtype.startswith("boolean"):
            of = of.map({"False": False, "True": True, False: False, True: True}).astype("boolean")
        elif column.kind == "category" and (dtype == "object" or "string" in dtype):
            of = pd.Series(part, dtype=dtype)
        elif column.kind == "date":
            of = _own_unit(_stamps_in_zone(of, dtype), dtype)
        elif column.kind == "number":
            of = _pandas_column(own, dtype)
        series.append(of)
    out = pd.DataFrame(dict(enumerate(series)))  # two columns may have one name
    out.columns = pd.Index(names)
    return _numbered(out, frame)


def _numbered(out: Any, frame: Frame) -> Any:
    """Columns whose names were whole numbers have them again."""
    if frame.numbered:
        out.columns = out.columns.map(lambda name: {str(k): k for k in frame.numbered}.get(name, name))
    return out


def back(
    rows: torch.Tensor, frame: Frame, names: Sequence[str], columns: Sequence[_core.TableColumn] = ()
) -> Any:
    """Rows (n x columns, float64) as the table that they stand for; no copy for float64 arrays."""
    kind = frame.kind
    if any(c.kind != "number" for c in columns) and (kind in ("pandas", "polars") or (kind == "auto" and _has_pandas())):
        return _frame_of(rows.numpy(), frame, names, columns)
    if kind == "torch":
        return rows if set(frame.dtypes) <= {"torch.float64"} else rows.to(getattr(torch, frame.dtypes[0].split(".")[-1]))
    values = rows.numpy()
    labels = list(frame.columns) or list(names)
    if kind == "auto":
        kind = "pandas" if labels and _has_pandas() else "numpy"
    if kind == "numpy":
        dtypes = set(frame.dtypes)
        if len(dtypes) == 1 and not labels and (own := _column(values, dtypes.pop())) is not None:
            return own
        return values
    dtypes_of = frame.dtypes if len(frame.dtypes) == values.shape[1] else ["float64"] * values.shape[1]
    if not labels:
        labels = [f"column {k + 1}" for k in range(values.shape[1])]
    if kind == "pandas":
        import pandas as pd

        if all(d == "float64" for d in dtypes_of):
            return _numbered(pd.DataFrame(values, columns=labels, copy=False), frame)
        out = pd.DataFrame({k: _pandas_column(values[:, k], d) for k, d in enumerate(dtypes_of)})
        out.columns = pd.Index(labels)
        return _numbered(out, frame)
    import polars as pl

    series = []
    for k, dtype in enumerate(dtypes_of):
        own = _column(values[:, k], dtype)
        series.append(pl.Series(labels[k], np.ascontiguousarray(values[:, k] if own is None else own)))
    return pl.DataFrame(series)


def _has_pandas() -> bool:
    import importlib.util

    return importlib.util.find_spec("pandas") is not None
