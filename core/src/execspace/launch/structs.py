"""Arguments that hold others: tuples, NamedTuples and dataclasses of Views and numbers.

A launch takes them apart, so that plans and backends see Views and numbers alone; the compiler
puts them together again, by `LaunchSpec.structs`, for the kernel to read their fields.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any

from ..base.dataclass import dataclass
from ..base.errors import LaunchError
from ..base.subclasses import fields_of, own_operator
from ..kernels.captures import constant_tag
from ..views.static import static

__all__ = ["StructConstant", "StructType", "argument_names", "is_struct", "taken_apart"]

_MOST = 16  # structs within each other
# A field, how it is called in messages, and whether it is a constant -> what is launched, or a
# constant of it.
Convert = Callable[[Any, str, bool], Any]


@dataclass(frozen=True, slots=True)
class StructConstant:
    """A field that is a constant of the kernel; equal if it compiles to the same code."""

    value: Any = field(compare=False)
    tag: object

    @classmethod
    def of(cls, value: Any) -> StructConstant:
        """The constant of a value."""
        return cls(value, constant_tag(value))


@dataclass(frozen=True, slots=True)
class StructType:
    """Type of an argument that holds others.

    Attributes
    ----------
    cls : type
        A class of tuples, or a dataclass.
    names : tuple of str
        Of the fields; none for a plain tuple.
    items : tuple
        For each field its StructType, StructConstant, or None: the next of the launch's arguments.
    """

    cls: type
    names: tuple[str, ...]
    items: tuple[StructType | StructConstant | None, ...]

    @property
    def is_tuple(self) -> bool:
        """Whether it has items, and not only fields."""
        return issubclass(self.cls, tuple)

    @property
    def size(self) -> int:
        """How many arguments of the launch it has."""
        sizes = (t.size if isinstance(t, StructType) else t is None for t in self.items)
        return sum(sizes)

    def paths(self) -> Iterator[str]:
        """What follows the name of the parameter for each of these: ``".a"``, ``"[0].b"``."""
        for n, item in enumerate(self.items):
            own = f".{self.names[n]}" if self.names else f"[{n}]"
            if item is None:
                yield own
            elif isinstance(item, StructType):
                yield from (own + rest for rest in item.paths())


def is_struct(value: Any) -> bool:
    """Whether it can be taken apart."""
    if isinstance(value, tuple):
        return True
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def taken_apart(
    kernel: str, value: Any, what: str, convert: Convert, found: list[Any], depth: int = 0
) -> StructType:
    """The type of a struct; its Views and numbers, as `convert` gives them, go to `found`.

    `depth` is of those that hold it.

    Raises
    ------
    LaunchError
        For classes of tuples that have code of their own, and for structs without an end.
    """
    where = f"Kernel '{kernel}': {what}"
    if depth == _MOST:
        raise LaunchError(f"{where} is more than {_MOST} objects deep; expected Views and numbers.")
    names, values, statics = struct_fields(value, where)
    items: list[StructType | StructConstant | None] = []
    for n, item in enumerate(values):
        own = f"{what}.{names[n]}" if names else f"{what}[{n}]"
        is_static = bool(names) and names[n] in statics
        ready = convert(item, own, is_static)
        if isinstance(ready, StructConstant):
            items.append(ready)
        elif is_struct(ready):
            items.append(taken_apart(kernel, ready, own, convert, found, depth + 1))
        else:
            items.append(None)
            found.append(ready)
    return StructType(type(value), names, tuple(items))


def struct_fields(
    value: Any, what: str = ""
) -> tuple[tuple[str, ...], Sequence[Any], frozenset[str]]:
    """Names of the fields of a struct, their values, and names of those that are static."""
    kind: Any = type(value)
    if isinstance(value, tuple):
        if kind is not tuple and (own := own_operator(kind)) is not None:
            raise LaunchError(
                f"{what} is of type {kind.__name__!r}, which has its own {own!r}; expected a "
                f"tuple, a NamedTuple without operators, or a dataclass."
            )
        names = fields_of(kind)
        return names, tuple(tuple.__iter__(value)), _static_fields(kind) if names else frozenset()
    names = tuple(f.name for f in dataclasses.fields(value))
    try:
        return names, [getattr(value, name) for name in names], _static_fields(kind)
    except AttributeError as error:
        raise LaunchError(f"{what}: {error}; give each field a value.") from None


@lru_cache(maxsize=256)
def _static_fields(kind: Any) -> frozenset[str]:
    """Fields of a dataclass or NamedTuple that are annotated with es.static."""
    if issubclass(kind, tuple):
        types = getattr(kind, "__annotations__", {})
    else:
        types = {f.name: f.type for f in dataclasses.fields(kind)}
    return frozenset(n for n, written in types.items() if _is_static(written, kind, n))


def _owner(kind: type, name: str) -> type:
    """The class that annotates a field, in whose module the annotation has its meaning."""
    from inspect import get_annotations  # loaded for classes that annotate so

    return next((c for c in kind.__mro__ if name in get_annotations(c)), kind)


def _is_static(annotation: Any, kind: type, field: str) -> bool:
    if not isinstance(annotation, str):
        return annotation is static
    if not annotation.endswith("static"):
        return False
    value: Any = sys.modules.get(_owner(kind, field).__module__)
    for name in annotation.split("."):
        value = getattr(value, name, None)
    return value is static


def argument_names(
    parameters: Sequence[str], structs: Sequence[StructType | None]
) -> tuple[str, ...]:
    """Names of the explicit arguments of a launch: parameters, or fields of them."""
    if not structs:
        return tuple(parameters)
    found: list[str] = []
    for name, struct in zip(parameters, structs, strict=False):
        found += [name] if struct is None else [name + path for path in struct.paths()]
    return tuple(found)
