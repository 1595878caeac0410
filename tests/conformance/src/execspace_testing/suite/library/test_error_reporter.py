"""ErrorReporter: reports of many work items at once, and those that find no room."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting


class Fault(es.Record):
    """What went wrong, where."""

    value: es.float64
    place: es.int32 = 0


def report(i, x, errors):
    if x[i] < 0:
        errors.add_report(i, x[i])


def report_record(i, x, errors):
    if x[i] < 0:
        errors.add_report(i, Fault(x[i], place=i + 1))


def told(i, x, errors):
    return errors.add_report(i, x[i])


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8])
def test_all_reports_come_with_their_reporters(space, dtype):
    n = fitting(space, 20_000)
    x = np.random.default_rng(1).integers(-50, 50, n)
    view, errors = staged.view_on(space, x), es.ErrorReporter(n, dtype, space=space)
    assert (errors.capacity, errors.num_reports(), errors.full()) == (n, 0, False)
    for _ in range(2):
        es.parallel_for(es.RangePolicy(n, space=space), report, view, errors)
        bad = np.flatnonzero(x < 0)
        assert errors.num_reports() == errors.num_report_attempts() == len(bad)
        reporters, reports = errors.get_reports()
        assert reports.dtype == dtype
        assert sorted(reporters.tolist()) == bad.tolist()
        np.testing.assert_array_equal(reports, x[reporters].astype(dtype))
        errors.clear()
        assert errors.num_report_attempts() == 0
        assert [len(a) for a in errors.get_reports()] == [0, 0]


def test_what_finds_no_room_is_counted(space):
    n = fitting(space, 5000)
    view = staged.view_on(space, np.arange(n))
    for capacity in (0, 1, 37, n - 1, n):
        errors = es.ErrorReporter(capacity, es.int64, space=space)
        assert es.parallel_reduce(es.RangePolicy(n, space=space), told, view, errors) == capacity
        assert (errors.num_reports(), errors.num_report_attempts()) == (capacity, n)
        assert errors.full()
        reporters, reports = errors.get_reports()
        assert len(set(reporters.tolist())) == capacity
        assert reporters.tolist() == reports.tolist()


def test_records(space):
    x = np.array([1.0, -2.5, 3.0, -4.0])
    errors = es.ErrorReporter(10, Fault, space=space)
    es.parallel_for(es.RangePolicy(4, space=space), report_record, staged.view_on(space, x), errors)
    reporters, reports = errors.get_reports()
    order = np.argsort(reporters)
    assert reporters[order].tolist() == [1, 3]
    assert reports["value"][order].tolist() == [-2.5, -4.0]
    assert reports["place"][order].tolist() == [2, 4]


def test_another_capacity_keeps_the_first_reports(space):
    view, errors = (
        staged.view_on(space, -np.arange(1.0, 9.0)),
        es.ErrorReporter(4, es.float32, space=space),
    )
    policy = es.RangePolicy(8, space=space)
    es.parallel_for(policy, report, view, errors)
    before = errors.get_reports()
    errors.resize(20)
    assert (errors.capacity, errors.num_report_attempts(), errors.full()) == (20, 8, False)
    assert errors.num_reports() == 4  # others are lost
    for a, b in zip(errors.get_reports(), before, strict=True):
        assert a.tolist() == b.tolist()
    es.parallel_for(policy, report, view, errors)
    assert (errors.num_reports(), errors.num_report_attempts()) == (12, 16)
    errors.resize(3)
    assert (errors.num_reports(), errors.full(), errors.num_report_attempts()) == (3, True, 16)
    assert errors.get_reports()[0].tolist() == before[0][:3].tolist()
    errors.clear()
    assert (errors.num_reports(), errors.num_report_attempts()) == (0, 0)


def test_what_is_refused(space):
    for capacity in (-1, 1.5, None):
        with pytest.raises(es.ViewError, match="ErrorReporter: capacity is"):
            es.ErrorReporter(capacity, es.int32, space=space)
    with pytest.raises(es.DTypeError, match="dtype is 'S4'; expected numbers or records"):
        es.ErrorReporter(3, "S4", space=space)
    errors = es.ErrorReporter(3, es.int32, space=space)
    with pytest.raises(es.ViewError, match=r"ErrorReporter.resize: capacity is -2"):
        errors.resize(-2)
    with pytest.raises(es.ReadOnlyError, match="attribute 'capacity' is read-only"):
        errors.capacity = 5
    with pytest.raises(es.ReadOnlyError, match="attribute 'dtype' is read-only"):
        errors.dtype = es.int64
