"""`dataclass` of the standard library, made for classes that are many and loaded at the start.

The standard library compiles each method of each class on its own, 0.3 ms for a class, and there
are hundreds of classes. Here a method, and the table of fields, is made when it is first looked up,
which of most never happens; until then a class has one small object for each, for objects cost
each of Python's collections, and its end. Meaning and speed of methods are the same, and the
functions of the standard library take these classes, too. Options that execspace does not use are
missing.
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


class _Class:
    """What a class has, from which its fields and methods are made when they are looked up."""

    __slots__ = ("cls", "defaults", "frozen", "names")

    def __init__(
        self, cls: type, names: tuple[str, ...], defaults: dict[str, Any], frozen: bool
    ) -> None:
        self.cls, self.names, self.defaults, self.frozen = cls, names, defaults, frozen

    @property
    def fields(self) -> dict[str, Field[Any]]:
        """Its fields by name, with those of the classes it is derived from."""
        return self.cls.__dataclass_fields__  # type: ignore[attr-defined, no-any-return]


class _Later:
    """A method or a value that is made when it is first looked up, and takes this one's place."""

    __slots__ = ("_name", "of")

    def __init__(self, name: str, of: _Class) -> None:
        self._name, self.of = name, of

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        made = _MADE_OF[self._name](self.of)
        setattr(self.of.cls, self._name, made)
        bind = getattr(made, "__get__", None)
        return made if bind is None else bind(instance, owner)


def _made(cls: type, eq: bool, frozen: bool, slots: bool) -> Any:
    for base in cls.__mro__[-1:0:-1]:
        of_base = base.__dict__.get("__dataclass_params__")
        if of_base is not None and of_base.frozen != frozen:
            raise TypeError(f"{cls.__name__} and {base.__name__} must both be frozen, or neither")
    own = cls.__dict__
    names = tuple(name for name, type_ in cls.__annotations__.items() if not _is_of_class(type_))
    # A field that is annotated again without a value has the one of the class it comes from.
    found = [(name, getattr(cls, name, MISSING)) for name in names]
    defaults = {n: d for n, d in found if d is not MISSING and type(d) is not MemberDescriptorType}
    of = _Class(cls, names, defaults, frozen)
    new: dict[str, Any] = {name: _Later(name, of) for name in _VALUES}
    new["__dataclass_params__"] = _parameters(eq, frozen, slots)
    for name in _METHODS[frozen, eq]:
        if _is_missing(name, own):
            new[name] = _Later(name, of)
    if eq and not frozen and _is_missing("__hash__", own):
        new["__hash__"] = None
    if not slots:
        for name, default in defaults.items():
            if isinstance(own.get(name), Field):
                if default.default is MISSING:
                    delattr(cls, name)
                else:
                    setattr(cls, name, default.default)
        for name, value in new.items():
            setattr(cls, name, value)
        abc.update_abstractmethods(cls)
        return cls
    left_out = {*names, "__dict__", "__weakref__"}
    inherited: set[str] = set()
    for base in cls.__mro__[1:]:
        inherited.update(base.__dict__.get("__slots__", ()))
        left_out.update(_names_of_fields(base))
    kept = {name: value for name, value in own.items() if name not in left_out}
    kept["__slots__"] = tuple(name for name in names if name not in inherited)
    if frozen:  # pickle would set fields
        kept = {"__getstate__": _getstate, "__setstate__": _setstate} | kept
    of.cls = type(cls)(cls.__name__, cls.__bases__, kept | new)
    of.cls.__qualname__ = cls.__qualname__
    return of.cls


def _is_of_class(type_: Any) -> bool:
    if isinstance(type_, str):
        return type_.startswith(("ClassVar", "typing.ClassVar"))
    return type_ is ClassVar or get_origin(type_) is ClassVar


def _is_missing(name: str, own: Mapping[str, Any]) -> bool:
    """Whether the class has no such method; one with ``__eq__`` has the ``__hash__`` None."""
    return name not in own or (name == "__hash__" and own[name] is None and "__eq__" in own)


_kinds: dict[tuple[bool, bool, bool], SimpleNamespace] = {}


def _parameters(eq: bool, frozen: bool, slots: bool) -> SimpleNamespace:
    """What the standard library keeps of a class's options: one object for all that have them."""
    found = _kinds.get((eq, frozen, slots))
    if found is None:
        found = _kinds[eq, frozen, slots] = SimpleNamespace(
            init=True, repr=True, eq=eq, order=False, unsafe_hash=False, frozen=frozen, slots=slots
        )
    return found


def _names_of_fields(base: type) -> tuple[str, ...]:
    """Names of the fields of a base's own, without having them made."""
    found = base.__dict__.get("__dataclass_fields__", ())
    return found.of.names if isinstance(found, _Later) else tuple(found)


def _fields(of: _Class) -> dict[str, Field[Any]]:
    made: dict[str, Field[Any]] = {}
    for base in of.cls.__mro__[-1:0:-1]:
        if "__dataclass_fields__" in base.__dict__:
            made |= base.__dataclass_fields__  # type: ignore[attr-defined]
    for name in of.names:
        default = of.defaults.get(name, MISSING)
        new: Any = default if isinstance(default, Field) else field(default=default)
        new.name, new.type, new._field_type = name, of.cls.__annotations__[name], _FIELD
        new.kw_only = new.kw_only is True
        made[name] = new
    return made


def _match_args(of: _Class) -> tuple[str, ...]:
    return tuple(name for name, f in of.fields.items() if f.init and not f.kw_only)


def _init(of: _Class) -> Any:
    scope: dict[str, Any] = {"_FACTORY": _FACTORY, "_set": object.__setattr__}
    by_place = ["self"]
    by_name: list[str] = []
    lines: list[str] = []
    types: dict[str, Any] = {}
    for name, f in of.fields.items():
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
        put = f" _set(self, {name!r}, {value})" if of.frozen else f" self.{name} = {value}"
        lines.append(put)
    if hasattr(of.cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    parameters = ", ".join(by_place + ["*"] * bool(by_name) + by_name)
    made = _compiled(of, "__init__", f"({parameters}):\n" + ("\n".join(lines) or " pass"), scope)
    made.__annotations__ = {**types, "return": None}
    return made


def _repr(of: _Class) -> Any:
    shown = ", ".join(f"{name}={{self.{name}!r}}" for name, f in of.fields.items() if f.repr)
    text = f"(self):\n return f'{{self.__class__.__qualname__}}({shown})'"
    return reprlib.recursive_repr()(_compiled(of, "__repr__", text, {}))


def _eq(of: _Class) -> Any:
    mine, other = (_compared(of, side) for side in ("self", "other"))
    text = (
        f"(self, other):\n if other.__class__ is self.__class__:\n  return {mine} == {other}\n"
        f" return NotImplemented"
    )
    return _compiled(of, "__eq__", text, {})


def _hash(of: _Class) -> Any:
    return _compiled(of, "__hash__", f"(self):\n return hash({_compared(of, 'self')})", {})


def _compared(of: _Class, side: str) -> str:
    """Text of the tuple of fields by which objects are compared."""
    return f"({''.join(f'{side}.{name},' for name, f in of.fields.items() if f.compare)})"


def _compiled(of: _Class, name: str, text: str, scope: dict[str, Any]) -> Any:
    scope["__name__"] = of.cls.__module__
    exec(f"def {name}{text}", scope)
    made = scope.pop(name)
    made.__qualname__ = f"{of.cls.__qualname__}.{name}"
    return made


def _setattr(of: _Class) -> Any:
    owner: Any = of.cls
    names = frozenset(of.fields)

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is owner or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(owner, self).__setattr__(name, value)

    return __setattr__


def _delattr(of: _Class) -> Any:
    owner: Any = of.cls
    names = frozenset(of.fields)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is owner or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(owner, self).__delattr__(name)

    return __delattr__


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__dataclass_fields__]


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__dataclass_fields__, state, strict=True):
        object.__setattr__(self, name, value)


_MADE_OF: dict[str, Callable[[_Class], Any]] = {
    "__dataclass_fields__": _fields,
    "__match_args__": _match_args,
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
}
_VALUES = ("__dataclass_fields__", "__match_args__")
# By whether a class is frozen, and whether objects are compared by fields.
_METHODS = {
    (False, False): ("__init__", "__repr__"),
    (False, True): ("__init__", "__repr__", "__eq__"),
    (True, False): ("__init__", "__repr__", "__setattr__", "__delattr__"),
    (True, True): ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"),
}
