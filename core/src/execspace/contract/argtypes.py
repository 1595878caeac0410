"""Types of launch arguments, as a backend sees them: the tags that choose a compiled plan.

Each type exists once in a process, so comparing and hashing two of them is a pointer
comparison: that keeps the launch path short. `str(t)` is stable across processes.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..base.readonly import ReadOnly, assign

__all__ = [
    "ScalarType",
    "ViewType",
]

WEAK = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


class ViewType(ReadOnly):
    """Type of a View argument: everything a compiler may specialise on, and no more.

    Attributes
    ----------
    dtype : str
        Name of the element type, e.g. ``"float64"``.
    rank : int
    layout : str
        ``"right"``, ``"left"`` or ``"stride"``.
    unit : int or None
        The dimension whose stride is known to be one element, if there is one.
    readonly : bool
        Kernels may not store through it.
    memory : str
        Name of the memory space.
    static : tuple
        Per dimension its extent where that is part of the type, else None; empty if none is.
    traits : tuple of str
        Of ``"atomic"``, ``"nontemporal"``, ``"random_access"``, ``"restrict"``, in this order.
    """

    __slots__ = ("dtype", "layout", "memory", "rank", "readonly", "static", "traits", "unit")
    _fixed = frozenset(__slots__)
    _known: ClassVar[dict[tuple[Any, ...], ViewType]] = {}

    dtype: str
    rank: int
    layout: str
    unit: int | None
    readonly: bool
    memory: str
    static: tuple[int | None, ...]
    traits: tuple[str, ...]

    def __new__(
        cls, dtype: str, rank: int, layout: str, unit: int | None, readonly: bool, memory: str,
        static: tuple[int | None, ...] = (), traits: tuple[str, ...] = (),
    ) -> ViewType:  # fmt: skip
        key = (dtype, rank, layout, unit, readonly, memory, static, traits)
        found = cls._known.get(key)
        if found is None:
            found = object.__new__(cls)
            names = ("dtype", "rank", "layout", "unit", "readonly", "memory", "static", "traits")
            for name, value in zip(names, key, strict=True):
                assign(found, name, value)
            found = cls._known.setdefault(key, found)
        return found

    def __str__(self) -> str:
        const = "const " if self.readonly else ""
        unit = f",unit{self.unit}" if self.layout == "stride" and self.unit is not None else ""
        static = f",static{list(self.static)}" if self.static else ""
        traits = "".join(f",{t}" for t in self.traits)
        return f"{const}{self.dtype}[{self.rank},{self.layout}{unit}{static}{traits}]@{self.memory}"

    __repr__ = __str__


class ScalarType(ReadOnly):
    """Type of a number argument; Python's own numbers are weak (NEP 50), NumPy's are not."""

    __slots__ = ("dtype", "weak")
    _fixed = frozenset(__slots__)
    _known: ClassVar[dict[tuple[str, bool], ScalarType]] = {}

    dtype: str
    weak: bool

    def __new__(cls, dtype: str, weak: bool) -> ScalarType:
        found = cls._known.get((dtype, weak))
        if found is None:
            found = object.__new__(cls)
            assign(found, "dtype", dtype)
            assign(found, "weak", weak)
            found = cls._known.setdefault((dtype, weak), found)
        return found

    def __str__(self) -> str:
        return f"weak {self.dtype}" if self.weak else self.dtype

    __repr__ = __str__


ArgType = ViewType | ScalarType

SCALAR_TYPES: dict[type, ScalarType] = {
    **{py: ScalarType(name, True) for py, name in WEAK.items() if py is not bool},
    bool: ScalarType("bool", False),
    # On most systems two C types are of 64 bits, and NumPy has a class for each.
    np.longlong: ScalarType(np.dtype(np.longlong).name, False),
    np.ulonglong: ScalarType(np.dtype(np.ulonglong).name, False),
    **{
        getattr(np, name): ScalarType(name.rstrip("_"), False)
        for name in (
            "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
            "float16", "float32", "float64", "complex64", "complex128",
        )
    },
}  # fmt: skip


def plain_number(number: Any) -> Any:
    """A Python number without a class of its own, such as that of an enumeration."""
    kinds: tuple[Any, ...] = (bool, int, float, complex)
    return next(kind(number) for kind in kinds if isinstance(number, kind))
