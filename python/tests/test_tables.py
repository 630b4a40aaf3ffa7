"""Data frames, arrays and files in; the same out."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pytest
import torch
from conftest import QUICK

import htfm

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def mixed(table):
    rng = np.random.default_rng(1)
    return pd.DataFrame({"loss": table[:, 0], "count": rng.poisson(3, size=400), "flag": rng.random(400) < 0.3,
                         "size": table[:, 1].astype(np.float32)})


@pytest.fixture(scope="module")
def fitted(mixed):
    """A model of the mixed table."""
    return htfm.fit(mixed, **QUICK)


def test_pandas_keeps_columns_and_dtypes(mixed, fitted):
    drawn = fitted.sample(500, seed=1)
    assert list(drawn.columns) == list(mixed.columns)
    assert list(drawn.dtypes) == list(mixed.dtypes)
    assert drawn["count"].min() >= 0


def test_polars_keeps_columns_and_dtypes(mixed, fitted):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({name: mixed[name].to_numpy() for name in mixed.columns})
    drawn = htfm.fit(frame, **QUICK).sample(100, seed=1)
    assert drawn.schema == frame.schema
    # the same rows give the same model, whatever held them
    ours = fitted.sample(100, seed=1)
    assert np.array_equal(drawn["loss"].to_numpy(), ours["loss"].to_numpy())


def test_save_and_load_keep_the_frame(fitted, tmp_path):
    model = fitted
    model.save(tmp_path / "run")
    again = htfm.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.sample(20, seed=4), model.sample(20, seed=4))
    assert "<html" in model.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert model.scores["rows"] if "rows" in model.scores else model.scores
    with pytest.raises(ValueError, match="rows in memory"):
        again.report()


def test_arrays_keep_their_kind(table):
    assert htfm.fit(table.astype(np.float32), **QUICK).sample(5, seed=1).dtype == np.float32
    drawn = htfm.fit(torch.from_numpy(table), **QUICK).sample(5, seed=1)
    assert isinstance(drawn, torch.Tensor) and drawn.dtype == torch.float64  # numpy's float64: test_tour


def test_bad_tables_are_refused_in_one_line(mixed, table):
    bad = mixed.assign(name=[(1, 2)] * len(mixed))
    with pytest.raises(ValueError, match=r"column 'name': expected numbers.*drop=\['name'\]") as error:
        htfm.fit(bad, **QUICK)
    assert "\n" not in str(error.value)
    assert list(htfm.fit(bad, drop=["name"], **QUICK).sample(3).columns) == list(mixed.columns)
    holes = table.copy()
    holes[7, 1] = np.nan
    with pytest.raises(ValueError, match="row 8, column 2: expected a finite number, got nan"):
        htfm.fit(holes, missing="refuse", **QUICK)
    assert "1 of 400 rows left out" in " ".join(htfm.fit(holes, missing="drop", **QUICK).notes)
    assert np.isnan(holes[7, 1])  # and the caller's array is as it was
    holes[7, 1] = np.inf
    with pytest.raises(ValueError, match="got inf"):
        htfm.fit(holes, missing="drop", **QUICK)
    for wrong in (np.zeros((2, 2, 2)), np.zeros((0, 2)), [["a", "b"]], np.array([[1 + 2j]])):
        with pytest.raises(ValueError):
            htfm.fit(wrong, **QUICK)
    with pytest.raises(ValueError, match="both"):
        htfm.fit(table, seed=1, random_state=1, **QUICK)
    with pytest.raises(ValueError, match="columns"):
        htfm.fit(mixed, columns=["nothing"], **QUICK)


def test_tails(table):
    found = htfm.tails(pd.DataFrame(table, columns=["a", "b", "c"]))
    assert found.verdict in ("heavy", "unclear")
    assert found.interval[0] < found.index < found.interval[1]
    assert [t.name for t in found.columns[:2]] == ["a, above", "a, below"]
    assert "<html" in found.to_html() and found._repr_html_().startswith("<iframe")
    assert "radius" in str(found)
    value, low, high = found.quantile(1e-3, column=1)
    assert low <= value <= high
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert found.plot().get_xlabel()


def test_categories_dates_and_gaps_come_back():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    n = 200
    region = rng.choice(["north", "south", "west"], size=n)
    loss = np.where(region == "north", 1.0, 3.0) * rng.standard_normal(n)
    loss[rng.random(n) < 0.1] = np.nan
    table = pd.DataFrame(
        {
            "region": region,
            "grade": pd.Categorical(rng.choice(["low", "high"], size=n), categories=["low", "high"], ordered=True),
            "open": rng.random(n) < 0.3,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, size=n), unit="D"),
            "loss": loss,
        }
    )
    drawn = htfm.fit(table, holdout=0, **QUICK).sample(2000, seed=1)
    assert list(drawn.columns) == list(table.columns)
    assert set(drawn["region"]) <= {"north", "south", "west"}
    assert list(drawn["grade"].cat.categories) == ["low", "high"] and drawn["grade"].cat.ordered
    assert drawn["open"].dtype == bool
    assert drawn["day"].between("2019-12-01", "2022-01-31").all()
    # 4 standard errors of the difference between a share of n rows and one of 2000
    share = table["loss"].isna().mean()
    assert abs(drawn["loss"].isna().mean() - share) < 4 * np.sqrt(share * (1 - share) * (1 / n + 1 / 2000))


def test_every_dtype_of_pandas_comes_back():
    draw = np.random.default_rng(5)
    n = 300
    some = draw.random(n) < 0.2
    hours = pd.to_timedelta(draw.integers(0, 300, n), "h")
    frame = pd.DataFrame(
        {
            "count": pd.array(np.where(some, None, draw.poisson(30, n)), dtype="Int64"),
            "flag": pd.array(np.where(some, None, draw.random(n) < 0.3), dtype="boolean"),
            "berlin": pd.date_range("2022-01-01", periods=n, freq="29h", tz="Europe/Berlin"),
            "wait": hours,
            0: draw.normal(size=n),
            "day": [datetime.date(2020, 1, 1) + datetime.timedelta(int(k)) for k in draw.integers(0, 90, n)],
            "price": [decimal.Decimal("0.25") * int(k) for k in draw.integers(0, 90, n)],
        }
    )
    drawn = htfm.fit(frame, seed=1, **QUICK).sample(500, seed=2)
    assert list(drawn.columns) == list(frame.columns)
    assert str(drawn["count"].dtype) == "Int64" and 0.05 < drawn["count"].isna().mean() < 0.4
    assert str(drawn["flag"].dtype) == "boolean" and 0.05 < drawn["flag"].isna().mean() < 0.4
    assert drawn["flag"].dropna().isin([True, False]).all() and drawn["flag"].any()
    assert str(drawn["berlin"].dtype).endswith("Europe/Berlin]")
    assert drawn["wait"].dtype.kind == "m" and (drawn["wait"] % pd.Timedelta(1, "h") == pd.Timedelta(0)).all()
    assert drawn["day"].dtype.kind == "M" and drawn["price"].dtype == np.float64
    assert np.isin(drawn["price"] % 0.25, 0).all()


def there_and_back(frame):
    """A frame as the library keeps it, and as it gives it back."""
    from htfm import _frames

    read = _frames._pandas_rows if isinstance(frame, pd.DataFrame) else _frames._polars_rows
    rows, what, columns = read(frame, set(), True)
    return _frames.back(torch.from_numpy(rows), what, what.columns, columns)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_keep_their_unit_and_zone(unit):
    days = pd.Series(pd.date_range("2020-01-01", periods=5).as_unit(unit))
    hours = pd.Series(pd.date_range("2020-03-01 03:00", periods=5, freq="7h", tz="Europe/Berlin").as_unit(unit))
    frame = pd.DataFrame({"day": days, "hour": hours, "x": np.arange(5.0)})
    pd.testing.assert_frame_equal(there_and_back(frame), frame)


def test_years_that_nanoseconds_do_not_reach():
    """9999-12-31, which stands for no end: in nanoseconds it would be a day of 1816."""
    far = ["2020-01-01", "9999-12-31", "1500-01-01"]
    stamps = pd.Series(np.array(far, dtype="datetime64[s]"))
    frame = pd.DataFrame({"end": stamps, "x": np.arange(3.0)})
    pd.testing.assert_frame_equal(there_and_back(frame), frame)
    objects = pd.DataFrame({"end": [datetime.date.fromisoformat(day) for day in far], "x": np.arange(3.0)})
    assert there_and_back(objects)["end"].dt.strftime("%Y-%m-%d").tolist() == far
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"end": objects["end"].tolist(), "x": [0.0, 1.0, 2.0]})
    assert there_and_back(table).equals(table)


def test_texts_and_flags_keep_their_dtype():
    frame = pd.DataFrame({"text": pd.Series(["a", None, "b"], dtype="string"), "mixed": pd.Series(["a", None, "b"], dtype=object)})
    pd.testing.assert_frame_equal(there_and_back(frame), frame)
    flags = there_and_back(pd.DataFrame({"flag": pd.Series([True, None, False], dtype=object)}))["flag"]
    assert str(flags.dtype) == "boolean" and flags[0] and flags.isna()[1] and not flags[2]


def test_polars_keeps_every_dtype():
    pl = pytest.importorskip("polars")
    stamp = datetime.datetime(2020, 1, 1, 5)
    frame = pl.DataFrame(
        {"text": ["a", "b"], "kind": ["a", "b"], "grade": ["b", "a"], "flag": [True, None], "day": [stamp.date()] * 2, "time": [stamp] * 2},
        schema={"text": pl.String, "kind": pl.Categorical, "grade": pl.Enum(["z", "b", "a"]), "flag": pl.Boolean, "day": pl.Date,
                "time": pl.Datetime("ms", "Europe/Berlin")},
    )
    drawn = there_and_back(frame)
    assert drawn.schema == frame.schema and drawn.equals(frame)


def test_values_that_a_dtype_cannot_hold_come_back_as_numbers():
    from htfm import _frames

    far = _frames._pandas_column(np.array([1e3, 1e11]), "timedelta64[ns]")
    assert far.dtype == np.float64 and far[1] == 1e11
    stamps = pd.Series(pd.date_range("2022-01-01", periods=3))
    assert _frames._stamps_in_zone(stamps, "datetime64[ns, tzfile('/usr/share/zoneinfo/America/New_York')]").equals(stamps)
    gaps = pd.Series([1, 2.5, pd.NA], dtype=object)
    assert np.array_equal(_frames._pandas_numbers(gaps), [1, 2.5, np.nan], equal_nan=True)


def test_a_column_of_several_kinds_is_named_by_them(table):
    mixed = pd.DataFrame({"x": table[:, 0], "odd": [1.5 if k % 2 else "abc" for k in range(len(table))]})
    with pytest.raises(ValueError, match=r"column 'odd': expected numbers.*got float and str"):
        htfm.fit(mixed, **QUICK)


def test_two_columns_of_one_name_stay_two(table):
    frame = pd.DataFrame({"x": table[:, 0], "kind": np.where(table[:, 1] > 0, "a", "b"), "n": np.arange(len(table)) % 7})
    for columns in (["x", "x", "n"], ["x", "n", "n"]):
        drawn = htfm.fit(frame.set_axis(columns, axis=1), **QUICK).sample(50, seed=1)
        assert list(drawn.columns) == columns
        assert drawn.iloc[:, 1].isin(["a", "b"]).all() and drawn.iloc[:, 2].isin(range(7)).all()
    numbers = frame[["x", "n"]].set_axis(["x", "x"], axis=1)
    assert htfm.fit(numbers, **QUICK).sample(50, seed=1).shape == (50, 2)


def test_queries_and_arrow_tables_are_read():
    pl = pytest.importorskip("polars")
    from htfm import _frames

    frame = pl.DataFrame({"x": [0.5, 1.5], "text": ["a", "b"]})
    rows, what, columns = _frames.rows_of(frame.lazy(), texts=True)
    assert what.kind == "polars" and what.columns == ["x", "text"] and rows[:, 0].tolist() == [0.5, 1.5]
    rows, what, columns = _frames.rows_of(frame.to_arrow(), texts=True)
    assert what.kind == "pandas" and what.columns == ["x", "text"] and columns[1].categories == ["a", "b"]


@pytest.mark.parametrize("kind", [[("a", "f8")], "M8[s]", "<U3"])
def test_arrays_of_no_numbers_are_refused_in_one_line(kind):
    with pytest.raises(ValueError, match="expected an array of numbers, got one of"):
        htfm.fit(np.zeros(9, dtype=kind))


def test_rare_events_under_a_condition():
    """Given what the network is told, and only so."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.standard_t(3, 400), "y": rng.standard_t(3, 400).astype(np.float32), "line": ["fire", "water"] * 200})
    model = htfm.fit(table, condition=["line"], **QUICK)
    with pytest.raises(ValueError, match=r'\(given="line=..."\), got none'):
        model.event_probability("x > 2", seed=1)
    found = [model.event_probability("x > 2", seed=1, draws=2000, given=given) for given in ({"line": "fire"}, "line=fire", pd.DataFrame({"line": ["fire"]}))]
    assert len({p.probability for p in found}) == 1 and found[0].lower < found[0].upper
    rows, _, _ = model.sample_event(20, "x > 2", seed=1, given={"line": "fire"})
    assert list(rows.columns) == ["x", "y"] and (rows["x"] > 2).all() and rows["y"].dtype == np.float32
    rows, _, q = model.sample_beyond(20, 0.99, "x", seed=1, given={"line": "fire"})
    assert (rows["x"] > q.value).all()
    with pytest.raises(ValueError, match=r"^\[given\] line: expected a category that was seen in training"):
        model.rare_quantile("x", 1e-3, given={"line": "air"})
