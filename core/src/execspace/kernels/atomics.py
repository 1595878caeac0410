"""Atomic operations on elements of Views, for kernels; on the host they are plain Python.

Each changes one element as a single step that no other thread can come between. "fetch" before
the name of the operation asks for the value before the step, after it for the value that the
step stored. On the host the functions below do the same to a View or an array, but one thread
only may do so.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from ..base.errors import DTypeError, ViewTypeError, shown
from ..base.storage_types import format_of
from ..views.view import View
from .atomic_records import check_record, record_step, same_bits

__all__ = [
    "atomic_add",
    "atomic_add_fetch",
    "atomic_and",
    "atomic_and_fetch",
    "atomic_compare_exchange",
    "atomic_dec",
    "atomic_dec_fetch",
    "atomic_div",
    "atomic_div_fetch",
    "atomic_exchange",
    "atomic_fetch_add",
    "atomic_fetch_and",
    "atomic_fetch_dec",
    "atomic_fetch_div",
    "atomic_fetch_inc",
    "atomic_fetch_lshift",
    "atomic_fetch_max",
    "atomic_fetch_min",
    "atomic_fetch_mod",
    "atomic_fetch_mul",
    "atomic_fetch_nand",
    "atomic_fetch_or",
    "atomic_fetch_rshift",
    "atomic_fetch_sub",
    "atomic_fetch_xor",
    "atomic_inc",
    "atomic_inc_fetch",
    "atomic_load",
    "atomic_lshift",
    "atomic_lshift_fetch",
    "atomic_max",
    "atomic_max_fetch",
    "atomic_min",
    "atomic_min_fetch",
    "atomic_mod",
    "atomic_mod_fetch",
    "atomic_mul",
    "atomic_mul_fetch",
    "atomic_nand",
    "atomic_nand_fetch",
    "atomic_or",
    "atomic_or_fetch",
    "atomic_rshift",
    "atomic_rshift_fetch",
    "atomic_store",
    "atomic_sub",
    "atomic_sub_fetch",
    "atomic_xor",
    "atomic_xor_fetch",
]

# All functions take a View of numbers or bools that may be written (`atomic_load`: any), or an
# array; an index, which is an integer or a tuple with one for each dimension; and values that do
# not widen the element. A fault of these is a KernelTypeError in kernels and a DTypeError on the
# host. None of them blocks.
# Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/atomics.html
Elements: TypeAlias = View | npt.NDArray[Any]
Index: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...]


def _step(
    view: Any, index: Any, operation: Callable[[Any, Any], Any], value: Any
) -> tuple[Any, Any]:
    """Change an element; its value before and after, both of the element's type."""
    old, kind = element_of(view, index)
    if isinstance(old, np.void):
        return record_step(view, index, operation, value)
    _check_exists(view, operation, np.dtype(kind))
    with np.errstate(all="ignore"):
        new = kind(operation(kind(old), stored_in(view, kind, value)))
    view[index] = new
    return old, new


def element_of(view: Any, index: Any) -> tuple[Any, Any]:
    """An element, and its type."""
    if not hasattr(view, "dtype"):
        raise ViewTypeError(
            f"an atomic operation on an object of type {type(view).__name__!r}; expected a View or "
            f"an array, then an index."
        )
    if isinstance(view.dtype, np.dtype) and format_of(view.dtype) is not None:
        raise DTypeError(
            f"there are no atomic operations on elements of {_described(view, view.dtype)}, which "
            f"only store numbers; expected a type that kernels compute in, such as float32."
        )
    old = view[index]
    return old, np.asarray(old).dtype.type


def stored_in(view: Any, kind: Any, value: Any) -> Any:
    """A value in the type of the elements, as kernels convert it."""
    dtype = np.dtype(kind)
    if getattr(value, "shape", None) == ():
        value = np.asarray(value)[()]  # an element of a View or array of rank 0
    if not isinstance(value, bool | int | float | complex | np.number | np.bool_):
        raise DTypeError(
            f"an atomic operation on {_described(view, dtype)} with a value of type "
            f"{type(value).__name__!r}; expected a number."
        )
    # Python's numbers take the type of the element, unless they are of a wider kind.
    joined = np.result_type(dtype, _weak(value))
    if joined != dtype:
        raise DTypeError(
            f"an atomic operation on {_described(view, dtype)} with a value of type "
            f"{type(value).__name__!r} would compute in {joined}. Convert the value: "
            f"es.{dtype}(...)."
        )
    try:
        return kind(value)
    except OverflowError:
        assert isinstance(value, int)
        raise DTypeError(
            f"an atomic operation on {_described(view, dtype)}: {shown(value)} does not fit; take "
            f"it modulo 2**{8 * dtype.itemsize} first if it is to wrap."
        ) from None


def _weak(value: Any) -> Any:
    """What NumPy is to promote: the kind of a number of Python's, whatever its size."""
    return next((t(0) for t in (bool, int, float, complex) if type(value) is t), value)


def _check_exists(view: Any, operation: Callable[[Any, Any], Any], dtype: np.dtype[Any]) -> None:
    kinds = _KINDS.get(operation, "biufc")
    if dtype.kind not in kinds:
        named = ", ".join(_NAMES[k] for k in kinds if k in _NAMES)
        raise DTypeError(
            f"an atomic operation on {_described(view, dtype)} does not exist; it does for {named}."
        )


def _described(view: Any, dtype: np.dtype[Any]) -> str:
    label = getattr(view, "label", "")
    return f"View {label!r} of {dtype}" if label else f"{dtype}"


def _quotient(a: Any, b: Any) -> Any:
    return np.floor_divide(a, b) if isinstance(a, np.integer) else np.true_divide(a, b)


def _nand(a: Any, b: Any) -> Any:
    return np.invert(np.bitwise_and(a, b))


def _replace(a: Any, b: Any) -> Any:
    return b


# Kinds of elements that a step exists for, in NumPy's letters; of all if it is not here.
_KINDS: dict[Any, str] = {
    **dict.fromkeys((operator.add, operator.sub, operator.mul, _quotient), "iufc"),
    **dict.fromkeys((np.minimum, np.maximum, np.remainder), "iuf"),
    **dict.fromkeys((np.bitwise_and, np.bitwise_or, np.bitwise_xor, _nand), "biu"),
    **dict.fromkeys((np.left_shift, np.right_shift), "iu"),
}
_NAMES = {"b": "bools", "i": "integers", "f": "floats", "c": "complex numbers"}


def atomic_add(view: Elements, index: Index, value: Any) -> None:
    """Atomically set the element to element + value.

    Integers, floats and complex numbers; integers wrap.
    The two parts of a complex128 are added one after the other.
    """
    _step(view, index, operator.add, value)


def atomic_fetch_add(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_add` that returns the value before it, of the element's type.

    Integers, floats and complex numbers; integers wrap.
    """
    return _step(view, index, operator.add, value)[0]


def atomic_add_fetch(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_add` that returns the value that it stored, of the element's type.

    Integers, floats and complex numbers; integers wrap.
    """
    return _step(view, index, operator.add, value)[1]


def atomic_sub(view: Elements, index: Index, value: Any) -> None:
    """Atomically set the element to element - value.

    Integers, floats and complex numbers; integers wrap.
    The two parts of a complex128 are changed one after the other.
    """
    _step(view, index, operator.sub, value)


def atomic_fetch_sub(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_sub` that returns the value before it, of the element's type.

    Integers, floats and complex numbers; integers wrap.
    """
    return _step(view, index, operator.sub, value)[0]


def atomic_sub_fetch(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_sub` that returns the value that it stored, of the element's type.

    Integers, floats and complex numbers; integers wrap.
    """
    return _step(view, index, operator.sub, value)[1]


def atomic_mul(view: Elements, index: Index, value: Any) -> None:
    """Atomically set the element to element * value.

    Integers, floats and complex numbers; integers wrap.
    """
    _step(view, index, operator.mul, value)


def atomic_fetch_mul(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_mul` that returns the value before it, of the element's type.

    Integers, floats and complex numbers; integers wrap.
    """
    return _step(view, index, operator.mul, value)[0]


def atomic_mul_fetch(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_mul` that returns the value that it stored, of the element's type.

    Integers, floats and complex numbers; integers wrap.
    """
    return _step(view, index, operator.mul, value)[1]


def atomic_div(view: Elements, index: Index, value: Any) -> None:
    """Atomically set the element to element / value, of integers element // value.

    Integers, floats and complex numbers; an integer divided by 0 is 0.
    """
    _step(view, index, _quotient, value)


def atomic_fetch_div(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_div` that returns the value before it, of the element's type.

    Integers, floats and complex numbers; an integer divided by 0 is 0.
    """
    return _step(view, index, _quotient, value)[0]


def atomic_div_fetch(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_div` that returns the value that it stored, of the element's type.

    Integers, floats and complex numbers; an integer divided by 0 is 0.
    """
    return _step(view, index, _quotient, value)[1]


def atomic_min(view: Elements, index: Index, value: Any) -> None:
    """Atomically set the element to the lesser of element and value, NaN if either is.

    Integers and floats.
    """
    _step(view, index, np.minimum, value)


def atomic_fetch_min(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_min` that returns the value before it, of the element's type.

    Integers and floats.
    """
    return _step(view, index, np.minimum, value)[0]


def atomic_min_fetch(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_min` that returns the value that it stored, of the element's type.

    Integers and floats.
    """
    return _step(view, index, np.minimum, value)[1]


def atomic_max(view: Elements, index: Index, value: Any) -> None:
    """Atomically set the element to the greater of element and value, NaN if either is.

    Integers and floats.
    """
    _step(view, index, np.maximum, value)


def atomic_fetch_max(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_max` that returns the value before it, of the element's type.

    Integers and floats.
    """
    return _step(view, index, np.maximum, value)[0]


def atomic_max_fetch(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_max` that returns the value that it stored, of the element's type.

    Integers and floats.
    """
    return _step(view, index, np.maximum, value)[1]


def atomic_mod(view: Elements, index: Index, value: Any) -> None:
    """Atomically set the element to element % value, which has the sign of value.

    Integers and floats; an integer modulo 0 is 0.
    """
    _step(view, index, np.remainder, value)


def atomic_fetch_mod(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_mod` that returns the value before it, of the element's type.

    Integers and floats; an integer modulo 0 is 0.
    """
    return _step(view, index, np.remainder, value)[0]


def atomic_mod_fetch(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_mod` that returns the value that it stored, of the element's type.

    Integers and floats; an integer modulo 0 is 0.
    """
    return _step(view, index, np.remainder, value)[1]


def atomic_and(view: Elements, index: Index, value: Any) -> None:
    """Atomically set the element to element & value.

    Integers and bools.
    """
    _step(view, index, np.bitwise_and, value)


def atomic_fetch_and(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_and` that returns the value before it, of the element's type.

    Integers and bools.
    """
    return _step(view, index, np.bitwise_and, value)[0]


def atomic_and_fetch(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_and` that returns the value that it stored, of the element's type.

    Integers and bools.
    """
    return _step(view, index, np.bitwise_and, value)[1]


def atomic_or(view: Elements, index: Index, value: Any) -> None:
    """Atomically set the element to element | value.

    Integers and bools.
    """
    _step(view, index, np.bitwise_or, value)


def atomic_fetch_or(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_or` that returns the value before it, of the element's type.

    Integers and bools.
    """
    return _step(view, index, np.bitwise_or, value)[0]


def atomic_or_fetch(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_or` that returns the value that it stored, of the element's type.

    Integers and bools.
    """
    return _step(view, index, np.bitwise_or, value)[1]


def atomic_xor(view: Elements, index: Index, value: Any) -> None:
    """Atomically set the element to element ^ value.

    Integers and bools.
    """
    _step(view, index, np.bitwise_xor, value)


def atomic_fetch_xor(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_xor` that returns the value before it, of the element's type.

    Integers and bools.
    """
    return _step(view, index, np.bitwise_xor, value)[0]


def atomic_xor_fetch(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_xor` that returns the value that it stored, of the element's type.

    Integers and bools.
    """
    return _step(view, index, np.bitwise_xor, value)[1]


def atomic_nand(view: Elements, index: Index, value: Any) -> None:
    """Atomically set the element to ~(element & value).

    Integers and bools.
    """
    _step(view, index, _nand, value)


def atomic_fetch_nand(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_nand` that returns the value before it, of the element's type.

    Integers and bools.
    """
    return _step(view, index, _nand, value)[0]


def atomic_nand_fetch(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_nand` that returns the value that it stored, of the element's type.

    Integers and bools.
    """
    return _step(view, index, _nand, value)[1]


def atomic_lshift(view: Elements, index: Index, value: Any) -> None:
    """Atomically set the element to element << value, 0 from the width on.

    Integers.
    """
    _step(view, index, np.left_shift, value)


def atomic_fetch_lshift(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_lshift` that returns the value before it, of the element's type.

    Integers.
    """
    return _step(view, index, np.left_shift, value)[0]


def atomic_lshift_fetch(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_lshift` that returns the value that it stored, of the element's type.

    Integers.
    """
    return _step(view, index, np.left_shift, value)[1]


def atomic_rshift(view: Elements, index: Index, value: Any) -> None:
    """Atomically set the element to element >> value, 0 or -1 from the width on.

    Integers.
    """
    _step(view, index, np.right_shift, value)


def atomic_fetch_rshift(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_rshift` that returns the value before it, of the element's type.

    Integers.
    """
    return _step(view, index, np.right_shift, value)[0]


def atomic_rshift_fetch(view: Elements, index: Index, value: Any) -> Any:
    """`atomic_rshift` that returns the value that it stored, of the element's type.

    Integers.
    """
    return _step(view, index, np.right_shift, value)[1]


def atomic_inc(view: Elements, index: Index) -> None:
    """Add 1 to the element atomically.

    Integers, floats and complex numbers; integers wrap.
    """
    _step(view, index, operator.add, 1)


def atomic_fetch_inc(view: Elements, index: Index) -> Any:
    """`atomic_inc` that returns the value before it, of the element's type.

    Integers, floats and complex numbers; integers wrap.
    """
    return _step(view, index, operator.add, 1)[0]


def atomic_inc_fetch(view: Elements, index: Index) -> Any:
    """`atomic_inc` that returns the value that it stored, of the element's type.

    Integers, floats and complex numbers; integers wrap.
    """
    return _step(view, index, operator.add, 1)[1]


def atomic_dec(view: Elements, index: Index) -> None:
    """Subtract 1 from the element atomically.

    Integers, floats and complex numbers; integers wrap.
    """
    _step(view, index, operator.sub, 1)


def atomic_fetch_dec(view: Elements, index: Index) -> Any:
    """`atomic_dec` that returns the value before it, of the element's type.

    Integers, floats and complex numbers; integers wrap.
    """
    return _step(view, index, operator.sub, 1)[0]


def atomic_dec_fetch(view: Elements, index: Index) -> Any:
    """`atomic_dec` that returns the value that it stored, of the element's type.

    Integers, floats and complex numbers; integers wrap.
    """
    return _step(view, index, operator.sub, 1)[1]


def atomic_exchange(view: Elements, index: Index, value: Any) -> Any:
    """Set the element to value and return what it was before.

    All types. It acquires and releases, as `atomic_compare_exchange` does.
    """
    return _step(view, index, _replace, value)[0]


def atomic_compare_exchange(view: Elements, index: Index, expected: Any, desired: Any) -> Any:
    """Set the element to desired if it is expected, and return what it was before.

    All types. The bits are compared: 0.0 is not -0.0, and a NaN is a NaN of the same bits.

    What a thread wrote before a step that releases is seen by a thread that reads what this step
    stored, by one that acquires, and goes on from there. This one does both.
    """
    old, kind = element_of(view, index)
    if isinstance(old, np.void):
        return record_step(view, index, lambda a, b: b if same_bits(a, expected) else a, desired)[0]
    wanted, new = stored_in(view, kind, expected), stored_in(view, kind, desired)
    if same_bits(kind(old), wanted):
        view[index] = new
    return old


def atomic_load(view: Elements, index: Index) -> Any:
    """The element, never half of an old and half of a new value.

    All types; the View may be read-only. It acquires: see `atomic_compare_exchange`.
    """
    found = element_of(view, index)[0]
    if isinstance(found, np.void):
        check_record(found)
        found = found.copy()
    return found


def atomic_store(view: Elements, index: Index, value: Any) -> None:
    """Set the element, so that no other thread sees half of the value.

    All types. It releases: see `atomic_compare_exchange`.
    """
    _step(view, index, _replace, value)
