"""Kernels: a Python function, its options, and what it takes from enclosing scopes.

Core compiles nothing. It finds out which names a function captures, and reads them again at
every launch: Views become hidden arguments; numbers, strings, dtypes and functions are
constants *by value*, part of the key of the compiled plan, so changing one recompiles.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, overload

import numpy as np

from .argtypes import SCALAR_TYPES
from .errors import LaunchError
from .space import Capture
from .view import View, view_of

# Modules whose attributes never change: `math.pi` needs no second look at each launch.
_FIXED_MODULES = ("math", "cmath", "numpy", "execspace", "builtins", "operator")


class Kernel:
    """A function that can be launched; made by `@es.kernel`, or from a plain function.

    Calling it runs the Python function as it stands, for debugging.

    Attributes
    ----------
    fn : function
    name : str
    fma : bool
        Multiply-add may be contracted within an expression (the default).
    fastmath : bool
        Arithmetic may be reassociated and NaN ignored; results then differ between spaces.
    """

    __slots__ = (
        "__dict__", "__weakref__", "fastmath", "fma", "fn", "name", "paths", "plans",
    )  # fmt: skip

    def __init__(
        self, fn: FunctionType, *, fma: bool = True, fastmath: bool = False, name: str | None = None
    ) -> None:
        self.fn = fn
        self.fma = fma
        self.fastmath = fastmath
        self.name = name or fn.__name__
        self.plans: dict[tuple[Any, ...], Any] = {}
        # Dotted names that must be read again at each launch; None until the first one, when
        # the names are all defined.
        self.paths: tuple[tuple[str, ...], ...] | None = None
        self.__doc__ = fn.__doc__
        self.__name__ = fn.__name__
        self.__wrapped__ = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<kernel '{self.name}'>"

    def scan(self, fn: FunctionType) -> tuple[tuple[str, ...], ...]:
        """Find out which names of enclosing scopes the function uses."""
        self.paths = tuple(captured_paths(fn))
        return self.paths

    def environment(self, fn: FunctionType) -> tuple[tuple[object, ...], tuple[View, ...]]:
        """Tags of what `fn` captures now, and the captured Views in order.

        `fn` is this kernel's function or a re-creation of it: same code, other closure.
        """
        tags: list[object] = []
        hidden: list[View] = []
        for path in self.paths or ():
            value = lookup(fn, path)
            if type(value) is View:
                tags.append(value.type)
                hidden.append(value)
            elif isinstance(value, np.ndarray):
                view = view_of(value, label=path[-1])
                tags.append(view.type)
                hidden.append(view)
            else:
                tags.append(constant_tag(value))
        return tuple(tags), tuple(hidden)

    def capture_list(self, fn: FunctionType, first_hidden: int) -> tuple[Capture, ...]:
        """The captures of a LaunchSpec; hidden arguments are numbered from `first_hidden`."""
        captures = []
        for path in self.paths or ():
            value = lookup(fn, path)
            name = ".".join(path)
            if isinstance(value, View | np.ndarray):
                # Not the View itself: a compiled plan must not keep its memory alive.
                captures.append(Capture(name, None, "view", first_hidden))
                first_hidden += 1
            else:
                captures.append(Capture(name, value, constant_tag(value)))
        return tuple(captures)


_MISSING = type("Missing", (), {"__repr__": lambda self: "<undefined>"})()


def lookup(fn: FunctionType, path: tuple[str, ...]) -> Any:
    """Value of a dotted name as `fn` sees it now; a marker if it is not defined."""
    name = path[0]
    free = fn.__code__.co_freevars
    if name in free:
        try:
            value = (fn.__closure__ or ())[free.index(name)].cell_contents
        except ValueError:
            return _MISSING
    else:
        value = fn.__globals__.get(name, _MISSING)
        if value is _MISSING:
            value = getattr(builtins, name, _MISSING)
    for attribute in path[1:]:
        value = getattr(value, attribute, _MISSING)
    return value


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
    if isinstance(value, Kernel):
        value = value.fn
    if isinstance(value, FunctionType):
        return _function_tag(value, ())
    if isinstance(value, tuple):
        return (tuple, *map(constant_tag, value))
    try:
        hash(value)
    except TypeError:
        return kind, id(value)
    return value


def _function_tag(fn: FunctionType, seen: tuple[CodeType, ...]) -> object:
    code = fn.__code__
    if code in seen:
        return code
    tags: list[object] = []
    for path in captured_paths(fn):
        value = lookup(fn, path)
        if isinstance(value, Kernel):
            value = value.fn
        if isinstance(value, FunctionType):
            tags.append(_function_tag(value, (*seen, code)))
        elif isinstance(value, View | np.ndarray):
            tags.append(id(value))
        else:
            tags.append(constant_tag(value))
    return (code, *tags)


def captured_paths(fn: FunctionType) -> Iterator[tuple[str, ...]]:
    """Dotted names that `fn` reads from outside and whose values may change."""
    seen = set()
    for path in loaded_names(fn.__code__):
        depth, value = follow(fn, path)
        if not _is_fixed(fn, path[0], value) and path[:depth] not in seen:
            seen.add(path[:depth])
            yield path[:depth]


def _is_fixed(fn: FunctionType, root: str, value: Any) -> bool:
    """Whether a name need not be read again: a module, or a builtin that nothing shadows."""
    if isinstance(value, ModuleType):
        return True
    shadowed = root in fn.__code__.co_freevars or root in fn.__globals__
    return not shadowed and hasattr(builtins, root)


def follow(fn: FunctionType, path: tuple[str, ...]) -> tuple[int, Any]:
    """How many parts of a dotted name lead through modules and objects, and to what value.

    The rest are attributes that kernels know themselves, such as `shape` of a View. Modules
    whose attributes never change end the walk too.
    """
    value = lookup(fn, path[:1])
    depth = 1
    while depth < len(path) and _has_constants(value):
        value = getattr(value, path[depth], _MISSING)
        depth += 1
    return depth, value


def _has_constants(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] not in _FIXED_MODULES
    known = View | np.ndarray | np.generic | np.dtype | Kernel | FunctionType | BuiltinFunctionType
    if value is _MISSING or isinstance(value, known | tuple | str | int | float | complex):
        return False
    return not (isinstance(value, type) and value.__module__ in ("builtins", "numpy"))


@lru_cache(maxsize=4096)
def loaded_names(code: CodeType) -> tuple[tuple[str, ...], ...]:
    """Dotted names that a code object reads from enclosing scopes, in order."""
    return tuple(_loads(code, frozenset(code.co_freevars)))


def _loads(code: CodeType, free: frozenset[str]) -> Iterator[tuple[str, ...]]:
    import dis

    path: list[str] = []
    for op in dis.get_instructions(code):
        outside = op.opname in ("LOAD_GLOBAL", "LOAD_NAME") or (
            op.opname.startswith("LOAD_") and op.argval in free and "DEREF" in op.opname
        )
        if path and op.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            path.append(op.argval)
            continue
        if path and op.opname in ("CACHE", "PRECALL", "PUSH_NULL"):
            continue
        if path:
            yield tuple(path)
            path = []
        if outside:
            path = [op.argval]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _loads(constant, free & frozenset(constant.co_freevars))


@overload
def kernel(fn: FunctionType, /) -> Kernel: ...
@overload
def kernel(*, fma: bool = ..., fastmath: bool = ...) -> Callable[[FunctionType], Kernel]: ...
def kernel(fn: Any = None, /, *, fma: bool = True, fastmath: bool = False) -> Any:
    """Mark a function as a kernel. Compiles nothing; that happens at the first launch.

    Parameters
    ----------
    fma : bool, default True
        Allow multiply-add contraction within an expression. With ``fma=False`` IEEE basic
        operations agree bit for bit between spaces.
    fastmath : bool, default False
        Allow reassociation and assume that no NaN or infinity occurs.

    Examples
    --------
    >>> import execspace as es
    >>> @es.kernel
    ... def axpy(i, a, x, y):
    ...     y[i] += a * x[i]
    """
    if fn is None:
        return lambda f: kernel_from(f, fma=fma, fastmath=fastmath)
    return kernel_from(fn, fma=fma, fastmath=fastmath)


def kernel_from(fn: Any, *, fma: bool = True, fastmath: bool = False) -> Kernel:
    """A new Kernel of a Python function; LaunchError for anything else."""
    if isinstance(fn, Kernel):
        return fn
    if not isinstance(fn, FunctionType):
        raise _no_kernel(fn)
    return Kernel(fn, fma=fma, fastmath=fastmath)


def _no_kernel(fn: Any) -> LaunchError:
    return LaunchError(
        f"{fn!r} is no kernel; expected a Python function, a lambda, or a function decorated "
        f"with @es.kernel."
    )


# Kernels of plain functions by the identity of their code: a lambda that is re-created at
# each call finds its compiled plans again. A Kernel keeps its code, and so the identity, alive;
# the oldest entries go when there are too many.
_by_code: dict[int, Kernel] = {}
_MOST_FUNCTIONS = 4096


def kernel_of(fn: Any) -> tuple[Kernel, FunctionType]:
    """Kernel for whatever the user launches, and the function to read captures from."""
    if isinstance(fn, Kernel):
        return fn, fn.fn
    if not isinstance(fn, FunctionType):
        raise _no_kernel(fn)
    code = fn.__code__
    known = _by_code.get(id(code))
    if known is None:
        known = Kernel(without_views(fn))
        known.scan(fn)
        while len(_by_code) >= _MOST_FUNCTIONS:
            _by_code.pop(next(iter(_by_code)), None)
        _by_code[id(code)] = known
    return known, fn


def without_views(fn: FunctionType) -> FunctionType:
    """The function with a closure of its own, which holds no View: plans may keep it."""
    if not fn.__closure__:
        return fn
    cells = []
    for cell in fn.__closure__:
        try:
            value = cell.cell_contents
        except ValueError:
            cells.append(CellType())
            continue
        cells.append(CellType() if isinstance(value, View | np.ndarray) else CellType(value))
    copy = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, tuple(cells))
    copy.__qualname__ = fn.__qualname__
    return copy
