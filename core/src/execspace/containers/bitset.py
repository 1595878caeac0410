"""Bitset: many bits that kernels set and reset at the same time, and ConstBitset, which they read.

Bits lie in words of 32, which every space changes atomically. Bits of the last word beyond the size
are always 0.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..base.dataclass import dataclass
from ..base.errors import ViewError, ViewTypeError
from ..base.readonly import ReadOnly
from ..contract.dtypes import bool_, uint32
from ..contract.space import ExecutionSpace
from ..kernels.atomics import atomic_fetch_and, atomic_fetch_or, atomic_fetch_xor, atomic_load
from ..kernels.refusals import check_integer, refuse
from ..launch.parallel import parallel_for
from ..launch.parallel_reduce import parallel_reduce
from ..policies.range import RangePolicy
from ..views.view import View
from .arguments import chosen_space, copy_across, given_view, space_of, whole

__all__ = [
    "Bitset",
    "ConstBitset",
]

_ALL = 0xFFFFFFFF


@dataclass(eq=False)
class ConstBitset(ReadOnly):
    """Bits that are read only: what `Bitset.readonly` gives.

    It is a dataclass of a View and a number, so launches take it as an argument and kernels call
    the methods that say "for kernels"; a kernel may capture it as well. It shares the memory of the
    `Bitset` that it is made of, and sees what is changed there.

    Attributes
    ----------
    size : int
        Number of bits.
    space : ExecutionSpace
        Where the methods for the host launch; not in kernels.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/containers/Bitset.html

    Examples
    --------
    >>> import execspace as es
    >>> bits = es.Bitset(40, space="serial")
    >>> bits.set_all()
    >>> bits.readonly().count()
    40
    """

    _words: View
    size: int

    _fixed = frozenset(("_words", "size", "space"))
    _instead = "Make a new Bitset"
    _for_kernels: ClassVar[tuple[str, ...]] = (
        "test", "find_any_set_near", "find_any_unset_near", "size", "max_hint", "is_allocated",
    )  # fmt: skip

    def __init__(self, bits: ConstBitset) -> None:
        if not isinstance(bits, ConstBitset):
            raise ViewTypeError(
                f"ConstBitset: expected a Bitset, got {type(bits).__name__!r}; make one with "
                f"es.Bitset(size) or es.Bitset.from_bools(view)."
            )
        self._hold(bits._words.readonly(), bits.size, bits.space)

    def _hold(self, words: View, size: int, space: ExecutionSpace) -> None:
        self._words = words
        self.size = size
        self.space = space

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.size} bits on space '{self.space.name}'>"

    # -- for kernels ------------------------------------------------------------------------------

    def test(self, i: Any) -> Any:
        """Whether bit `i` is set; for kernels. False beyond the size."""
        check_integer("i", i)
        if 0 <= i < self.size:
            return (self._words[i // 32] >> uint32(i % 32)) & uint32(1) != 0
        return False

    @property
    def max_hint(self) -> Any:
        """After how many hints `find_any_set_near` and its sibling have seen all bits."""
        return (self.size + 31) // 32

    def find_any_set_near(self, hint: Any, direction: Any = "forward") -> Any:
        """A bit that is set among those near a hint; for kernels.

        Parameters
        ----------
        hint : int
            A bit near which to search, or the index that the last search returned. One beyond the
            size counts as 0.
        direction : {"forward", "backward"}
            Whether the search goes up from the hint, and on to the next word, or down from it, and
            on to the word before.

        Returns
        -------
        found : bool
        index : int
            Of the bit. If none was found, the hint of the next search: `max_hint` searches in a
            row see all bits.

        Notes
        -----
        A search looks at the 32 bits of one word, from the hint on and around: forward at the hint,
        those above it and then those below, backward at the hint, those below it and then those
        above. Another work item may have changed the bit by the time that the caller looks at the
        result.
        """
        return self._found_near(hint, uint32(0), direction)

    def find_any_unset_near(self, hint: Any, direction: Any = "forward") -> Any:
        """A bit that is not set, otherwise as `find_any_set_near`; for kernels."""
        return self._found_near(hint, uint32(_ALL), direction)

    def _found_near(self, hint: Any, flipped: Any, direction: Any) -> Any:
        """As above, in the word of the hint with the bits of `flipped` inverted."""
        check_integer("hint", hint)
        near = int(hint)
        if near < 0 or near >= self.size:
            near = 0
        block = near // 32
        offset = near % 32
        blocks = (self.size + 31) // 32
        if blocks == 0:
            return False, 0
        word = (atomic_load(self._words, block) ^ flipped) & self._mask(block)
        if direction == "forward":
            if word == 0:
                return False, (block + 1) % blocks * 32
            turned = (word >> uint32(offset)) | (word << uint32((32 - offset) % 32))
            lowest = turned & (~turned + uint32(1))
            place = int(np.bitwise_count(lowest - uint32(1))) + offset
        elif direction == "backward":
            if word == 0:
                return False, min((block + blocks - 1) % blocks * 32 + 31, self.size - 1)
            turned = (word << uint32(31 - offset)) | (word >> uint32((offset + 1) % 32))
            place = int(turned).bit_length() + offset
        else:
            refuse('direction is {}; expected "forward" or "backward"',
                   'write find_any_set_near(hint, "backward"), or drop it for "forward"', direction,
            )  # fmt: skip
        return True, block * 32 + place % 32

    def _mask(self, block: Any) -> Any:
        """The bits of a word that lie within the size."""
        if block < self.size // 32:
            return uint32(_ALL)
        return (uint32(1) << uint32(self.size % 32)) - uint32(1)

    # -- on the host ------------------------------------------------------------------------------

    @property
    def is_allocated(self) -> bool:
        """Whether there are any bits."""
        return self.size > 0

    def count(self) -> int:
        """Number of bits that are set. Blocks."""
        policy = RangePolicy(self._words.size, space=self.space)
        return int(parallel_reduce(policy, _count, self._words, label="Bitset.count"))

    def to_bools(self) -> View:
        """A new View of bool with an element for each bit; in order with launches on the space."""
        out = View(self.size, bool_, label="Bitset", space=self.space)
        policy = RangePolicy(self.size, space=self.space)
        parallel_for(policy, _spread, self._words, out, label="Bitset.to_bools")
        return out

    def copy(self) -> Bitset:
        """A new Bitset of the same bits; in order with launches on the space."""
        made = Bitset(self.size, space=self.space)
        made.copy_from(self)
        return made

    def __and__(self, other: ConstBitset) -> Bitset:
        made = self.copy()
        made &= other
        return made

    def __or__(self, other: ConstBitset) -> Bitset:
        made = self.copy()
        made |= other
        return made

    def __xor__(self, other: ConstBitset) -> Bitset:
        made = self.copy()
        made ^= other
        return made

    def __invert__(self) -> Bitset:
        made = self.copy()
        made.flip_all()
        return made


class Bitset(ConstBitset):
    """A number of bits that kernels change atomically.

    It is a dataclass of a View and a number: pass it to a launch, or capture it, and call in the
    kernel `set`, `reset`, `flip` and `test` with an index, `find_any_set_near` and
    `find_any_unset_near`. On the host `set_all`, `reset_all` and `flip_all` change all bits;
    ``a & b``, ``a | b``, ``a ^ b`` and ``~a`` are new Bitsets, and ``a &= b`` changes `a`.

    Parameters
    ----------
    size : int
        Number of bits, all 0 at first.
    space : str or ExecutionSpace, optional
        In whose memory they are, and where the methods for the host run; the default space if not
        given.

    Attributes
    ----------
    size : int
    space : ExecutionSpace

    Raises
    ------
    ViewError
        If `size` is no integer of 0 or more.
    SpaceError
        If there is no such space.

    Notes
    -----
    In kernels an index below 0 or beyond the size changes nothing, and False is returned.

    Only `count` blocks; what else the host calls is in order with launches on the space.

    Kokkos: https://kokkos.org/kokkos-core-wiki/API/containers/Bitset.html. There `set` and `reset`
    without an index are what is called `set_all` and `reset_all` here.

    Examples
    --------
    >>> import execspace as es
    >>> seen = es.Bitset(100, space="serial")
    >>> @es.kernel
    ... def mark(i, seen):
    ...     return seen.set(i * i % 100)  # whether this index was the first
    >>> es.parallel_reduce(es.RangePolicy(1000, space="serial"), mark, seen)
    22
    >>> seen.count(), (~seen).count()
    (22, 78)
    """

    _for_kernels = ("set", "reset", "flip", *ConstBitset._for_kernels)

    def __init__(self, size: int, *, space: str | ExecutionSpace | None = None) -> None:
        number = whole("Bitset", "size", size)
        chosen = chosen_space(space)
        words = View((number + 31) // 32, uint32, label="Bitset", space=chosen)
        self._hold(words, number, chosen)

    @classmethod
    def from_bools(cls, bools: View | Any, *, space: str | ExecutionSpace | None = None) -> Bitset:
        """A new Bitset with a bit for each element of a View or array of bool.

        Parameters
        ----------
        bools : View or array of bool, rank 1
        space : str or ExecutionSpace, optional
            Which reaches the View; where a launch on it would run if not given.

        Raises
        ------
        ViewError, ViewTypeError
            If it is no View of bool of rank 1.
        """
        view = given_view("Bitset.from_bools", "bools", bools)
        if view.dtype != bool_:
            raise ViewError(
                f"Bitset.from_bools: View '{view.label}' is of {view.dtype.name}; expected bool. "
                f"Compare its elements in a kernel, or give NumPy's array != 0."
            )
        made = cls(view.size, space=space_of(space, view))
        policy = RangePolicy(made._words.size, space=made.space)
        parallel_for(policy, _gather, made._words, view, label="Bitset.from_bools")
        return made

    def readonly(self) -> ConstBitset:
        """The same bits, of which kernels and the host change none."""
        return ConstBitset(self)

    # -- for kernels ------------------------------------------------------------------------------

    def test(self, i: Any) -> Any:
        """Whether bit `i` is set, which others may change; for kernels. False beyond the size."""
        check_integer("i", i)
        if 0 <= i < self.size:
            word = atomic_load(self._words, i // 32)
            return (word >> uint32(i % 32)) & uint32(1) != 0
        return False

    def set(self, i: Any) -> Any:
        """Set bit `i`; for kernels.

        Returns
        -------
        bool
            Whether the bit was not set before: of several work items one gets True.
        """
        check_integer("i", i)
        if 0 <= i < self.size:
            bit = uint32(1) << uint32(i % 32)
            return atomic_fetch_or(self._words, i // 32, bit) & bit == 0
        return False

    def reset(self, i: Any) -> Any:
        """Reset bit `i`; for kernels.

        Returns
        -------
        bool
            Whether the bit was set before: of several work items one gets True.
        """
        check_integer("i", i)
        if 0 <= i < self.size:
            bit = uint32(1) << uint32(i % 32)
            return atomic_fetch_and(self._words, i // 32, ~bit) & bit != 0
        return False

    def flip(self, i: Any) -> Any:
        """Invert bit `i`; for kernels.

        Returns
        -------
        bool
            Whether the bit is set now.
        """
        check_integer("i", i)
        if 0 <= i < self.size:
            bit = uint32(1) << uint32(i % 32)
            return atomic_fetch_xor(self._words, i // 32, bit) & bit == 0
        return False

    # -- on the host ------------------------------------------------------------------------------

    def set_all(self) -> None:
        """Set all bits; in order with launches on the space."""
        self._all("set_all", _set_all)

    def reset_all(self) -> None:
        """Reset all bits; in order with launches on the space."""
        self._all("reset_all", _reset_all)

    def flip_all(self) -> None:
        """Invert all bits; in order with launches on the space."""
        self._all("flip_all", _flip_all)

    def copy_from(self, other: ConstBitset) -> None:
        """Take over the bits of another Bitset of the same size, of whatever space.

        In order with launches on the space if `other` is of the same one; else it blocks, and goes
        through memory of the host.
        """
        self._check_like(other, "copy_from")
        same = other.space is self.space
        copy_across(self._words, other._words, self.space, same)

    def __iand__(self, other: ConstBitset) -> Bitset:
        return self._joined(other, "&=", _and)

    def __ior__(self, other: ConstBitset) -> Bitset:
        return self._joined(other, "|=", _or)

    def __ixor__(self, other: ConstBitset) -> Bitset:
        return self._joined(other, "^=", _xor)

    def _all(self, name: str, kernel: Any) -> None:
        policy = RangePolicy(self._words.size, space=self.space)
        parallel_for(policy, kernel, self, label=f"Bitset.{name}")

    def _joined(self, other: ConstBitset, sign: str, kernel: Any) -> Bitset:
        self._check_like(other, sign)
        policy = RangePolicy(self._words.size, space=self.space)
        parallel_for(policy, kernel, self._words, other._words, label="Bitset")
        return self

    def _check_like(self, other: ConstBitset, what: str) -> None:
        if not isinstance(other, ConstBitset):
            raise ViewTypeError(
                f"Bitset: {what} takes a Bitset, got {type(other).__name__!r}; make one with "
                f"es.Bitset.from_bools(view)."
            )
        if other.size != self.size:
            raise ViewError(
                f"Bitset: {what} of {self.size} bits takes as many, got a Bitset of {other.size}."
            )


def _count(b: int, words: Any) -> Any:
    return int(np.bitwise_count(words[b]))


def _spread(i: int, words: Any, out: Any) -> None:
    out[i] = (words[i // 32] >> uint32(i % 32)) & uint32(1) != 0


def _gather(b: int, words: Any, bools: Any) -> None:
    word = uint32(0)
    for k in range(min(32, bools.extent(0) - 32 * b)):
        if bools[32 * b + k]:
            word |= uint32(1) << uint32(k)
    words[b] = word


def _set_all(b: int, bits: Any) -> None:
    bits._words[b] = bits._mask(b)


def _reset_all(b: int, bits: Any) -> None:
    bits._words[b] = uint32(0)


def _flip_all(b: int, bits: Any) -> None:
    bits._words[b] ^= bits._mask(b)


def _and(b: int, mine: Any, other: Any) -> None:
    mine[b] &= other[b]


def _or(b: int, mine: Any, other: Any) -> None:
    mine[b] |= other[b]


def _xor(b: int, mine: Any, other: Any) -> None:
    mine[b] ^= other[b]
