"""What the algorithms of C++'s library refuse, and that nothing is changed then."""

from __future__ import annotations

import operator
import re
from functools import partial

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

A = es.algorithms
T = es.algorithms.team


def odd(v):
    return v % 2 == 1


def keep(a, b):
    return a


def nothing():
    return 1


@pytest.fixture
def k(space):
    return {"space": space}


def test_what_is_no_view_of_rank_1(space, k):
    table = staged.view_on(space, np.zeros((2, 3)), "table")
    with pytest.raises(es.ViewError, match=r"reverse: View 'table' has rank 2; expected rank 1"):
        A.reverse(table, **k)
    with pytest.raises(es.ViewError, match=r"reduce: View 'one' has rank 0"):
        A.reduce(staged.view_on(space, 1.0, "one"), **k)
    with pytest.raises(es.ViewTypeError, match=r"find: view is of type 'list'"):
        A.find([1, 2], 1, **k)
    with pytest.raises(es.ViewTypeError, match=r"copy: source is .*In"):
        A.copy(es.In(np.zeros(2)), staged.view_on(space, np.zeros(2)), **k)


def test_records_where_numbers_are_needed(space, k):
    x = staged.view_on(space, np.zeros(3, [("a", "f8")]), "x")
    for call in (
        lambda: A.reduce(x, **k),
        lambda: A.find(x, 1, **k),
        lambda: A.remove(x, 1, **k),
        lambda: A.unique(x, **k),
        lambda: A.replace_if(x, odd, 1, **k),
        lambda: A.min_element(x, **k),
        lambda: A.equal(x, x, **k),
        lambda: es.sort(x, **k),
    ):
        with pytest.raises(es.DTypeError, match="'x' holds records"):
            call()
    with pytest.raises(es.DTypeError, match=r"fill: value=1 cannot be stored in View 'x' of recor"):
        A.fill(x, 1, **k)
    with pytest.raises(es.KernelTypeError, match="cannot return record"):
        A.transform(x, x, lambda p: p, **k)


def test_what_is_no_function(space, k):
    x, z = (staged.view_on(space, np.arange(3), name) for name in "xz")
    for name, call in (
        ("find_if: predicate=3", lambda: A.find_if(x, 3, **k)),
        ("all_of: predicate=None", lambda: A.all_of(x, None, **k)),
        ("transform: function='sin'", lambda: A.transform(x, z, "sin", **k)),
        ("reduce: op=1", lambda: A.reduce(x, 0, 1, **k)),
        ("inclusive_scan: op=<class 'int'>", lambda: A.inclusive_scan(x, z, int, **k)),
        ("min_element: less=True", lambda: A.min_element(x, True, **k)),
        ("sort: less=1", lambda: es.sort(x, less=1, **k)),
        ("argsort: less=1", lambda: es.argsort(x, less=1, **k)),
        ("sort_by_key: less=1", lambda: es.sort_by_key(x, z, less=1, **k)),
        ("search: predicate=1", lambda: A.search(x, z, 1, **k)),
        ("generate: function=0", lambda: A.generate(x, 0, **k)),
        (
            "find_if: predicate=operator.itemget.*",
            lambda: A.find_if(x, operator.itemgetter(0), **k),
        ),
        ("find_if: predicate=<method 'bit_co.*", lambda: A.find_if(x, int.bit_count, **k)),
        ("find_if: predicate=<class 'str'>", lambda: A.find_if(x, str, **k)),
    ):
        with pytest.raises(es.LaunchError, match=f"{name}; expected"):
            call()
    with pytest.raises(es.LaunchError, match=r"generate: .*a function of the index, or of nothing"):
        A.generate(x, keep, **k)
    with pytest.raises(es.LaunchError, match=r"find_if: predicate=.* takes 0 arguments"):
        A.find_if(x, nothing, **k)


def test_wrong_numbers_of_arguments(space, k):
    x = staged.view_on(space, np.arange(3), "x")
    with pytest.raises(es.LaunchError, match=r"transform: got 2 arguments; expected \(source"):
        A.transform(x, odd, **k)
    with pytest.raises(es.LaunchError, match=r"transform_reduce: got 2 arguments; expected"):
        A.transform_reduce(x, 0, **k)
    with pytest.raises(es.LaunchError, match=r"transform_reduce: got 4 arguments; expected"):
        A.transform_reduce(x, x, 0, es.Sum, **k)


def test_reducers_that_join_no_numbers(space, k):
    x = staged.view_on(space, np.arange(3), "x")
    for op in (es.MinLoc, es.FirstLoc, es.Sum(shape=3)):
        with pytest.raises(es.LaunchError, match="reduce: op="):
            A.reduce(x, op=op, **k)
    with pytest.raises(es.LaunchError, match=r"reduce: init='a'; expected a number"):
        A.reduce(x, "a", **k)
    with pytest.raises(es.LaunchError, match=r"exclusive_scan: init=None; expected a number"):
        A.exclusive_scan(x, x, None, **k)
    with pytest.raises(es.ViewError, match=r"reduce: View 'x' is empty and there is no init"):
        A.reduce(x[:0], op=keep, **k)
    assert A.reduce(x[:0], 4, keep, **k) == 4


def test_destinations_that_are_too_short(space, k):
    x, z = staged.view_on(space, np.arange(6), "x"), staged.view_on(space, np.full(2, 9), "z")
    for call in (
        lambda: A.copy(x, z, **k),
        lambda: A.copy_n(x, 3, z, **k),
        lambda: A.copy_backward(x, z, **k),
        lambda: A.reverse_copy(x, z, **k),
        lambda: A.rotate_copy(x, 2, z, **k),
        lambda: A.replace_copy(x, z, 1, 2, **k),
        lambda: A.transform(x, z, odd, **k),
        lambda: A.transform(x, z, x, keep, **k),
        lambda: A.swap_ranges(x, z, **k),
        lambda: A.inclusive_scan(x, z, **k),
        lambda: A.exclusive_scan(x, z, **k),
        lambda: A.adjacent_difference(x, z, **k),
        lambda: A.transform_reduce(x, z, **k),
    ):
        with pytest.raises(es.ViewError, match="View 'z' has extent 2; expected"):
            call()
    assert staged.fetch(z).tolist() == [9, 9] and staged.fetch(x).tolist() == list(range(6))
    for call in (
        lambda: A.copy_if(x, z, odd, **k),
        lambda: A.partition_copy(x, z, staged.view_on(space, np.zeros(9, int)), odd, **k),
    ):
        with pytest.raises(es.ViewError, match=r"'z' has extent 2, and 3 elements are to be"):
            call()
        assert staged.fetch(z).tolist() == [1, 3]


def test_numbers_of_elements_and_positions(space, k):
    x, z = (staged.view_on(space, np.arange(4), name) for name in "xz")
    for call, said in (
        (lambda: A.for_each_n(x, 5, odd, **k), r"for_each_n: n=5; expected 0 <= n <= 4"),
        (lambda: A.fill_n(x, -1, 0, **k), r"fill_n: n=-1; expected"),
        (lambda: A.generate_n(x, 1.5, odd, **k), r"generate_n: n=1.5; expected an integer"),
        (lambda: A.copy_n(x, 5, z, **k), r"copy_n: n=5; expected"),
        (lambda: A.rotate(x, 5, **k), r"rotate: middle=5; expected 0 <= middle <= 4"),
        (lambda: A.rotate_copy(x, -1, z, **k), r"rotate_copy: middle=-1"),
        (lambda: A.shift_left(x, -1, **k), r"shift_left: n=-1; expected 0 or more"),
        (lambda: A.shift_right(x, "a", **k), r"shift_right: n='a'; expected an integer"),
        (lambda: A.search_n(x, -1, 0, **k), r"search_n: n=-1; expected 0 or more"),
        (lambda: A.iter_swap(x, 4, x, 0, **k), r"iter_swap: i=4 for View 'x'; expected 0 <= i < 4"),
        (lambda: A.iter_swap(x, 0, x, "b", **k), r"iter_swap: j='b'; expected an integer"),
    ):
        with pytest.raises(es.ViewError, match=said):
            call()
    assert staged.fetch(x).tolist() == [0, 1, 2, 3]


def test_what_is_read_only(space, k):
    x = staged.view_on(space, np.arange(4), "x").readonly()
    z = staged.view_on(space, np.arange(4), "z")
    for call in (
        lambda: A.fill(x, 0, **k),
        lambda: A.generate(x, odd, **k),
        lambda: A.replace(x, 1, 2, **k),
        lambda: A.copy(z, x, **k),
        lambda: A.copy_if(z, x, odd, **k),
        lambda: A.reverse(x, **k),
        lambda: A.rotate(x, 1, **k),
        lambda: A.shift_left(x, 1, **k),
        lambda: A.remove(x, 1, **k),
        lambda: A.unique(x, **k),
        lambda: A.swap_ranges(z, x, **k),
        lambda: A.iter_swap(z, 0, x, 0, **k),
        lambda: A.transform(z, x, odd, **k),
        lambda: A.inclusive_scan(z, x, **k),
    ):
        with pytest.raises(es.ViewError, match="'x' is read-only"):
            call()
    with pytest.raises(es.ExecspaceError, match="read-only"):
        A.for_each(x, odd, **k)
    assert A.find(x, 2, **k) == 2


def test_elements_that_would_lose_their_kind(space, k):
    x, z = staged.view_on(space, np.arange(3.0), "x"), staged.view_on(space, np.arange(3), "z")
    c = staged.view_on(space, np.zeros(3, complex), "c")
    for call in (
        lambda: A.copy(x, z, **k),
        lambda: A.copy_if(x, z, odd, **k),
        lambda: A.reverse_copy(x, z, **k),
        lambda: A.partition_copy(c, c, x, odd, **k),
        lambda: A.swap_ranges(z, x, **k),
        lambda: A.fill(z, 0.5, **k),
        lambda: A.replace(z, 1, 0.5, **k),
        lambda: A.replace_if(x, odd, 1j, **k),
    ):
        with pytest.raises(es.DTypeError, match="without loss of kind"):
            call()
    with pytest.raises(es.LaunchError, match=r"fill: value='a'; expected a number"):
        A.fill(x, "a", **k)
    with pytest.raises(es.KernelError, match="complex"):
        A.inclusive_scan(c, x, **k)


def test_complex_numbers_have_no_order(space, k):
    c = staged.view_on(space, np.array([2j, 1.0]), "c")
    for name in ("min_element", "max_element", "minmax_element", "is_sorted", "is_sorted_until"):
        with pytest.raises(es.DTypeError, match=rf"{name}: View 'c' holds complex128.*Give less="):
            getattr(A, name)(c, **k)
    with pytest.raises(es.DTypeError, match="complex"):
        es.sort(c, **k)
    assert A.min_element(c, lambda a, b: abs(a) < abs(b), **k) == 1


def test_a_number_that_elements_cannot_be(space, k):
    x = staged.view_on(space, np.arange(3, dtype=np.int8), "x")
    assert A.find(x, 300, **k) == 3 and A.count(x, -1000, **k) == 0  # comparisons are exact
    u = staged.view_on(space, np.arange(3, dtype=np.uint16), "u")
    for view, value in ((x, 300), (x, np.int64(300)), (x, np.uint8(255)), (x, 2**70),
                        (u, -1), (u, np.int8(-1)), (u, np.uint32(65536))):  # fmt: skip
        said = rf"value={re.escape(repr(value))} does not fit into View '{view.label}'"
        with pytest.raises(es.LaunchError, match=f"fill: {said}"):
            A.fill(view, value, **k)
        with pytest.raises(
            es.LaunchError, match=rf"replace: new=.* does not fit into View '{view.label}"
        ):
            A.replace(view, 1, value, **k)
        with pytest.raises(es.ViewError, match=r"does not fit into View"):
            es.deep_copy(view, value)
    assert staged.fetch(x).tolist() == staged.fetch(u).tolist() == [0, 1, 2]
    for name, call in (
        ("find: value", lambda: A.find(x, "a", **k)),
        ("count: value", lambda: A.count(x, "a", **k)),
        ("remove: value", lambda: A.remove(x, "a", **k)),
        ("replace: old", lambda: A.replace(x, "a", 1, **k)),
        ("search_n: value", lambda: A.search_n(x, 2, "a", **k)),
    ):
        with pytest.raises(es.LaunchError, match=f"{name}='a'; expected a number"):
            call()


def test_memory_out_of_reach(space):
    if staged.reaches_host(space):
        array = np.arange(3)
        assert A.find(array, 2, space=space) == 2
        return
    with pytest.raises(es.SpaceAccessError, match="find: "):
        A.find(np.arange(3), 2, space=space)


def test_names_that_do_not_exist():
    with pytest.raises(AttributeError, match="no attribute 'find_all'"):
        A.find_all
    assert "find_if" in dir(A) and "elementwise" not in A.__all__
    assert callable(T.find_if)


@pytest.mark.parametrize(
    ("f", "found"),
    [
        (len, "such as a lambda"), (print, "such as a lambda"), (np.sum, "such as a lambda"),
        (np.vectorize(odd), "such as a lambda"), (str, "in the language of kernels"),
        (operator.add, "takes 2 arguments; expected a function of an element"),
        (keep, "takes 2 arguments"), (nothing, "takes 0 arguments"), (np.add, "takes 2 arguments"),
        (partial(keep, 1, 2), "takes 0 arguments"), (partial(np.add, 1, 2), "takes 0 arguments"),
        (partial(keep, 1, 2, 3), "functools.partial: function 'keep' has 2 parameters only"),
    ],
)  # fmt: skip
def test_functions_that_are_no_predicates(space, k, f, found):
    x = staged.view_on(space, np.arange(3.0), "x")
    with pytest.raises(es.LaunchError, match=f"count_if: predicate.*{re.escape(found)}"):
        A.count_if(x, f, **k)


def test_a_predicate_that_returns_nothing(space, k):
    x = staged.view_on(space, np.arange(3.0), "x")
    with pytest.raises(es.KernelTypeError, match="the predicate returns None; expected a bool"):
        A.count_if(x, lambda v: None, **k)
