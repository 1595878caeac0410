"""What kernels do with a hash table: claim a slot for a key, find it, give it up.

Open addressing with linear probing. A key is claimed by one exchange of its word in an array of
words, so there is no lock and nobody waits. The word of an empty slot and that of an erased one are
keys, too; these two have a slot of their own behind the others, whose word says if they are there.
"""

# No `from __future__ import annotations`: of a class that derives from this one elsewhere, `static`
# is found as the object that it is, and not by its name in the other module.

from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.dataclass import dataclass
from ..base.readonly import ReadOnly
from ..contract.dtypes import int64, uint32, uint64
from ..kernels.atomics import atomic_add, atomic_compare_exchange, atomic_load, atomic_or
from ..kernels.refusals import holding, refuse
from ..views.view import View
from .keys import EMPTY, ERASED32, ERASED64, float_of, hash_of, word_of

if TYPE_CHECKING:
    from typing import Any as static  # fields and arguments are plain bools
else:
    from ..views.static import static


# What `failed` of a table says of insertions: bits.
NO_ROOM = 1
OUT_OF_RANGE = 2


class InsertResult(NamedTuple):
    """What `UnorderedMap.insert` tells a kernel.

    Attributes
    ----------
    index : int
        Slot of the key; -1 if there was no room for it.
    success : bool
        Whether this call inserted the key.
    existing : bool
        Whether the key was there already.
    failed : bool
        Whether there was no room, or keys of this map have no such value. The host sees it as well:
        `UnorderedMap.failed_insert`.
    """

    index: Any
    success: Any
    existing: Any
    failed: Any


@dataclass(eq=False)
class HashTable(ReadOnly):
    """The part of `UnorderedMap` that kernels see: its fields, and the methods that they call."""

    _fixed = frozenset(("key_dtype", "space", "value_dtype"))
    _instead = "rehash gives it another capacity; else make a new UnorderedMap"
    _for_kernels = (
        "insert", "find", "exists", "erase", "valid_at", "key_at", "value_at", "slot_values",
        "slots", "capacity",
    )  # fmt: skip

    _words: View
    slot_values: View | None
    _failed: View
    _mask: int
    _limit: int
    _key: type[Any]
    _value: Any
    _is_float: static
    _is_wide: static
    _is_reset_by_zero: static

    # -- for kernels ------------------------------------------------------------------------------

    def insert(self, key: Any, value: Any = None, op: Any = "noop") -> Any:
        """Insert a key, with its value if the map has values; for kernels.

        Parameters
        ----------
        key : number
            Of the type of the keys, or of one that becomes it without loss. An integer of a wider
            type is compared: one that keys cannot have is not inserted. Floats of a wider type, and
            floats where keys are integers, are refused when the kernel is compiled.
        value : optional
            Of a map with values; a set takes none.
        op : {"noop", "add"}
            What happens to the value of a key that is there: "noop" keeps it, "add" adds to it
            atomically. With "add" the value of a new key is added to zero.

        Returns
        -------
        InsertResult
            With `index`, `success`, `existing` and `failed`.
        """
        index, existing = self._entered(key)
        if self.slot_values is None:
            if value is not None or op != "noop":
                refuse(
                    "this UnorderedMap was made without value_dtype: it is a set, and takes keys "
                    "alone",
                    "write insert(key), or make a map of values: "
                    "es.UnorderedMap(capacity, key_dtype, value_dtype)",
                )
        elif value is None:
            refuse("this UnorderedMap has values, and gets a key without one",
                   "write insert(key, value), or make a set: es.UnorderedMap(capacity, key_dtype)",
            )  # fmt: skip
        elif op == "add":
            if index >= 0:
                atomic_add(self.slot_values, index, self._value(value))
        elif op == "noop":
            if index >= 0 and not existing:
                self.slot_values[index] = value
        else:
            refuse('insert has no op {}; expected "noop" or "add"',
                   "for other operations change slot_values[index] by an atomic function, where "
                   "index is what insert returned", op,
            )  # fmt: skip
        return InsertResult(index, index >= 0 and not existing, existing, index < 0)

    def _word(self, key: Any) -> Any:
        """What stands for a key in memory."""
        return word_of(self._key(key), self._is_float, self._is_wide)

    def _has(self, key: Any) -> Any:
        """Whether keys of this map can have a value; of types that never do it is refused."""
        if holding(self._key, key) == "none" or (
            self._is_float and holding(self._key, key) == "some"
        ):
            refuse(
                "keys of this UnorderedMap are of {}; a key of {} is not one of them",
                "convert it where it is one, es.{}(key), or make the map of another key_dtype",
                self._key, key, self._key,
            )  # fmt: skip
        if holding(self._key, key) == "some":
            return self._key(key) == key
        if holding(self._key, key) == "weak":
            own = self._key(key)
            return int64(own) == int64(key) and (own < 0) == (int64(key) < 0)
        return True

    def _entered(self, key: Any) -> Any:
        """Slot of a key, which is put there if need be, and whether it was there before."""
        if self._has(key):
            return self._claimed(self._word(key))
        atomic_or(self._failed, 0, OUT_OF_RANGE)
        return int64(-1), False

    def _claimed(self, word: Any) -> Any:
        """Slot of a word, which is put there if need be, and whether it was there before."""
        if self._is_own(word):
            own = self._own_slot(word)
            return own, atomic_compare_exchange(self._words, own, EMPTY, 1) != EMPTY
        slot = int64(hash_of(word, self._is_wide) & self._as_word(self._mask))
        for _ in range(self._limit):
            seen = atomic_load(self._words, slot)  # if it is empty no longer, the exchange says so
            if seen == EMPTY:
                seen = atomic_compare_exchange(self._words, slot, EMPTY, word)
                if seen == EMPTY:
                    return slot, False
            if seen == word:
                return slot, True
            slot = (slot + 1) & self._mask
        atomic_or(self._failed, 0, NO_ROOM)
        return int64(-1), False

    def find(self, key: Any) -> Any:
        """Slot of a key, -1 if it is not there; for kernels.

        Keys of other types are as those of `insert`; one that keys cannot have is not there.
        """
        if self._has(key):
            return self._found(self._word(key), False)
        return int64(-1)

    def _found(self, word: Any, changes: static) -> Any:
        """Slot of a word, -1 if it is not there.

        `changes` says that others may erase words meanwhile. Loads that count with that are slow on
        GPUs.
        """
        if self._is_own(word):
            own = self._own_slot(word)
            return own if self._seen(own, changes) != EMPTY else int64(-1)
        slot = int64(hash_of(word, self._is_wide) & self._as_word(self._mask))
        for _ in range(self._limit):
            seen = self._seen(slot, changes)
            if seen == word:
                return slot
            if seen == EMPTY:
                return int64(-1)
            slot = (slot + 1) & self._mask
        return int64(-1)

    def _seen(self, slot: Any, changes: static) -> Any:
        if changes:
            return atomic_load(self._words, slot)
        return self._words[slot]

    def exists(self, key: Any) -> Any:
        """Whether a key is there; for kernels."""
        return self.find(key) >= 0

    def erase(self, key: Any) -> Any:
        """Erase a key; for kernels.

        Returns
        -------
        bool
            Whether it was there: of several work items one gets True.
        """
        if not self._has(key):
            return False
        word = self._word(key)
        slot = self._found(word, True)
        if slot < 0:
            return False
        if slot <= self._mask:
            return atomic_compare_exchange(self._words, slot, word, self._erased()) == word
        if atomic_compare_exchange(self._words, slot, 1, EMPTY) != 1:
            return False
        if self._is_reset_by_zero:
            self.slot_values[slot] = 0  # type: ignore[index]
        return True

    def valid_at(self, slot: Any) -> Any:
        """Whether there is a key in a slot, from 0 to `slots` - 1; for kernels."""
        word = self._words[slot]
        return word != EMPTY and (slot > self._mask or word != self._erased())

    def key_at(self, slot: Any) -> Any:
        """The key of a slot for which `valid_at` holds; for kernels."""
        word = self._words[slot]
        if slot > self._mask:
            word = self._as_word(EMPTY) if slot == self._mask + 1 else self._erased()
        if self._is_float:
            return float_of(word, self._is_wide)
        return self._key(word)

    def value_at(self, slot: Any) -> Any:
        """The value of a slot for which `valid_at` holds; for kernels. Records are read and
        changed as ``slot_values[slot]``."""
        if self.slot_values is None:
            refuse(
                "this UnorderedMap was made without value_dtype: it is a set, and has no values",
                "key_at(slot) gives keys",
            )
        else:
            return self.slot_values[slot]

    def _as_word(self, number: Any) -> Any:
        if self._is_wide:
            return uint64(number)
        return uint32(number)

    def _erased(self) -> Any:
        if self._is_wide:
            return uint64(ERASED64)
        return uint32(ERASED32)

    def _is_own(self, word: Any) -> Any:
        """Whether a word is one of the two that mean something in a slot."""
        return word == EMPTY or word == self._erased()

    def _own_slot(self, word: Any) -> Any:
        return int64(self._mask + (1 if word == EMPTY else 2))

    @property
    def slots(self) -> Any:
        """Number of slots, those that are empty included; in kernels, too."""
        return self._mask + 3
