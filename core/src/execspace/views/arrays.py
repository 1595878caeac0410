"""Which arrays are no more than their elements, and what to write for those that are more.

Kernels see memory. A mask, a unit or an index beside it would be lost without a word, so what
carries one is refused, and so is a subclass of NumPy's array that defines anything at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..base.errors import ViewError, ViewTypeError
from ..base.readonly import ReadOnly
from ..contract.dtypes import name_of

# A memmap is memory, and records of a recarray are records without it. Of each only the class
# itself: what a subclass adds is not known.
_PLAIN: tuple[type, ...] = (np.ndarray, np.memmap, np.recarray)
_UNITS = ("unit", "units")


def check_plain(source: Any, what: str = "") -> None:
    """Raise ViewTypeError for an array that means more than its elements.

    `what` names it: "source of deep_copy".
    """
    kind = type(source)
    if kind in _PLAIN:
        return
    lost = _lost(source)
    if lost is not None:
        raise ViewTypeError(
            f"{what}{': ' if what else ''}an array of type {_name(kind)} {lost}, which a View "
            f"would lose. {advice(source)}"
        )


def check_range(numbers: np.ndarray[Any, Any], kind: np.dtype[Any], what: str) -> None:
    """Raise ViewError if integers of a list do not fit a type; those of arrays wrap, as in NumPy.

    `what` names it: "array".
    """
    if numbers.dtype.kind not in "iu" or kind.kind not in "iu" or not numbers.size:
        return
    check_extremes((numbers.min(), numbers.max()), kind, what)


def check_extremes(numbers: Iterable[int], kind: np.dtype[Any], what: str) -> None:
    """Raise ViewError if any of a few integers does not fit an integer type."""
    least, greatest = np.iinfo(kind).min, np.iinfo(kind).max
    for number in numbers:
        if not least <= number <= greatest:
            raise ViewError(
                f"{what}: {number} does not fit {name_of(kind)}, which holds {least} to {greatest}."
            )


def _lost(source: Any) -> str | None:
    """What an array carries beside its elements; None if nothing is known."""
    if lazy(source):
        return "has other values than those in its memory"
    if isinstance(source, np.ma.MaskedArray):
        return "has a mask"
    if _has_unit(source):
        return "has a unit"
    if isinstance(source, np.matrix):
        return "has products and subscripts of its own"
    if isinstance(source, np.ndarray):
        return None if _adds_nothing(source) else "may mean more than its elements"
    if _shares_memory(source) and not callable(getattr(type(source), "mask", _lost)):
        return "has a mask"
    return None


def lazy(source: Any) -> str:
    """What to write for a tensor that negates or conjugates what is in memory only when it is read.

    DLPack has no word for it: PyTorch hands out the memory of a negative one all the same.
    """
    for bit, written in (("is_conj", "resolve_conj()"), ("is_neg", "resolve_neg()")):
        ask = getattr(type(source), bit, None)
        if callable(ask) and hasattr(type(source), written[:-2]) and ask(source):
            return written
    return ""


_EMPTY = frozenset(
    ("__dict__", "__doc__", "__firstlineno__", "__module__", "__qualname__", "__slots__")
    + ("__static_attributes__", "__weakref__")
)


def _adds_nothing(source: np.ndarray[Any, Any]) -> bool:
    """Whether a subclass of a plain class has a name, and nothing else."""
    classes = type(source).__mro__
    own = classes[: min(classes.index(plain) for plain in _PLAIN if plain in classes)]
    noted = np.memmap not in classes and vars(source)  # a memmap notes the name of its file
    return not noted and all(vars(c).keys() <= _EMPTY for c in own)


def _has_unit(source: Any) -> bool:
    return _shares_memory(source) and any(has_protocol(source, name) for name in _UNITS)


def _shares_memory(source: Any) -> bool:
    """Whether it has elements in memory that a View could be made of."""
    names = ("__dlpack__", "__array_interface__", "__cuda_array_interface__")
    return any(has_protocol(source, name) for name in names)


# Packages whose arrays are no memory that could be used in place, and how they give one: (first
# part of the module, class or "", what to write).
_KNOWN = (
    ("xarray", "Dataset", "x['name'].to_numpy() for each of its variables"),
    ("xarray", "", "x.to_numpy()"),
    ("pandas", "", "x.to_numpy()"),
    ("polars", "", "x.to_numpy()"),
    ("scipy", "", "x.toarray()"),
    ("sparse", "", "x.todense()"),
)


def advice(source: Any) -> str:
    """A sentence that says how to make an array of something; empty if that is not known."""
    kind = type(source)
    if isinstance(source, ReadOnly) and (text := source._in_launches):
        return text
    if isinstance(source, np.ma.MaskedArray):
        return "Say what stands for masked elements: x.filled(value)."
    if written := lazy(source):
        return f"Compute them first: x.{written}."
    root = str(kind.__module__).partition(".")[0]
    for module, name, text in _KNOWN:
        if root == module and name in ("", kind.__name__):
            return f"Make it an array: {text}."
    if _has_unit(source):
        names = (n for n in ("value", "magnitude") if has_protocol(source, n))
        numbers = next((f"x.{n}" for n in names), "np.asarray(x)")
        return f"Pass its numbers, {numbers}, in a unit of your choice."
    if isinstance(source, np.ndarray):
        return "If its elements are all that counts, pass np.asarray(x)."
    for name in ("to_numpy", "toarray", "todense", "filled"):
        if callable(getattr(kind, name, None)):
            return f"Make it an array: x.{name}()."
    if isinstance(source, list | tuple) and any(_is_view_like(item) for item in source):
        return "Pass a tuple of them: tuple(x)."
    if isinstance(source, dict | set):
        return "Pass what it holds one by one, or as the fields of a dataclass."
    if isinstance(source, list | tuple | range):
        return "Make it an array: np.asarray(...)."
    return ""


def _is_view_like(item: Any) -> bool:
    kind = type(item)
    return hasattr(kind, "__dlpack__") or hasattr(kind, "__array_interface__")


def _name(kind: type) -> str:
    """A class with its package, as a user writes it."""
    root = str(kind.__module__).partition(".")[0]
    if root in ("builtins", "__main__"):
        return repr(kind.__name__)
    if root == "numpy" and issubclass(kind, np.ma.MaskedArray):
        root = "numpy.ma"
    return repr(f"{root}.{kind.__name__}")


def has_protocol(source: Any, name: str) -> bool:
    """Whether an object has an attribute such as ``__dlpack__``, without asking for its value.

    Libraries compute such attributes, and may refuse to.
    """
    return hasattr(type(source), name) or name in getattr(source, "__dict__", ())
