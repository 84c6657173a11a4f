"""Files and arrays of bool, datetime64, timedelta64 and complex numbers, against numpy."""

import datetime

import clipper
import numpy as np
import pandas as pd
import pytest

NAT = np.datetime64("NaT")
DAYS = np.array(["NaT", "1969-12-31", "2019-04-14", "2020-02-29", "2024-10-04"], "M8[D]")


def clipped(path, x, *bounds, **options):
    np.save(path, x)
    clipper.clip_file(path, path.with_name("out.npy"), *bounds, **options)
    return np.load(path.with_name("out.npy"))


def assert_clipped(path, x, lo, hi):
    result, expected = clipped(path, x, lo, hi), np.clip(x, lo, hi).astype(x.dtype)
    assert result.dtype == x.dtype and result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "25s", "ms", "us", "ns", "ps", "fs", "as"])
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("kind", "Mm")
def test_bounds_of_the_same_unit(unit, order, kind, tmp_path):
    ticks = np.arange(-20, 20, dtype="i8")
    ticks[3] = np.iinfo("i8").min
    x = ticks.view(f"{kind}8[{unit}]")
    for lo, hi in ((5, 9), (-7, 7), (-9, -5)):
        lo, hi = np.array([lo, hi], "i8").view(x.dtype)
        assert_clipped(tmp_path / "x.npy", x.astype(x.dtype.newbyteorder(order)), lo, hi)
    np.save(tmp_path / "x.npy", x)
    about = clipper.info(tmp_path / "x.npy")
    assert about.dtype == str(x.dtype) and about.nan == 1
    assert about.min == np.nanmin(x) and about.min.dtype == x.dtype and about.max == np.nanmax(x)
    assert about == clipper.info(x)
    assert (about.mean is None) == (kind == "M")
    assert clipper.percentiles(x, [0, 50, 100]) == [np.nanmin(x), np.sort(x)[19], np.nanmax(x)]


def test_bounds_of_other_types(tmp_path):
    path = tmp_path / "x.npy"
    expected = np.clip(DAYS, np.datetime64("1970-01-02"), np.datetime64("2020-02-28"))
    for lo in ("1970-01-02", datetime.date(1970, 1, 2), datetime.datetime(1970, 1, 2), pd.Timestamp("1970-01-02"), np.datetime64(24, "h")):
        assert clipped(path, DAYS, lo, "2020-02-28").tobytes() == expected.tobytes()
    assert (clipped(path, DAYS, np.datetime64("2020")) == np.clip(DAYS, np.datetime64("2020-01-01"), None))[1:].all()
    assert clipped(path, DAYS, nan=datetime.date(1970, 1, 1))[0] == np.datetime64(0, "D")
    assert clipped(path, DAYS, "50%")[1] == np.datetime64("2019-04-14")
    hours = np.arange(100).astype("m8[h]")
    for bound in (72, datetime.timedelta(3), np.timedelta64(3, "D"), np.timedelta64(72 * 3600, "s"), pd.Timedelta(days=3), np.timedelta64(72)):
        assert (clipped(path, hours, max=bound) == np.clip(hours, None, np.timedelta64(3, "D"))).all()
    flags = np.array([True, False])
    for false in (False, np.False_, 0, "false"):
        assert clipped(path, flags, max=false).tolist() == [False, False]
    assert clipped(path, flags, True).tolist() == [True, True]


@pytest.mark.parametrize(
    "x, bound, why",
    [
        (DAYS, NAT, "NaT cannot be a bound"),
        (DAYS, 0, "write a date"),
        (DAYS, np.timedelta64(1, "D"), "is not a date"),
        (DAYS, datetime.datetime(2020, 1, 1, 12), "is not a date of datetime64"),
        (DAYS, pd.Timestamp(1), "is not a date of datetime64"),
        (DAYS.astype("m8[D]"), np.timedelta64(1, "M"), "1 M is not a duration of timedelta64"),
        (DAYS.astype("m8[D]"), np.timedelta64(25, "h"), "25 h is not a duration of timedelta64"),
        (DAYS.astype("m8[D]"), np.timedelta64("NaT"), "NaT cannot be a bound"),
        (np.zeros(2), "2020-01-01", "is not a number, but the tensor is float64"),
        (np.zeros(2), np.timedelta64(1, "D"), "is not a number, but the tensor is float64"),
        (np.zeros(2, bool), 2, "is not 0, 1, true or false"),
    ],
)
def test_refused_bounds(x, bound, why, tmp_path):
    with pytest.raises(clipper.ClipperError, match=why) as caught:
        clipped(tmp_path / "x.npy", x, bound)
    assert caught.value.kind == "usage"


def test_time_zone(tmp_path):
    with pytest.raises(TypeError, match="time zone"):
        clipped(tmp_path / "x.npy", DAYS, datetime.datetime.now(datetime.timezone.utc))


def test_members(tmp_path):
    np.savez(tmp_path / "a.npz", day=DAYS, x=np.arange(-2.0, 3))
    clipper.clip_file(tmp_path / "a.npz", tmp_path / "b.npz", 0)
    clipper.assert_same(f"{tmp_path}/b.npz:day", DAYS)
    clipper.clip_file(tmp_path / "a.npz", tmp_path / "b.npz", "2020-01-01", members=["day"])
    clipper.assert_same(f"{tmp_path}/b.npz:day", np.clip(DAYS, np.datetime64("2020-01-01"), None))
    assert clipper.info(f"{tmp_path}/b.npz:day", stats=False).dtype == "datetime64[D]"


@pytest.mark.parametrize("dtype", ["?", "M8[D]", "m8[25s]", "c8", "c16"])
def test_comparison(dtype):
    x = np.arange(6, dtype="i8").view(dtype) if dtype[1:2] == "8" and dtype[0] in "Mm" else np.arange(6).astype(dtype)
    y = x.copy()
    y[2] = 0
    clipper.assert_same(x, x.astype(x.dtype.newbyteorder(">")), bits=True)
    clipper.assert_same(np.asfortranarray(x.reshape(2, 3)), x.reshape(2, 3))
    found = clipper.compare(y, x)
    assert found.dtype == str(x.dtype) and found.mismatches == 1
    (mismatch,) = found.first
    assert mismatch.index == (2,) and mismatch.actual == y[2] and mismatch.expected == x[2]
    assert isinstance(mismatch.actual, (bool, np.datetime64, np.timedelta64, complex))
    assert found.largest == (1 if dtype == "?" else 2)
    assert not clipper.compare(x, x.view("u1") if dtype == "?" else x.view("i8"))
    if dtype[0] == "c":
        assert clipper.compare(x, x * 1j).first[0].expected == 1j
        with pytest.raises(clipper.ClipperError, match="complex numbers"):
            clipper.info(x)
    with pytest.raises(clipper.ClipperError, match="np.clip takes it" if dtype[0] != "c" else "none of clipper's"):
        clipper.clip(x, 0)
