"""The union of intervals: overlaps count once, order does not matter, memory is bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execspace_tools.busy_time import BusyTime

TIMES = st.integers(0, 300)
INTERVALS = st.lists(st.tuples(TIMES, TIMES).map(sorted), max_size=60)


@given(intervals=INTERVALS)
def test_it_is_the_length_of_the_union(intervals):
    busy = BusyTime()
    for start, end in intervals:
        busy.add(start, end)
    covered = {t for start, end in intervals for t in range(start, end)}
    assert busy.seconds() == len(covered)


@given(intervals=INTERVALS)
def test_what_is_added_up_early_stays_exact_while_times_come_in_order(intervals):
    busy = BusyTime(most=4)
    for start, end in sorted(intervals):
        busy.add(start, end)
        assert len(busy._apart) <= 4
    covered = {t for start, end in intervals for t in range(start, end)}
    assert busy.seconds() == len(covered)


def test_an_interval_that_comes_far_too_late_counts_what_is_left_of_it():
    busy = BusyTime(most=4)
    for start in (0, 10, 20, 30):
        busy.add(start, start + 1)
    busy.add(5, 25)  # up to 11 is added up already
    assert busy.seconds() == pytest.approx(1 + 1 + (25 - 11) + 1)
