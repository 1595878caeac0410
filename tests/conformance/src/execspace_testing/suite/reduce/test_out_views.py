"""Results into Views: `out=` takes them where they are, in the dtype of the View.

Then nothing is returned, so a space that works asynchronously need not wait.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype

X = np.array([3.0, 1.0, 4.0, 1.5])


def value(i, x):
    return x[i]


def located(i, x):
    return x[i], (i, -i)


def beside(i, x):
    return x[i], i


def powers(i, a, x):
    a[0] += 1.0
    a[1] += x[i]


class Sums(es.Reducer):
    """A 2 x 3 array of unsigned integers."""

    identity = np.zeros((2, 3), np.uint64)

    def join(a, b):
        return (
            (a[0][0] + b[0][0], a[0][1] + b[0][1], a[0][2] + b[0][2]),
            (a[1][0] + b[1][0], a[1][1] + b[1][1], a[1][2] + b[1][2]),
        )


def block(i):
    u = np.uint64(i)
    return (u, u, u), (np.uint64(2**62 + 1), u, u)


@pytest.mark.parametrize("dtype", [es.float64, es.float32, es.complex128])
def test_the_view_has_the_last_word_on_the_dtype(space, dtype):
    needs_dtype(space, dtype)
    with es.use_space(space):
        out = es.View((), dtype, label="out")
        for expected, n in ((9.5, 4), (0.0, 0), (4.0, 2)):
            assert staged.parallel_reduce(n, value, X, out=out) is None
            assert staged.fetch(out) == expected


def test_narrow_integers_wrap_as_in_stores(space):
    with es.use_space(space):
        out, row = es.View((), es.int8, label="out"), es.View(2, es.int8, label="row")
        staged.parallel_reduce(6, lambda i: 50, out=out)
        staged.parallel_reduce(6, sixty, reducer=es.Sum(shape=2, dtype=es.int64), out=row)
    assert staged.fetch(out) == 300 - 256
    assert staged.fetch(row).tolist() == [360 - 256, 0]


def sixty(i, a):
    a[0] += 60


def test_a_view_for_each_number(space):
    """Of a location reducer the value and each part of the location; also of several reducers."""
    with es.use_space(space):
        least, i, j = es.View(()), es.View((), es.int32), es.View((), es.int64)
        staged.parallel_reduce(4, located, X, reducer=es.MinLoc, out=(least, i, j))
        assert tuple(map(staged.fetch, (least, i, j))) == (1.0, 1, -1)
        most, total = es.View((), es.float32), es.View(())
        staged.parallel_reduce(4, beside, X, reducer=(es.Max, es.Sum), out=(most, total))
        assert (staged.fetch(most), staged.fetch(total)) == (4.0, 6.0)


def test_a_record_for_all_numbers(space):
    """A View of a structured dtype has as many numbers as it has fields, arrays counted out."""
    place = np.dtype([("val", "f4"), ("loc", "i2", (2,))])
    with es.use_space(space):
        out = es.View((), place, label="least")
        staged.parallel_reduce(4, located, X, reducer=es.MinLoc, out=out)
    record = staged.fetch(out)
    assert record["val"] == 1.0
    assert record["loc"].tolist() == [1, -1]


def test_an_array_for_an_array(space):
    with es.use_space(space):
        sums = es.View(2, es.float32, label="sums")
        staged.parallel_reduce(4, powers, X, reducer=es.Sum(shape=2), out=sums)
        assert staged.fetch(sums).tolist() == [4.0, 9.5]
        whole = es.View((2, 3), es.uint64, label="whole", layout="left")
        staged.parallel_reduce(3, block, reducer=Sums, out=whole)
    assert staged.fetch(whole).tolist() == [[3, 3, 3], [3 * 2**62 + 3, 3, 3]]


@pytest.mark.parametrize("shape", [(3, 2), (6,), (2, 3, 1)])
def test_an_array_of_another_shape_is_refused(space, shape):
    """Also where it has as many elements."""
    with es.use_space(space):
        out = es.View(shape, es.uint64, label="flat")
        with pytest.raises(es.LaunchError, match=r"'flat' of out= .* expected \(2, 3\)"):
            staged.parallel_reduce(3, block, reducer=Sums, out=out)
        row = es.View(3, label="row")
        with pytest.raises(es.LaunchError, match=r"'row' of out= .*expected \(2,\)"):
            staged.parallel_reduce(4, powers, X, reducer=es.Sum(shape=2), out=row)


def test_views_that_do_not_fit_are_refused(space):
    with es.use_space(space):
        number, whole = es.View(()), es.View((), es.int64)
        with pytest.raises(es.LaunchError, match="out= takes int64, but the result is float64"):
            staged.parallel_reduce(4, value, X, out=whole)
        with pytest.raises(es.LaunchError, match="takes float64, but the result is float64, int64"):
            staged.parallel_reduce(4, located, X, reducer=es.MinLoc, out=number)
        with pytest.raises(es.LaunchError, match="rank 1; expected a writable View"):
            staged.parallel_reduce(4, value, X, out=es.View(1))
        x = staged.place(space, X)
        for wrong in ((), [number], np.float64(0), (number, 1.0)):
            with pytest.raises(es.LaunchError, match="expected a writable View"):
                es.parallel_reduce(4, value, x, out=wrong)


def test_a_read_only_view_is_refused(space):
    frozen = es.View((), space=space).readonly()
    with es.use_space(space), pytest.raises(es.LaunchError, match="expected a writable View"):
        staged.parallel_reduce(4, value, X, out=frozen)


def test_nothing_is_written_where_the_launch_is_refused(space):
    with es.use_space(space):
        out = es.View((), label="out")
        es.deep_copy(out, 7.0)
        with pytest.raises(es.LaunchError):
            staged.parallel_reduce(4, located, X, reducer=es.MinLoc, out=out)
        assert staged.fetch(out) == 7.0
