"""UnorderedMap: a hash table into which many work items insert at the same time.

What kernels do with it is in `hash_table.py`; this is what the host does.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ..base.brief import brief
from ..base.errors import DTypeError, ViewError
from ..contract.dtypes import bool_, int32, int64, uint32, uint64
from ..contract.space import ExecutionSpace
from ..kernels.refusals import holding_of
from ..launch.parallel import parallel_for
from ..launch.parallel_reduce import parallel_reduce, parallel_scan
from ..policies.range import RangePolicy
from ..views.deep_copy import NUMBERS, deep_copy
from ..views.view import View
from . import hash_kernels as kernels
from .arguments import (
    check_atomics,
    chosen_space,
    copy_across,
    element_type,
    given_view,
    space_of,
    whole,
)
from .hash_table import NO_ROOM, OUT_OF_RANGE, HashTable

__all__ = [
    "UnorderedMap",
]

_OPS = ("noop", "add")
_MOST = 2**40


class UnorderedMap(HashTable):
    """Keys with values, or keys alone, that kernels insert, find and erase at the same time.

    It is a dataclass of Views and numbers: pass it to a launch, and call in the kernel `insert`,
    `find`, `exists`, `erase`, `valid_at`, `key_at` and `value_at`. A kernel may capture it as well,
    and is compiled anew when `rehash` has given it another size.

    Parameters
    ----------
    capacity : int
        How many keys it must have room for.
    key_dtype : dtype-like
        Integers, float32 or float64. Of floats 0.0 and -0.0 are one key, and so are all NaNs.
    value_dtype : dtype-like, optional
        Any type of elements that are numbers, or records. None: keys without values, a set.
    space : str or ExecutionSpace, optional
        In whose memory it is, and where the methods for the host run; the default space if not
        given.

    Attributes
    ----------
    slot_values : View or None
        Values by slot. A kernel may change ``slot_values[index]``, also atomically, where `index`
        is what `find` or `insert` gave.
    slots : int
        Slots are numbered from 0 to `slots` - 1. A kernel that goes through the map has these for
        indices, and asks `valid_at`.
    capacity : int
        For how many keys there is room; at least as many as were asked for.
    key_dtype, value_dtype : dtype
    space : ExecutionSpace

    Raises
    ------
    ViewError
        If `capacity` is no integer greater than zero.
    DTypeError
        If keys or values cannot be of this type.
    SpaceError
        If there is no such space, or it has no atomic operations on numbers of this size.

    Notes
    -----
    Two thirds of the slots may be taken; their number is a power of two. More keys than `capacity`
    may find room as well, but the search for each takes longer. An insertion looks at ``64 *
    log2(slots)`` slots at most, then it fails. Keys that were chosen to share a hash could make it
    fail earlier; for others that is as good as impossible.

    In one launch, `insert` of the same key by several work items leaves one of them, with the value
    of one. Whether `find` sees what other work items of the same launch insert or erase is open,
    and the value of a key that it sees may not be there yet. A key must not be both inserted and
    erased in one launch; different keys may.

    An erased key leaves a slot that no other key takes before `rehash` or `clear`.

    Kokkos: https://kokkos.org/kokkos-core-wiki/API/containers/Unordered-Map.html. There the
    capacity is the number of slots, and `begin_erase` and `end_erase` stand around erasures.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> words = es.array(np.array([7, 3, 7, 7, -1, 3]), space="serial")
    >>> counts = es.UnorderedMap(10, es.int64, es.int32, space="serial")
    >>> @es.kernel
    ... def count(i, words, counts):
    ...     counts.insert(words[i], 1, "add")
    >>> es.parallel_for(es.RangePolicy(6, space="serial"), count, words, counts)
    >>> keys, values = counts.items()
    >>> sorted(zip(keys.to_numpy().tolist(), values.to_numpy().tolist()))
    [(-1, 1), (3, 2), (7, 3)]
    """

    def __init__(
        self,
        capacity: int,
        key_dtype: npt.DTypeLike,
        value_dtype: npt.DTypeLike | None = None,
        *,
        space: str | ExecutionSpace | None = None,
    ) -> None:
        number = whole("UnorderedMap", "capacity", capacity, 1, _MOST)
        key = element_type(
            "UnorderedMap", "key_dtype", key_dtype, "iuf", "integers, float32 or float64"
        )
        if key.kind == "f" and key.itemsize not in (4, 8):
            raise DTypeError(
                f"UnorderedMap: key_dtype is {key.name}; expected integers, float32 or float64. "
                f"Take es.float32, which holds each {key.name}."
            )
        chosen = chosen_space(space)
        check_atomics("UnorderedMap", "key_dtype", key, chosen)
        value = None
        if value_dtype is not None:
            value = element_type(
                "UnorderedMap", "value_dtype", value_dtype, "biufcV", "numbers or records"
            )
        self.key_dtype, self.value_dtype, self.space = key, value, chosen
        self._key, self._value = key.type, None if value is None else value.type
        self._is_float = key.kind == "f"
        self._is_wide = key.itemsize == 8
        self._is_reset_by_zero = value is not None and value.kind != "V"
        self._failed = View(1, int32, label="UnorderedMap.failed", space=chosen)
        self._make(number)

    def _make(self, capacity: int) -> None:
        """Slots for so many keys, all of them empty."""
        slots = 8
        while slots * 2 // 3 < capacity:
            slots *= 2
        word = uint64 if self._is_wide else uint32
        self._words = View(slots + 2, word, label="UnorderedMap.keys", space=self.space)
        self.slot_values = None
        if self.value_dtype is not None:
            self.slot_values = View(
                slots + 2, self.value_dtype, label="UnorderedMap.values", space=self.space
            )
        self._mask = slots - 1
        self._limit = min(slots, 64 * (slots.bit_length() - 1))

    def __repr__(self) -> str:
        values = "" if self.value_dtype is None else f" -> {self.value_dtype}"
        return (
            f"<UnorderedMap {self.key_dtype}{values} for {self.capacity} keys on space "
            f"'{self.space.name}'>"
        )

    # -- on the host ------------------------------------------------------------------------------

    @property
    def capacity(self) -> int:
        """For how many keys there is room."""
        return (self._mask + 1) * 2 // 3

    @classmethod
    def from_arrays(
        cls,
        keys: View | Any,
        values: View | Any | None = None,
        *,
        op: str = "noop",
        space: str | ExecutionSpace | None = None,
    ) -> UnorderedMap:
        """A new map of Views or arrays of keys and values, whose types it takes. Blocks.

        With `op` "noop" the value of a key that stands there twice is one of the two.
        """
        view = given_view("UnorderedMap.from_arrays", "keys", keys)
        given = [view]
        if values is not None:
            given.append(given_view("UnorderedMap.from_arrays", "values", values))
        dtypes = [v.dtype for v in given]
        made = cls(max(view.size, 1), *dtypes, space=space_of(space, *given))
        made.insert_many(*given, op=op)
        return made

    def size(self) -> int:
        """Number of keys. Goes through all slots, and blocks."""
        policy = RangePolicy(self.slots, space=self.space)
        return int(parallel_reduce(policy, kernels.is_valid, self, label="UnorderedMap.size"))

    def failed_insert(self) -> bool:
        """Whether an insertion has found no room since `rehash` or `clear`. Blocks.

        Raises
        ------
        ViewError
            If a kernel has inserted an integer that is out of the range of the keys, for which no
            capacity makes room.
        """
        told = int(self._failed.to_numpy()[0])
        if told & OUT_OF_RANGE:
            raise ViewError(
                f"UnorderedMap.failed_insert: a kernel inserted an integer that keys of "
                f"{self.key_dtype} cannot be; expected {_range_of(self.key_dtype)}. Make the map "
                f"of a wider key_dtype, or have the kernel test keys; clear() forgets this."
            )
        return bool(told & NO_ROOM)

    def clear(self) -> None:
        """Erase all keys, and make their slots free; in order with launches on the space."""
        for view in (self._words, self._failed):
            deep_copy(view, 0, instance=self.space)
        if self._is_reset_by_zero:
            deep_copy(self.slot_values, 0, instance=self.space)

    def rehash(self, capacity: int | None = None) -> None:
        """Give it room for another number of keys, and make the slots of erased ones free. Blocks.

        Parameters
        ----------
        capacity : int, optional
            At least `size()`. The present one if not given.

        Raises
        ------
        ViewError
            If there are more keys than that, or it is no integer.

        Notes
        -----
        Keys get other slots, and what `slot_values` was before is of the old map.
        """
        number = self.capacity if capacity is None else capacity
        number = whole("UnorderedMap.rehash", "capacity", number, 1, _MOST)
        keys = self.size()
        if number < keys and capacity is not None:
            raise ViewError(
                f"UnorderedMap.rehash: capacity is {number}, but there are {keys} keys; expected "
                f"no less. Erase keys first."
            )
        old = UnorderedMap.__new__(UnorderedMap)
        old.__dict__.update(self.__dict__)
        self._move(old, max(number, keys))
        while self.failed_insert():
            number *= 2
            self._move(old, number)

    def _move(self, old: UnorderedMap, capacity: int) -> None:
        """Have the keys of another map in slots for so many."""
        self._make(capacity)
        deep_copy(self._failed, 0, instance=self.space)
        policy = RangePolicy(old.slots, space=self.space)
        parallel_for(policy, kernels.move, old, self, label="UnorderedMap.rehash")

    def copy(self, space: str | ExecutionSpace | None = None) -> UnorderedMap:
        """A new map with the same keys in the same slots, also in the memory of another space.

        Blocks if it is another one, and goes through memory of the host; else it is in order with
        launches on the space.
        """
        chosen = self.space if space is None else chosen_space(space)
        made = UnorderedMap(self.capacity, self.key_dtype, self.value_dtype, space=chosen)
        pairs = [(made._words, self._words), (made._failed, self._failed)]
        if made.slot_values is not None:
            pairs.append((made.slot_values, self.slot_values))  # type: ignore[arg-type]
        for target, source in pairs:
            copy_across(target, source, chosen, chosen is self.space)
        return made

    def keys(self) -> View:
        """A new View of all keys, in the order of their slots. Blocks."""
        return self._gathered(None)[0]

    def values(self) -> View:
        """A new View of all values, in the order of their slots. Blocks.

        Raises
        ------
        ViewError
            If it is a set.
        """
        return self._gathered(self._type_of_values("values"))[1]

    def items(self) -> tuple[View, View]:
        """New Views of all keys and of their values. Blocks.

        Raises
        ------
        ViewError
            If it is a set.
        """
        keys, values = self._gathered(self._type_of_values("items"))
        return keys, values

    def _gathered(self, values: np.dtype[Any] | None) -> list[View]:
        size = self.size()
        out = [View(size, self.key_dtype, label="UnorderedMap.keys", space=self.space)]
        policy = RangePolicy(self.slots, space=self.space)
        kernel: Any = kernels.gather_keys
        if values is not None:
            out.append(View(size, values, label="UnorderedMap.values", space=self.space))
            kernel = kernels.gather
        parallel_scan(policy, kernel, self, *out, label="UnorderedMap.items")
        return out

    def insert_many(
        self, keys: View | Any, values: View | Any | None = None, *, op: str = "noop"
    ) -> None:
        """Insert all elements of a View or array; the map grows where there is no room. Blocks.

        Parameters
        ----------
        keys : View or array, rank 1
        values : View or array, rank 1
            Of a map with values, as many as keys.
        op : {"noop", "add"}
            As for `insert`.

        Raises
        ------
        ViewError
            If a rank or an extent does not fit, values are missing or one too many, there is no
            such op, a key is out of the range of the map's, or an insertion of a kernel has failed
            before. Nothing is inserted then.
        DTypeError
            If keys would lose digits, as floats in a map of integers, or values their kind.
        """
        what = "UnorderedMap.insert_many"
        if not isinstance(op, str) or op not in _OPS:
            raise ViewError(f"{what}: op is {brief(op)}; expected 'noop' or 'add'.")
        views = [self._keys_given(what, keys)]
        if (values is None) != (self.value_dtype is None):
            raise ViewError(
                f"{what}: values are {'missing' if values is None else 'given'}; expected "
                f"{'none of a set' if self.value_dtype is None else 'one for each key'}."
            )
        if values is not None:
            views.append(given_view(what, "values", values))
            self._check_kind(what, "values", views[1], self.value_dtype)
            if views[1].size != views[0].size:
                raise ViewError(
                    f"{what}: there are {views[1].size} values for {views[0].size} keys; expected "
                    f"as many."
                )
        elif op == "add":
            raise ViewError(f"{what}: op is 'add'; a set has no values, so expected 'noop'.")
        policy = RangePolicy(views[0].size, space=self.space)
        by_op = {"noop": kernels.insert, "add": kernels.insert_and_add}
        kernel: Any = kernels.insert_key if values is None else by_op[op]
        foreign = self._number_of_foreign(what, views[0])
        if foreign:
            raise ViewError(
                f"{what}: keys, View '{views[0].label}' of {views[0].dtype}, has {foreign} "
                f"elements that keys of {self.key_dtype} cannot be; expected "
                f"{_range_of(self.key_dtype)}. Make the map of a wider key_dtype."
            )
        if self.failed_insert():
            raise ViewError(
                f"{what}: an insertion of a kernel has failed before, of which no trace would be "
                f"left; expected a map of which failed_insert() is False. Call "
                f"rehash(capacity), and have the kernel insert again."
            )
        done = View(views[0].size if op == "add" else 0, bool_, label=what, space=self.space)
        if op == "add":
            views.append(done)
        parallel_for(policy, kernel, self, *views, label=what)
        while self.failed_insert():
            self.rehash(2 * self.capacity)
            parallel_for(policy, kernel, self, *views, label=what)

    def find_many(self, keys: View | Any) -> View:
        """A new View of int64: the slot of each key of a View or array, -1 for those not there.

        In order with launches on the space.
        """
        view = self._keys_given("UnorderedMap.find_many", keys)
        out = View(view.size, int64, label="UnorderedMap.find_many", space=self.space)
        policy = RangePolicy(view.size, space=self.space)
        parallel_for(policy, kernels.find, self, view, out, label="UnorderedMap.find_many")
        return out

    def get_many(self, keys: View | Any, default: Any = 0) -> View:
        """A new View of values: that of each key of a View or array, `default` for those not there.

        In order with launches on the space.

        Raises
        ------
        ViewError
            If it is a set, or its values are records; `find_many` gives slots. If `default` is no
            number that values can be.
        """
        dtype = self._type_of_values("get_many")
        if dtype.kind == "V":
            raise ViewError(
                "UnorderedMap.get_many: the values are records; expected numbers. Take the slots "
                "of find_many, and slot_values in a kernel."
            )
        if not isinstance(default, NUMBERS):
            raise ViewError(
                f"UnorderedMap.get_many: default is {brief(default)}; expected a number."
            )
        view = self._keys_given("UnorderedMap.get_many", keys)
        out = View(view.size, dtype, label="UnorderedMap.get_many", space=self.space)
        deep_copy(out, default, instance=self.space)
        policy = RangePolicy(view.size, space=self.space)
        parallel_for(policy, kernels.get, self, view, out, label="UnorderedMap.get_many")
        return out

    def _keys_given(self, what: str, keys: Any) -> View:
        view = given_view(what, "keys", keys)
        held = holding_of(self.key_dtype, np.dtype(view.dtype))
        if held == "none" or (held == "some" and self._is_float):
            self._refuse_type(what, "keys", view, self.key_dtype)
        return view

    def _number_of_foreign(self, what: str, keys: View) -> int:
        """How many keys are out of the range of the map's."""
        if holding_of(self.key_dtype, np.dtype(keys.dtype)) == "all":
            return 0
        policy = RangePolicy(keys.size, space=self.space)
        return int(parallel_reduce(policy, kernels.is_foreign, self, keys, label=what))

    def _check_kind(self, what: str, name: str, view: View, own: np.dtype[Any] | None) -> None:
        if not np.can_cast(np.dtype(view.dtype), np.dtype(own), "same_kind"):
            self._refuse_type(what, name, view, own)

    def _refuse_type(self, what: str, name: str, view: View, own: np.dtype[Any] | None) -> NoReturn:
        raise DTypeError(
            f"{what}: {name}, View '{view.label}', are of {view.dtype}; the map has {own}. "
            f"Convert them first: es.array(A, ...)."
        )

    def _type_of_values(self, what: str) -> np.dtype[Any]:
        if self.value_dtype is None:
            raise ViewError(
                f"UnorderedMap.{what}: this is a set, made without value_dtype, and has no values; "
                f"keys() gives its keys."
            )
        return self.value_dtype


def _range_of(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "f":
        return f"one that {dtype} has exactly"
    limits = np.iinfo(dtype)
    return f"{limits.min} to {limits.max}"
