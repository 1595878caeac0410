"""Keys of an UnorderedMap of another type than its own: what is found, inserted and refused."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype


def keys_of(table):
    return staged.fetch(table.keys()).tolist()


@es.function
def no(result):
    return result.success


def attempt(i, table, keys, told):
    result = table.insert(keys[i])
    told[i, 0] = result.success
    told[i, 1] = result.failed
    told[i, 2] = result.index


def look_and_erase(i, table, keys, told):
    told[i, 0] = table.find(keys[i])
    told[i, 1] = table.exists(keys[i])
    told[i, 2] = table.erase(keys[i])


FOREIGN = [
    ("int8", "int64", [3, 300, -1, 2**40, -129], [3, -1]),
    ("uint8", "int32", [3, 256, -1, 255], [3, 255]),
    ("uint32", "int32", [3, -1], [3]),
    ("int64", "uint64", [3, 2**64 - 1, 2**63], [3]),
    ("uint64", "int64", [3, -1, -(2**63)], [3]),
    ("int32", "uint8", [3, 255], [3, 255]),
]


@pytest.mark.parametrize(("own", "other", "keys", "held"), FOREIGN)
def test_integers_that_keys_cannot_be_are_none_of_them(space, own, other, keys, held):
    """They would become other keys: 2**64 - 1 as an int64 is -1."""
    values = np.array(keys, other)
    view = staged.view_on(space, values)
    table = es.UnorderedMap(50, own, space=space)
    table.insert_many(staged.view_on(space, values.astype(own)))  # those, converted
    told = es.View((len(keys), 3), es.int64, space=space)
    policy = es.RangePolicy(len(keys), space=space)
    expected = [v in held for v in keys]
    assert (staged.fetch(table.find_many(view)) >= 0).tolist() == expected
    es.parallel_for(policy, look_and_erase, table, view, told)
    found = staged.fetch(told)
    assert (found[:, 0] >= 0).tolist() == found[:, 1].tolist() == found[:, 2].tolist() == expected
    table.clear()
    es.parallel_for(policy, attempt, table, view, told)
    found = staged.fetch(told)
    assert found[:, 0].tolist() == expected and (found[:, 2] >= 0).tolist() == expected
    assert found[:, 1].tolist() == [not e for e in expected]
    assert sorted(keys_of(table)) == sorted(held)
    if all(expected):
        table.insert_many(view)
        assert not table.failed_insert()
        return
    with pytest.raises(es.ViewError, match=f"a kernel inserted an integer that keys of {own} can"):
        table.failed_insert()
    table.clear()
    assert not table.failed_insert()
    with pytest.raises(es.ViewError, match=f"has .* elements that keys of {own} cannot be"):
        table.insert_many(view)
    assert table.size() == 0


def far(i, table, step, told):
    told[i] = table.insert(i * step).failed


def test_indices_and_python_numbers_are_compared_as_well(space):
    table, told = es.UnorderedMap(50, es.int16, space=space), es.View(4, es.int64, space=space)
    es.parallel_for(es.RangePolicy(4, space=space), far, table, 20_000, told)
    assert staged.fetch(told).tolist() == [0, 0, 1, 1]
    assert sorted(keys_of(table)) == [0, 20_000]


def test_keys_that_would_lose_their_kind_or_digits(space):
    needs_dtype(space, "float64")
    ints, floats = (es.UnorderedMap(5, t, space=space) for t in (es.int64, es.float32))
    policy = es.RangePolicy(1, space=space)
    for table, dtype in ((ints, "float32"), (floats, "float64"), (floats, "int32")):
        keys = staged.view_on(space, np.ones(1, dtype))
        for kernel in (lambda i, m, k: no(m.insert(k[i])), lambda i, m, k: m.find(k[i])):
            with pytest.raises(es.KernelTypeError, match=f"a key of {dtype} is not one of them"):
                es.parallel_reduce(policy, kernel, table, keys)
        for method in (table.insert_many, table.find_many):
            with pytest.raises(es.DTypeError, match=f"are of {dtype}; the map has"):
                method(keys)
    with pytest.raises(es.ViewError, match="get_many: default is 'a'; expected a number"):
        es.UnorderedMap(5, es.int32, es.int32, space=space).get_many(np.zeros(1, "i4"), "a")
