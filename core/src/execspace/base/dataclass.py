"""`dataclass` of the standard library, made for classes that are many and loaded at the start.

The standard library compiles each method of each class on its own, 0.3 ms for a class, and there
are hundreds of classes. Here a method is compiled when it is first looked up, which of most never
happens. Meaning and speed of methods are the same, and the functions of the standard library take
these classes, too. Options that execspace does not use are missing.
"""

from __future__ import annotations

import abc
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import (  # type: ignore[attr-defined]
    _FIELD,
    MISSING,
    Field,
    FrozenInstanceError,
    field,
)
from types import MemberDescriptorType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, get_origin

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, eq=True, frozen=False, slots=False):
        """As `dataclasses.dataclass`, with these of its options."""
        if cls is None:
            return lambda cls: _made(cls, eq, frozen, slots)
        return _made(cls, eq, frozen, slots)


class _Factory:
    """Stands for a value that a field's factory is to make."""

    def __repr__(self) -> str:
        return "<factory>"  # which signatures show


_FACTORY = _Factory()


def _made(cls: type, eq: bool, frozen: bool, slots: bool) -> Any:
    fields: dict[str, Field[Any]] = {}
    for base in cls.__mro__[-1:0:-1]:
        fields |= base.__dict__.get("__dataclass_fields__", {})
        of_base = base.__dict__.get("__dataclass_params__")
        if of_base is not None and of_base.frozen != frozen:
            raise TypeError(f"{cls.__name__} and {base.__name__} must both be frozen, or neither")
    for name, type_ in cls.__annotations__.items():
        if not _is_of_class(type_):
            fields[name] = _field(name, type_, getattr(cls, name, MISSING))
    # A method finds the class here, which is another one if it gets slots.
    made: list[Any] = [cls]
    methods = _methods(cls, fields, eq, frozen, made)
    new = {
        "__dataclass_fields__": fields,
        "__dataclass_params__": SimpleNamespace(
            init=True, repr=True, eq=eq, order=False, unsafe_hash=False, frozen=frozen, slots=slots
        ),
        "__match_args__": tuple(n for n, f in fields.items() if f.init and not f.kw_only),
    } | {name: method for name, method in methods.items() if _is_missing(name, cls.__dict__)}
    if not slots:
        for name, f in fields.items():
            if isinstance(cls.__dict__.get(name), Field):
                if f.default is MISSING:
                    delattr(cls, name)
                else:
                    setattr(cls, name, f.default)
        for name, value in new.items():
            setattr(cls, name, value)
        abc.update_abstractmethods(cls)
        return cls
    left_out = {*fields, "__dict__", "__weakref__"}
    own = {name: value for name, value in cls.__dict__.items() if name not in left_out}
    inherited = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
    own["__slots__"] = tuple(name for name in fields if name not in inherited)
    if frozen:  # pickle would set fields
        own = {"__getstate__": _getstate, "__setstate__": _setstate} | own
    made[0] = type(cls)(cls.__name__, cls.__bases__, own | new)
    made[0].__qualname__ = cls.__qualname__
    return made[0]


def _is_of_class(type_: Any) -> bool:
    if isinstance(type_, str):
        return type_.startswith(("ClassVar", "typing.ClassVar"))
    return type_ is ClassVar or get_origin(type_) is ClassVar


def _field(name: str, type_: Any, default: Any) -> Field[Any]:
    if isinstance(default, MemberDescriptorType):  # a slot of a base
        default = MISSING
    made: Any = default if isinstance(default, Field) else field(default=default)
    made.name, made.type, made._field_type = name, type_, _FIELD
    made.kw_only = made.kw_only is True
    return made  # type: ignore[no-any-return]


def _is_missing(name: str, own: Mapping[str, Any]) -> bool:
    """Whether the class has no such method; one with ``__eq__`` has the ``__hash__`` None."""
    return name not in own or (name == "__hash__" and own[name] is None and "__eq__" in own)


def _methods(
    cls: type, fields: dict[str, Field[Any]], eq: bool, frozen: bool, made: list[Any]
) -> dict[str, Any]:
    shown = ", ".join(f"{name}={{self.{name}!r}}" for name, f in fields.items() if f.repr)
    text = f"(self):\n return f'{{self.__class__.__qualname__}}({shown})'"
    found: dict[str, Any] = {
        "__init__": _Later("__init__", made, lambda: _init(cls, fields, frozen)),
        "__repr__": _Later(
            "__repr__",
            made,
            lambda: reprlib.recursive_repr()(_compiled(cls, "__repr__", text, {})),
        ),
    }
    if frozen:
        found["__setattr__"], found["__delattr__"] = _refusing(frozenset(fields), made)
    if eq:
        compared = [name for name, f in fields.items() if f.compare]
        mine, other = (f"({''.join(f'{o}.{n},' for n in compared)})" for o in ("self", "other"))
        equal = (
            f"(self, other):\n if other.__class__ is self.__class__:\n  return {mine} == {other}\n"
            f" return NotImplemented"
        )
        found["__eq__"] = _Later("__eq__", made, lambda: _compiled(cls, "__eq__", equal, {}))
        hashed = f"(self):\n return hash({mine})"
        hashing = _Later("__hash__", made, lambda: _compiled(cls, "__hash__", hashed, {}))
        found["__hash__"] = hashing if frozen else None
    return found


def _init(cls: type, fields: dict[str, Field[Any]], frozen: bool) -> Any:
    scope: dict[str, Any] = {"_FACTORY": _FACTORY, "_set": object.__setattr__}
    by_place = ["self"]
    by_name: list[str] = []
    lines: list[str] = []
    types: dict[str, Any] = {}
    for name, f in fields.items():
        parameter = value = name
        if f.default is not MISSING:
            scope[f"_of_{name}"] = f.default
            parameter = f"{name}=_of_{name}"
        elif f.default_factory is not MISSING:
            scope[f"_of_{name}"] = f.default_factory
            parameter = f"{name}=_FACTORY"
            value = f"_of_{name}() if {name} is _FACTORY else {name}"
        if f.init:
            (by_name if f.kw_only else by_place).append(parameter)
            types[name] = f.type
        elif f.default_factory is not MISSING:
            value = f"_of_{name}()"
        elif f.default is not MISSING:
            value = f"_of_{name}"
        else:  # `__post_init__` sets it
            continue
        lines.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    parameters = ", ".join(by_place + ["*"] * bool(by_name) + by_name)
    made = _compiled(cls, "__init__", f"({parameters}):\n" + ("\n".join(lines) or " pass"), scope)
    made.__annotations__ = {**types, "return": None}
    return made


def _compiled(cls: type, name: str, text: str, scope: dict[str, Any]) -> Any:
    scope["__name__"] = cls.__module__
    exec(f"def {name}{text}", scope)
    made = scope.pop(name)
    made.__qualname__ = f"{cls.__qualname__}.{name}"
    return made


class _Later:
    """A method that is made when it is first looked up, and then takes this object's place."""

    __slots__ = ("_class", "_make", "_name")

    def __init__(self, name: str, made: list[Any], make: Callable[[], Any]) -> None:
        self._name, self._class, self._make = name, made, make

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        method = self._make()
        setattr(self._class[0], self._name, method)
        return method.__get__(instance, owner)


def _refusing(names: frozenset[str], made: list[Any]) -> tuple[Any, Any]:
    """``__setattr__`` and ``__delattr__`` of a frozen class."""

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is made[0] or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made[0], self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is made[0] or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(made[0], self).__delattr__(name)

    return __setattr__, __delattr__


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__dataclass_fields__]


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__dataclass_fields__, state, strict=True):
        object.__setattr__(self, name, value)
