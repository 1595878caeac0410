"""Global names that launches need not read one by one: modules' functions, and builtins.

They hardly ever change, but a program may shadow `abs`, delete what shadowed it, give another
module the name `np` or replace a function in a module, and a kernel means then what Python means.
So each kernel has a test in Python's own bytecode, which takes a few nanoseconds a name: the
interpreter remembers where it found a global name, and notices when that is no longer true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

Unchanged = Callable[[], bool]


def meanings(fn: FunctionType, paths: Iterable[tuple[str, ...]]) -> dict[str, Any]:
    """What dotted names stand for now, in a function's module.

    Parameters
    ----------
    fn : function
    paths : iterable of tuple of str
        Global names. A name in a module is followed as far as it leads through modules.
    """
    known: dict[str, Any] = {}
    for path in paths:
        found = _followed(fn, path)
        if found is not None:
            known.setdefault(*found)
    # What a module makes anew each time it is asked could never be found unchanged.
    return {n: v for n, v in known.items() if _test(fn, (n,), (v,))()}


def unchanged(fn: FunctionType, known: dict[str, Any]) -> Unchanged | None:
    """A test whether names still stand for what `meanings` found; None if there are none."""
    return _test(fn, tuple(known), tuple(known.values())) if known else None


def same_modules(one: FunctionType, other: FunctionType) -> bool:
    """Whether two functions of the same code find the same modules and builtins by their names.

    What else global names stand for may differ: launches read it again.
    """
    todo = [one.__code__]
    for code in todo:
        todo += (c for c in code.co_consts if isinstance(c, CodeType))
        for name in code.co_names:
            mine, its = (fn.__globals__.get(name, _MISSING) for fn in (one, other))
            if mine is not its and any(
                v is _MISSING or isinstance(v, ModuleType) for v in (mine, its)
            ):
                return False
    return True


_MISSING = object()


def _followed(fn: FunctionType, path: tuple[str, ...]) -> tuple[str, Any] | None:
    try:
        value = eval(path[0], fn.__globals__)
        depth = 1
        while isinstance(value, ModuleType) and depth < len(path):
            value = getattr(value, path[depth])
            depth += 1
    except Exception:  # undefined, or whatever else a module raises for a name that it lacks
        return None
    return ".".join(path[:depth]), value


def _test(fn: FunctionType, names: tuple[str, ...], values: tuple[Any, ...]) -> Unchanged:
    return FunctionType(_code(names), fn.__globals__, "unchanged", (*values, Exception))


@lru_cache(maxsize=1024)
def _code(names: tuple[str, ...]) -> CodeType:
    # Parameters that have the values as their defaults; no user's name looks like them.
    values = [f"_execspace_value_{n}" for n in range(len(names))]
    tests = " and ".join(f"{name} is {v}" for name, v in zip(names, values, strict=True))
    text = f"""
def unchanged({", ".join(values)}, _execspace_error):
    try:
        return {tests}
    except _execspace_error:
        return False
"""
    module = compile(text, "<execspace names>", "exec", dont_inherit=True)
    return next(c for c in module.co_consts if isinstance(c, CodeType))
