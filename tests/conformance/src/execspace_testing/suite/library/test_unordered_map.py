"""UnorderedMap: insertions, searches and erasures at once, against Python's dict."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import fitting, interpreted, needs_dtype, needs_teams

some = drawn(15)
KEYS = ("int8", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


def keys_of(table):
    return staged.fetch(table.keys()).tolist()


def items_of(table):
    keys, values = (staged.fetch(v).tolist() for v in table.items())
    assert len(set(keys)) == len(keys) == table.size()
    return dict(zip(keys, values, strict=True))


def limits(dtype):
    """The extremes of a type, both words that mean something in a slot among them."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        info = np.finfo(kind)
        odd = np.array([-1], f"i{kind.itemsize}").view(kind)[0]
        return np.array([0, -0.0, np.inf, -np.inf, info.max, info.tiny, np.nan, -np.nan, odd], kind)
    info = np.iinfo(kind)
    return np.array([0, 1, info.max, info.min, info.max - 1], kind)


def insert(i, table, keys, values, told):
    result = table.insert(keys[i], values[i])
    told[i, 0] = result.index
    told[i, 1] = result.success
    told[i, 2] = result.existing
    told[i, 3] = result.failed


def look(i, table, keys, told):
    told[i, 0] = table.find(keys[i])
    told[i, 1] = table.exists(keys[i])


def erase(i, table, keys, told):
    told[i] = table.erase(keys[i])


@pytest.mark.parametrize("dtype", KEYS)
def test_keys_of_every_type(space, dtype):
    """All that `insert` tells, what is found, and what is left when keys were erased."""
    needs_dtype(space, dtype)
    rng = np.random.default_rng(1)
    n = fitting(space, 3000)
    drawn = (
        rng.integers(0, 100, n)
        if "8" in dtype
        else rng.integers(0, 2000, n) - (n if "u" not in dtype else 0)
    )
    some = drawn.astype(dtype)
    keys = np.concatenate([some, limits(dtype), some[::-1]])
    model = {}
    for k in keys.tolist():
        model.setdefault("nan" if k != k else k, len(model))
    table = es.UnorderedMap(len(model), dtype, es.int32, space=space)
    assert table.capacity >= len(model)
    policy = es.RangePolicy(len(keys), space=space)
    view, values = (
        staged.view_on(space, keys),
        staged.view_on(space, np.arange(len(keys)), dtype="i4"),
    )
    told = es.View((len(keys), 4), es.int64, space=space)
    es.parallel_for(policy, insert, table, view, values, told)
    found = staged.fetch(told)
    assert (found[:, 1] + found[:, 2] == 1).all()
    assert not found[:, 3].any()
    assert found[:, 1].sum() == len(model) == table.size()
    by_slot = {}
    for k, slot in zip(keys.tolist(), found[:, 0].tolist(), strict=True):
        assert by_slot.setdefault(slot, k) == k or k != k
    assert len(by_slot) == len(model)
    first = dict(zip(found[found[:, 1] == 1, 0].tolist(), np.flatnonzero(found[:, 1]), strict=True))
    slots, stored = staged.fetch(table.find_many(view)), staged.fetch(table.get_many(view, -1))
    np.testing.assert_array_equal(slots, found[:, 0])
    assert [first[s] for s in slots.tolist()] == stored.tolist()
    left = sorted(k for k in keys_of(table) if k == k)
    assert left == sorted(k for k in model if k != "nan")
    half, gone = view[: len(keys) // 2], es.View(len(keys) // 2, es.bool_, space=space)
    es.parallel_for(es.RangePolicy(len(half), space=space), erase, table, half, gone)
    erased = {"nan" if k != k else k for k in keys[: len(keys) // 2].tolist()}
    assert staged.fetch(gone).sum() == len(erased)
    rest = set(model) - erased
    assert table.size() == len(rest)
    found = es.View((len(keys), 2), es.int64, space=space)
    es.parallel_for(policy, look, table, view, found)
    there = [("nan" if k != k else k) in rest for k in keys.tolist()]
    assert staged.fetch(found)[:, 1].tolist() == there
    assert (staged.fetch(found)[:, 0] >= 0).tolist() == there


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint64", "float32", "complex128"])
def test_values_are_added_up(space, dtype):
    """Many work items add to few keys, of which one is that of an empty slot, one of an erased."""
    needs_dtype(space, dtype)
    n = fitting(space, 50_000)
    keys = np.random.default_rng(2).integers(-1, 6, n)
    table = es.UnorderedMap(10, es.int32, dtype, space=space)
    views = staged.view_on(space, keys), staged.view_on(space, np.ones(n, dtype))
    for rounds in (1, 2):
        table.insert_many(*views, op="add")
        expected = {k: np.array(rounds * (keys == k).sum()).astype(dtype) for k in range(-1, 6)}
        assert items_of(table) == expected


def test_one_of_the_values_stays(space):
    n = fitting(space, 20_000)
    keys = np.random.default_rng(3).integers(0, 50, n)
    table = es.UnorderedMap.from_arrays(
        staged.view_on(space, keys), staged.view_on(space, np.arange(n))
    )
    found = items_of(table)
    assert sorted(found) == np.unique(keys).tolist()
    assert all(keys[value] == key for key, value in found.items())
    table.insert_many(staged.view_on(space, keys), staged.view_on(space, np.full(n, -1)))
    assert items_of(table) == found


def test_a_set(space):
    n = fitting(space, 10_000)
    keys = np.random.default_rng(4).integers(0, 3 * n, n, np.uint32)
    table = es.UnorderedMap(n, es.uint32, space=space)
    assert (table.value_dtype, table.slot_values, table.size()) == (None, None, 0)

    def kernel(i, table, keys):
        return table.insert(keys[i]).success

    policy, view = es.RangePolicy(n, space=space), staged.view_on(space, keys)
    assert es.parallel_reduce(policy, kernel, table, view) == len(np.unique(keys))
    assert sorted(keys_of(table)) == np.unique(keys).tolist()
    assert sorted(keys_of(es.UnorderedMap.from_arrays(view))) == np.unique(keys).tolist()
    for method in (table.values, table.items, lambda: table.get_many(view)):
        with pytest.raises(es.ViewError, match="this is a set"):
            method()


def fill(i, table, keys):
    return table.insert(keys[i], i).failed


@pytest.mark.parametrize("dtype", ["int32", "uint64"])
def test_room_for_capacity_keys_and_no_more_than_slots(space, dtype):
    for capacity in (1, 5, 6, 100, fitting(space, 5461)):
        table = es.UnorderedMap(capacity, dtype, es.int64, space=space)
        room = table.capacity
        keys = staged.view_on(space, np.arange(10, 10 + 3 * room + 30).astype(dtype) * 7919)
        assert es.parallel_reduce(es.RangePolicy(room, space=space), fill, table, keys) == 0
        assert (table.failed_insert(), table.size()) == (False, room)
        policy = es.RangePolicy(len(keys), space=space)
        failed = es.parallel_reduce(policy, fill, table, keys)
        assert table.failed_insert()
        with pytest.raises(es.ViewError, match="an insertion of a kernel has failed before"):
            table.insert_many(keys, keys)
        assert len(keys) - failed == table.size()
        assert table.size() == table.slots - 2 or capacity > 500  # small ones are filled up
        slots = staged.fetch(table.find_many(keys))
        assert (slots >= 0).sum() == table.size()
        table.rehash(len(keys))
        assert not table.failed_insert()
        assert es.parallel_reduce(policy, fill, table, keys) == 0
        assert items_of(table) == {k: i for i, k in enumerate(staged.fetch(keys).tolist())}
        table.clear()
        assert (table.size(), keys_of(table)) == (0, [])


def test_many_keys_let_it_grow(space):
    n = fitting(space, 30_000)
    keys = np.random.default_rng(5).permutation(n)
    for op in ("noop", "add"):
        table = es.UnorderedMap(1, es.int64, es.int64, space=space)
        views = staged.view_on(space, keys), staged.view_on(space, keys + 7)
        table.insert_many(*views, op=op)
        assert table.size() == n
        assert not table.failed_insert()
        np.testing.assert_array_equal(staged.fetch(table.get_many(views[0])), keys + 7)
        missing = staged.view_on(space, np.arange(n, n + 10))
        assert (staged.fetch(table.get_many(missing, -5)) == -5).all()
        assert (staged.fetch(table.find_many(missing)) == -1).all()


def test_erased_slots_come_back_with_rehash(space):
    table = es.UnorderedMap(40, es.int32, es.float32, space=space)
    gone = es.View(60, es.bool_, space=space)
    policy = es.RangePolicy(60, space=space)
    for turn in range(5):
        keys = staged.view_on(space, np.arange(60 * turn, 60 * turn + 60, dtype=np.int32))
        table.insert_many(keys, staged.view_on(space, np.ones(60)), op="add")
        assert table.size() == 60
        es.parallel_for(policy, erase, table, keys, gone)
        assert staged.fetch(gone).all()
        assert table.size() == 0
        table.insert_many(keys, staged.view_on(space, np.ones(60)), op="add")
        assert set(items_of(table).values()) == {1.0}
        es.parallel_for(policy, erase, table, keys, gone)
        before = table.capacity
        table.rehash()
        assert table.capacity == before
    own = staged.view_on(space, np.array([0, -1], np.int32))  # whose slots are used again
    for _ in range(3):
        table.insert_many(own, staged.view_on(space, np.full(2, 5.0)), op="add")
        assert items_of(table) == {0: 5.0, -1: 5.0}
        es.parallel_for(es.RangePolicy(2, space=space), erase, table, own, gone)


def test_a_kernel_goes_through_the_slots(space):
    table = es.UnorderedMap.from_arrays(
        staged.view_on(space, np.array([5, 0, -1, 9])),
        staged.view_on(space, np.array([1.0, 2, 3, 4])),
    )

    def double(slot, table):
        if table.valid_at(slot) and table.key_at(slot) >= 0:
            table.slot_values[slot] = 2 * table.value_at(slot)

    staged.parallel_for(es.RangePolicy(table.slots, space=space), double, table)
    assert items_of(table) == {5: 2.0, 0: 4.0, -1: 3.0, 9: 8.0}


class Functor:
    """A kernel that has the map as an attribute."""

    def __init__(self, table):
        self.table = table

    def insert(self, i):
        self.table.insert(i % 10, i, "add")


def test_a_functor_has_it(space):
    n = fitting(space, 5000)
    functor = Functor(es.UnorderedMap(10, es.uint8, es.int64, space=space))
    es.parallel_for(es.RangePolicy(n, space=space), functor.insert)
    assert items_of(functor.table) == {k: sum(range(k, n, 10)) for k in range(10)}
    functor.table.rehash(2000)  # another size, another constant
    es.parallel_for(es.RangePolicy(n, space=space), functor.insert)
    assert items_of(functor.table) == {k: 2 * sum(range(k, n, 10)) for k in range(10)}


def in_teams(team, table, n):
    for k in es.TeamThreadRange(team, n):
        table.insert(team.league_rank * n // 2 + k, 1, "add")


def test_members_of_teams_insert(space):
    """Half of the keys of a team are those of the next one."""
    needs_teams(space)
    table = es.UnorderedMap(1000, es.int32, es.int32, space=space)
    es.parallel_for(es.TeamPolicy(20, "auto", space=space), in_teams, table, 50)
    expected = {k: 1 if k < 25 or k >= 500 else 2 for k in range(525)}
    assert items_of(table) == expected


def change(i, table, n):
    if i % 2:
        table.insert(n + i, i)
    else:
        table.erase(i % n)


def test_some_keys_come_while_others_go(space):
    n = fitting(space, 20_000)
    keys = staged.view_on(space, np.arange(n))
    table = es.UnorderedMap.from_arrays(keys, keys)
    table.rehash(2 * n)
    es.parallel_for(es.RangePolicy(n, space=space), change, table, n)
    expected = {i: i for i in range(1, n, 2)} | {n + i: i for i in range(1, n, 2)}
    assert items_of(table) == expected


def test_values_that_are_records(space):
    point = np.dtype([("x", "f4"), ("n", "i8")], align=True)
    records = np.zeros(20, point)
    records["x"], records["n"] = np.arange(20) / 2, np.arange(20)
    table = es.UnorderedMap(20, es.int64, point, space=space)
    keys = np.arange(20) * 3
    table.insert_many(staged.view_on(space, keys), staged.view_on(space, records))

    def add(i, table):
        slot = table.find(3 * i)
        table.slot_values[slot].n += i

    staged.parallel_for(es.RangePolicy(20, space=space), add, table)
    table.rehash(100)
    found, values = (staged.fetch(v) for v in table.items())
    order = np.argsort(found)
    assert (values["n"][order] == 2 * np.arange(20)).all()
    assert (values["x"][order] == np.arange(20) / 2).all()


def test_copies_keep_their_slots_on_other_spaces(space):
    keys = np.random.default_rng(6).integers(0, 10**9, 50)
    table = es.UnorderedMap.from_arrays(staged.view_on(space, keys), staged.view_on(space, keys))
    same, other = table.copy(), table.copy("oracle")
    again = other.copy(space)
    for made in (same, other, again):
        assert (made.slots, made.size()) == (table.slots, 50)
        assert staged.fetch(made.keys()).tolist() == staged.fetch(table.keys()).tolist()
        made.clear()
    assert items_of(table) == {k: k for k in keys.tolist()}
    assert other.space.name == "oracle"


def do(i, table, what, keys, values, told):
    for k in range(len(what)):
        if what[k] == 0:
            told[k] = table.insert(keys[k], values[k]).success
        elif what[k] == 1:
            told[k] = table.insert(keys[k], values[k], op="add").existing
        elif what[k] == 2:
            told[k] = table.erase(keys[k])
        else:
            slot = table.find(keys[k])
            told[k] = -1 if slot < 0 else table.value_at(slot)


@some
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 3), st.integers(-1, 12), st.integers(1, 9)),
        min_size=1,
        max_size=50,
    )
)
def test_a_sequence_of_steps_against_a_dict(space, steps):
    table, model, expected = es.UnorderedMap(80, es.int16, es.int64, space=space), {}, []
    for what, k, v in steps:
        if what == 0:
            expected.append(k not in model)
            model.setdefault(k, v)
        elif what == 1:
            expected.append(k in model)
            model[k] = model.get(k, 0) + v
        elif what == 2:
            expected.append(model.pop(k, None) is not None)
        else:
            expected.append(model.get(k, -1))
    views = [staged.view_on(space, list(x), dtype=np.int64) for x in zip(*steps, strict=True)]
    told = es.View(len(steps), es.int64, space=space)
    es.parallel_for(es.RangePolicy(1, space=space), do, table, *views, told)
    assert staged.fetch(told).tolist() == expected
    assert items_of(table) == model
    table.rehash()
    assert items_of(table) == model


def test_what_is_refused(space):
    made = es.UnorderedMap(5, es.int32, es.float32, space=space)
    for capacity in (0, -1, 1.5, None, True):
        with pytest.raises(es.ViewError, match="UnorderedMap: capacity is"):
            es.UnorderedMap(capacity, es.int32, space=space)
    for dtype in (es.complex64, es.float16, "S3", es.bool_, "nonsense"):
        with pytest.raises(es.DTypeError, match=r"key_dtype is .*; expected integers, float32 or"):
            es.UnorderedMap(5, dtype, space=space)
    with pytest.raises(es.DTypeError, match=r"value_dtype is .*; expected numbers or records"):
        es.UnorderedMap(5, es.int32, "S3", space=space)
    ints, floats = (staged.view_on(space, np.arange(3).astype(t)) for t in ("i4", "f4"))
    with pytest.raises(es.DTypeError, match="keys, View '', are of float32; the map has int32"):
        made.insert_many(floats, floats)
    with pytest.raises(es.DTypeError, match="keys, View '', are of float32; the map has int32"):
        made.find_many(floats)
    with pytest.raises(es.ViewError, match="values are missing; expected one for each key"):
        made.insert_many(ints)
    with pytest.raises(es.ViewError, match="there are 2 values for 3 keys"):
        made.insert_many(ints, floats[:2])
    with pytest.raises(es.ViewError, match="op is 'max'; expected 'noop' or 'add'"):
        made.insert_many(ints, floats, op="max")
    only = es.UnorderedMap(5, es.int32, space=space)
    with pytest.raises(es.ViewError, match="values are given; expected none of a set"):
        only.insert_many(ints, floats)
    with pytest.raises(es.ViewError, match="op is 'add'; a set has no values"):
        only.insert_many(ints, op="add")
    made.insert_many(ints, floats)
    with pytest.raises(es.ViewError, match="capacity is 2, but there are 3 keys"):
        made.rehash(2)
    with pytest.raises(es.ReadOnlyError, match="attribute 'key_dtype' is read-only"):
        made.key_dtype = es.int64


def test_what_kernels_cannot_do(space):
    keys = staged.view_on(space, np.arange(3))
    pairs, only = (es.UnorderedMap(5, es.int64, v, space=space) for v in (es.float32, None))
    policy = es.RangePolicy(3, space=space)
    with pytest.raises(es.KernelTypeError, match="insert has no op 'max'; expected"):
        es.parallel_for(policy, lambda i, m, k: no(m.insert(k[i], 1.0, "max")), pairs, keys)
    with pytest.raises(es.KernelTypeError, match="it is a set, and takes keys alone"):
        es.parallel_for(policy, lambda i, m, k: no(m.insert(k[i], 1.0)), only, keys)

    with pytest.raises(es.KernelTypeError, match="has values, and gets a key without one"):
        es.parallel_for(policy, lambda i, m, k: no(m.insert(k[i])), pairs, keys)
    with pytest.raises(es.KernelTypeError, match="it is a set, and has no values"):
        es.parallel_reduce(policy, lambda i, m: m.value_at(i), only)
    with pytest.raises(es.KernelTypeError, match=r"'size' of .*UnorderedMap is for the host"):
        es.parallel_reduce(policy, lambda i, m: m.size(), only)
    with pytest.raises(es.KernelTypeError, match="kernels use insert, find, exists"):
        es.parallel_reduce(policy, lambda i, m: m.contains(i), only)


@es.function
def no(result):
    return result.success


def test_words_of_eight_bytes_need_a_space_that_exchanges_them(space):
    if space.capabilities.atomic_bytes >= 8 or interpreted(space):
        assert es.UnorderedMap(3, es.float64, space=space).size() == 0
    else:
        with pytest.raises(es.SpaceError, match="atomic operations on 4 bytes at most"):
            es.UnorderedMap(3, es.float64, space=space)
