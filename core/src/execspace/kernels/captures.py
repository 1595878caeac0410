"""What a function takes from enclosing scopes, and how it is read again at every launch.

Views become hidden arguments. Numbers, strings, dtypes and functions are constants *by value*:
their tags are part of the key of a compiled plan, so changing one recompiles. What a captured
function captures itself is followed in turn; its names are written "helper/name".
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from functools import partial
from inspect import getattr_static
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..base.errors import LaunchError
from ..base.free_threading import numbers
from ..base.subclasses import fields_of, own_operator
from ..contract.argtypes import SCALAR_TYPES
from ..contract.launch_spec import Capture
from ..views.interop import view_of
from ..views.view import View
from .code_names import loaded_names
from .fixed_names import meanings, unchanged
from .host_functions import HostFunction
from .marks import is_marked, is_strict
from .partials import library_partial
from .simd import SimdType

# Modules whose attributes hardly ever change: `math.pi` needs no second look at each launch but
# that of fixed_names.py.
_FIXED_MODULES = ("math", "cmath", "numpy", "execspace", "builtins", "operator")

# A static method of classes that are constants: their tag, or None where it is that of others.
OWN_TAG = "__execspace_tag__"

_NUMPY_FUNCTION = type(np.where)  # the class of NumPy's functions that are no ufuncs
_MISSING = type("Missing", (), {"__repr__": lambda self: "<undefined>"})()


class Scope:
    """A function together with parameters that are bound beforehand, as by `functools.partial`.

    Attributes
    ----------
    fn : function
    bound : dict
        Parameter -> value: `self` of a bound method, what functools.partial binds, arguments
        that are compile-time constants.
    kernel : Kernel or None
        Whose options apply, if the function was decorated.
    """

    __slots__ = ("bound", "fn", "kernel")

    def __init__(self, fn: FunctionType, bound: dict[str, Any], kernel: Any = None) -> None:
        self.fn = fn
        self.bound = bound
        self.kernel = kernel

    def __repr__(self) -> str:
        return f"<{self.fn.__qualname__} with {', '.join(self.bound) or 'nothing'} bound>"


def scope_of(value: Any) -> Scope | None:
    """The Scope of anything that is a Python function at heart; None for all else.

    Functions, kernels, bound methods, functools.partial objects, and objects whose class
    defines ``__call__`` as a Python function.
    """
    if isinstance(value, FunctionType):
        return Scope(value, {})
    if isinstance(value, Scope):
        return value
    if isinstance(value, MethodType):
        inner = scope_of(value.__func__)
        if inner is None:
            return None
        names = [n for n in parameters(inner.fn) if n not in inner.bound]
        return Scope(inner.fn, {names[0]: value.__self__, **inner.bound}, inner.kernel)
    if isinstance(value, partial):
        return _scope_of_partial(value)
    if isinstance(value, HostFunction | SimdType):
        return None
    own = _attribute(value, "scope")
    if type(own) is Scope:  # a Kernel
        return own
    original = _attribute(value, "py_func")
    if isinstance(original, FunctionType) and _is_set(
        value, "py_func"
    ):  # what Numba's and other compilers' decorators keep
        return Scope(original, {})
    call = getattr(type(value), "__call__", None)  # noqa: B004 - the function itself is wanted
    if not isinstance(value, type) and (isinstance(call, FunctionType) or _is_kernel(call)):
        return scope_of(MethodType(call, value))  # type: ignore[arg-type]
    return None


def _attribute(value: Any, name: str, missing: Any = None) -> Any:
    """An attribute, `missing` if there is none or getting it fails."""
    try:
        return getattr(value, name, missing)
    except Exception:  # an object may raise whatever it likes
        return missing


def _is_set(value: Any, name: str) -> bool:
    """Whether an attribute is there, and not the answer of a `__getattr__` to every name."""
    return getattr_static(value, name, _MISSING) is not _MISSING


def _is_kernel(value: Any) -> bool:
    return type(_attribute(value, "scope")) is Scope


def _scope_of_partial(value: partial[Any]) -> Scope | None:
    if _is_known_by_identity(value.func):
        return Scope(*library_partial(value))
    inner = scope_of(value.func)
    if inner is None:
        return None
    names = [n for n in parameters(inner.fn) if n not in inner.bound]
    unknown = set(value.keywords) - {*parameters(inner.fn), *keyword_only(inner.fn)}
    if len(value.args) > len(names) or unknown:
        what = (
            f"no parameter '{sorted(unknown)[0]}'" if unknown else f"{len(names)} parameters only"
        )
        known = ", ".join((*parameters(inner.fn), *keyword_only(inner.fn))) or "none"
        raise LaunchError(
            f"functools.partial: function '{inner.fn.__name__}' has {what}; its parameters are "
            f"{known}."
        )
    bound = {**inner.bound, **dict(zip(names, value.args, strict=False)), **value.keywords}
    return Scope(inner.fn, bound, inner.kernel)


def _is_known_by_identity(f: Any) -> bool:
    """Whether it is a function, or a class of numbers, that kernels know by identity."""
    if isinstance(f, type):
        return f in (bool, int, float, complex) or issubclass(f, np.generic)
    if isinstance(f, BuiltinFunctionType | np.ufunc) or type(f) is _NUMPY_FUNCTION:
        return True
    return _is_library_function(f)


def parameters(fn: FunctionType) -> tuple[str, ...]:
    """Positional parameters of a function."""
    return fn.__code__.co_varnames[: fn.__code__.co_argcount]


def keyword_only(fn: FunctionType) -> tuple[str, ...]:
    """Keyword-only parameters of a function."""
    code = fn.__code__
    return code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]


def defaults(fn: FunctionType) -> dict[str, Any]:
    """Default values of a function's parameters."""
    values = fn.__defaults__ or ()
    named = parameters(fn)
    found = dict(zip(named[len(named) - len(values) :], values, strict=True))
    found.update(fn.__kwdefaults__ or {})
    return found


# -- reading names ----------------------------------------------------------------------------


def lookup(scope: Scope | FunctionType, path: tuple[str, ...]) -> Any:
    """Value of a dotted name as a function sees it now; a marker if it is not defined."""
    if type(scope) is Scope:
        fn, value = scope.fn, scope.bound.get(path[0], _MISSING)
    else:
        assert isinstance(scope, FunctionType)
        fn, value = scope, _MISSING
    if value is _MISSING:
        value = _outer(fn, path[0])
    for attribute in path[1:]:
        value = _attribute(value, attribute, _MISSING)
    return value


def _outer(fn: FunctionType, name: str) -> Any:
    code = fn.__code__
    free = code.co_freevars
    if name in free:
        try:
            return (fn.__closure__ or ())[free.index(name)].cell_contents
        except ValueError:
            return _MISSING
    if name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return defaults(fn).get(name, _MISSING)
    value = fn.__globals__.get(name, _MISSING)
    return getattr(builtins, name, _MISSING) if value is _MISSING else value


def captured_paths(scope: Scope | FunctionType) -> Iterator[tuple[str, ...]]:
    """Dotted names that a function reads from outside and whose values may change."""
    if not isinstance(scope, Scope):
        scope = Scope(scope, {})
    seen = set()
    roots = frozenset((*scope.bound, *defaults(scope.fn)))
    for path in loaded_names(scope.fn.__code__, roots):
        depth, value = follow(scope, path)
        if path[0] in roots:
            fixed = False
        else:
            fixed = _is_fixed(scope.fn, path[:depth], value)
        if not fixed and path[:depth] not in seen:
            seen.add(path[:depth])
            yield path[:depth]


def library_paths(scope: Scope | FunctionType) -> Iterator[tuple[str, ...]]:
    """Dotted names of functions that execspace itself wrote in the kernel language.

    They never change, so no launch reads them again, but compilers must know them.
    """
    fn = scope.fn if isinstance(scope, Scope) else scope
    roots = frozenset(scope.bound) if isinstance(scope, Scope) else frozenset()
    for path in dict.fromkeys(loaded_names(fn.__code__)):
        if path[0] not in roots and isinstance(_outer(fn, path[0]), ModuleType):
            value = lookup(fn, path)
            if isinstance(value, FunctionType) and is_marked(value):
                yield path


def fixed_names(scope: Scope) -> dict[str, Any]:
    """What the names that `captured_paths` leaves out mean now; `unchanged` tests that."""
    fn = scope.fn
    roots = frozenset((*scope.bound, *defaults(fn)))
    found = []
    for path in dict.fromkeys(loaded_names(fn.__code__, roots)):
        depth, value = follow(scope, path)
        if path[0] not in roots and _is_fixed(fn, path[:depth], value):
            found.append(path)
    return meanings(fn, found)


def _is_fixed(fn: FunctionType, path: tuple[str, ...], value: Any) -> bool:
    """Whether launches need not read a name one by one: a global name that leads through modules
    to a module whose attributes hardly change, or a builtin that nothing shadows."""
    root = path[0]
    if root in fn.__code__.co_freevars:  # functions of one code may have other ones each
        return False
    if isinstance(value, ModuleType):
        owners = (lookup(fn, path[:n]) for n in range(1, len(path)))
        return all(isinstance(owner, ModuleType) for owner in owners)
    if root in fn.__globals__:
        return False
    return isinstance(value, BuiltinFunctionType | type) and getattr(builtins, root, None) is value


def follow(scope: Scope | FunctionType, path: tuple[str, ...]) -> tuple[int, Any]:
    """How many parts of a dotted name lead through modules and objects, and to what value.

    The rest are attributes that kernels know themselves, such as `shape` of a View. Modules
    whose attributes never change end the walk too.
    """
    value = lookup(scope, path[:1])
    depth = 1
    while depth < len(path) and _has_constants(value):
        value = _attribute(value, path[depth], _MISSING)
        depth += 1
    return depth, value


def _has_constants(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] not in _FIXED_MODULES
    known = View | np.generic | np.dtype | FunctionType | BuiltinFunctionType | Scope | SimdType
    if value is _MISSING or isinstance(value, known | MethodType | partial) or _is_kernel(value):
        return False
    if is_array(value):
        return False
    if isinstance(value, tuple | str | int | float | complex):
        return False
    return not (isinstance(value, type) and value.__module__ in ("builtins", "numpy"))


def is_array(value: Any) -> bool:
    """Whether it is an array of some library, that `view_of` may take."""
    if isinstance(value, np.ndarray):
        return True
    kind = type(value)  # not the object: types and modules of libraries have such names, too
    return hasattr(kind, "__dlpack__") or hasattr(kind, "__cuda_array_interface__")


# -- tags -------------------------------------------------------------------------------------


def constant_tag(value: Any) -> object:
    """Hashable stand-in that is equal exactly for constants that compile to the same code."""
    kind = type(value)
    if kind is int or kind is bool or kind is str:
        return kind, value
    if kind is float:
        return kind, value.hex()  # tells -0.0 from 0.0 and NaN from nothing
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    if kind in SCALAR_TYPES:
        return kind, value.tobytes()
    if isinstance(value, tuple):
        return _tuple_tag(value, [], ())
    # Asked of the class: an object may answer to every name.
    own = getattr(value if isinstance(value, type) else kind, OWN_TAG, None)
    if isinstance(own, FunctionType) and (tag := own(value)) is not None:
        return tag
    if isinstance(value, type | np.dtype | ModuleType | BuiltinFunctionType):
        return value
    if isinstance(value, float | complex | np.generic):  # which call -0.0 and 0.0 equal
        number = np.asarray(value)
        return kind, str(number.dtype), number.tobytes()
    scope = None if _is_library_function(value) else scope_of(value)
    if scope is not None:
        return function_tag(scope, [])
    try:
        hash(value)
    except Exception:  # an object may raise whatever it likes
        return kind, id(value)
    return kind, value  # an enumeration's 1 is equal to another's 1.0


def function_tag(scope: Scope, hidden: list[View], seen: tuple[CodeType, ...] = ()) -> object:
    """Tag of a function: its code and what it captures. Captured Views go to `hidden`."""
    code = scope.fn.__code__
    if code in seen:
        return code
    names, held = names_of(scope), len(hidden)
    try:
        tags = environment_tags(scope, names.paths, hidden, (*seen, code))
    except NamesLeadOn:
        del hidden[held:]
        names = names_of(scope, again=True)
        tags = environment_tags(scope, names.paths, hidden, (*seen, code), again=True)
    return names.number, is_strict(scope.fn), *scope.bound, *tags


def _tuple_tag(
    value: tuple[Any, ...], hidden: list[View], seen: tuple[CodeType, ...]
) -> tuple[object, ...]:
    """Tag of a tuple, whose items may be functions; the Views that these capture go to `hidden`."""
    # Of a NamedTuple kernels know the names of the fields, and whether it has code of its own.
    tags: list[object] = [tuple]
    if type(value) is not tuple:
        tags += (fields_of(value), own_operator(type(value)))
    for item in tuple.__iter__(value):  # whatever the class says
        if isinstance(item, tuple):
            tags.append(_tuple_tag(item, hidden, seen))
        else:
            function = function_of(item)
            own = constant_tag(item) if function is None else function_tag(function, hidden, seen)
            tags.append(own)
    return tuple(tags)


class HelperNames:
    """The outer names of a helper, found once for its code and its module.

    Attributes
    ----------
    code, module
        Kept, so that their identities are not given to others.
    paths : tuple
        Captured names, which each launch reads.
    fixed : dict
        What the others stand for.
    unchanged : callable or None
        A test of that.
    number : int
        No other helper has it, nor this one after its names have changed: what is compiled for
        the number and the values of `paths` is right.
    """

    __slots__ = ("code", "fixed", "module", "number", "paths", "unchanged")

    def __init__(self, scope: Scope) -> None:
        self.code, self.module = scope.fn.__code__, scope.fn.__globals__
        self.fixed = fixed_names(scope)  # first: what changes meanwhile is then noticed
        self.unchanged = unchanged(scope.fn, self.fixed)
        self.paths = tuple(captured_paths(scope))
        self.number = _new_number()


_new_number = numbers()
_known_names: dict[tuple[Any, ...], HelperNames] = {}


def names_of(scope: Scope, again: bool = False) -> HelperNames:
    """The outer names of a helper as they are now; `again`: found anew whatever is known."""
    fn = scope.fn
    key = (id(fn.__code__), id(fn.__globals__), *scope.bound)
    known = None if again else _known_names.get(key)
    if known is None or (known.unchanged is not None and not known.unchanged()):
        if len(_known_names) > 4096:
            _known_names.clear()
        known = _known_names[key] = HelperNames(scope)
    return known


def paths_of(scope: Scope) -> tuple[tuple[str, ...], ...]:
    """Captured names of a helper."""
    return names_of(scope).paths


def function_of(value: Any) -> Scope | None:
    """The Scope of a function that a kernel may call as a helper.

    None for all else, functions of libraries whose meaning compilers know by identity included.
    """
    kind = type(value)
    if kind is int or kind is float or kind is str or kind is bool:
        return None
    if isinstance(value, type | BuiltinFunctionType | np.generic | np.ufunc | np.dtype | tuple):
        return None
    return None if _is_library_function(value) else scope_of(value)


def _is_library_function(value: Any) -> bool:
    """Whether it is a Python function of a library that kernels know by identity."""
    if isinstance(value, FunctionType) and is_marked(value):
        return False
    module = getattr(value, "__module__", None) if isinstance(value, FunctionType) else None
    return isinstance(module, str) and module.partition(".")[0] in _FIXED_MODULES


class NamesLeadOn(Exception):
    """A name stands for an object now, whose attributes are captured, and did not before."""


_WHOLE = frozenset((*SCALAR_TYPES, str, tuple, type(None), BuiltinFunctionType, np.ufunc))


def _leads_on(
    scope: Scope, path: tuple[str, ...], paths: tuple[tuple[str, ...], ...], value: Any
) -> bool:
    """Whether the function reads attributes of a captured object that no other name stands for."""
    if not _has_constants(value):
        return False
    roots = frozenset((*scope.bound, *defaults(scope.fn)))
    longer = [p for p in paths if len(p) > len(path)]
    for read in loaded_names(scope.fn.__code__, roots):
        if len(read) > len(path) and read[: len(path)] == path:
            if not any(read[: len(p)] == p for p in longer):
                return True
    return False


def environment_tags(
    scope: Scope,
    paths: tuple[tuple[str, ...], ...],
    hidden: list[View],
    seen: tuple[CodeType, ...],
    again: bool = False,
) -> list[object]:
    """Tags of what a function captures now; captured Views go to `hidden`, in order.

    Raises
    ------
    NamesLeadOn
        Unless it is done `again`: the names were found after that.
    """
    tags: list[object] = []
    for path in paths:
        value = lookup(scope, path)
        if type(value) is View:
            tags.append(value.type)
            hidden.append(value)
        elif is_array(value):
            view = view_of(value, label=path[-1])
            tags.append(view.type)
            hidden.append(view)
        elif isinstance(value, tuple):
            tags.append(_tuple_tag(value, hidden, seen))
        else:
            function = function_of(value)
            if function is None:
                if type(value) not in _WHOLE and not again and _leads_on(scope, path, paths, value):
                    raise NamesLeadOn
                tags.append(constant_tag(value))
            else:
                tags.append(function_tag(function, hidden, seen))
    return tags


def captures_of(
    scope: Scope, paths: tuple[tuple[str, ...], ...], first_hidden: int
) -> tuple[Capture, ...]:
    """The captures of a LaunchSpec; hidden arguments are numbered from `first_hidden`.

    They hold all that a compiler needs, and no View: a plan must not keep memory alive.
    """
    found: list[Capture] = []
    paths = (*paths, *(p for p in library_paths(scope) if p not in paths))
    _collect(scope, paths, "", found, first_hidden, (scope.fn.__code__,))
    return tuple(found)


def _collect(
    scope: Scope,
    paths: tuple[tuple[str, ...], ...],
    prefix: str,
    found: list[Capture],
    position: int,
    seen: tuple[CodeType, ...],
) -> int:
    for path in paths:
        value = lookup(scope, path)
        name = prefix + ".".join(path)
        if isinstance(value, View) or is_array(value):
            found.append(Capture(name, None, "view", position))
            position += 1
        else:
            position = _collect_constant(value, name, found, position, seen)
    return position


def _collect_constant(
    value: Any, name: str, found: list[Capture], position: int, seen: tuple[CodeType, ...]
) -> int:
    """The captures of one constant: functions, in tuples too, have captures of their own."""
    function = function_of(value)
    if function is None:
        found.append(Capture(name, _bare(value), constant_tag(value)))
        for n, item in enumerate(tuple.__iter__(value) if isinstance(value, tuple) else ()):
            if isinstance(item, tuple) or function_of(item) is not None:
                position = _collect_constant(item, f"{name}[{n}]", found, position, seen)
        return position
    found.append(Capture(name, _bare(value), constant_tag(value)))
    code = function.fn.__code__
    if code not in seen:
        inner = paths_of(function)
        inner += tuple(p for p in library_paths(function) if p not in inner)
        position = _collect(function, inner, f"{name}/", found, position, (*seen, code))
    return position


def _bare(value: Any) -> Any:
    """A constant without the Views that functions in it hold."""
    if isinstance(value, tuple):
        held = tuple(tuple.__iter__(value))
        items = tuple(map(_bare, held))
        if all(a is b for a, b in zip(items, held, strict=True)):
            return value
        return tuple.__new__(type(value), items)
    function = function_of(value)
    if function is None:
        return value
    return Scope(without_views(function.fn), dict.fromkeys(function.bound))


def _may_hold_views(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(isinstance(v, FunctionType) or _may_hold_views(v) for v in tuple.__iter__(value))
    return isinstance(value, View | MethodType | partial) or is_array(value)


def without_views(
    fn: FunctionType, copies: dict[FunctionType, FunctionType] | None = None
) -> FunctionType:
    """The function with a closure of its own, which holds no View: plans may keep it.

    `copies` are those that are made already: functions may hold each other.
    """
    if not fn.__closure__ and not fn.__defaults__ and not fn.__kwdefaults__:
        return fn
    copies = {} if copies is None else copies
    if fn in copies:
        return copies[fn]
    cells = tuple(CellType() for _ in fn.__closure__ or ())
    copy = FunctionType(fn.__code__, fn.__globals__, fn.__name__, None, cells)
    copies[fn] = copy
    for cell, own in zip(fn.__closure__ or (), cells, strict=True):
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        if isinstance(value, FunctionType):
            value = without_views(value, copies)
        if not _may_hold_views(value):
            own.cell_contents = value
    copy.__qualname__ = fn.__qualname__
    copy.__annotations__ = fn.__annotations__
    copy.__dict__.update(fn.__dict__)
    copy.__dict__[_OPTIONAL] = frozenset(defaults(fn))
    return copy


# Attribute of such a function: parameters that have default values, which may be Views.
_OPTIONAL = "__execspace_optional__"


def is_optional(fn: FunctionType, parameter: str) -> bool:
    """Whether a parameter has a default value, in a function `without_views`, too."""
    return parameter in defaults(fn) or parameter in fn.__dict__.get(_OPTIONAL, ())
