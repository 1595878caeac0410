"""The text that a call of `exec` was given, where nobody holds it: `exec(f"...{n}...")`.

The expression of the argument is evaluated again, as far as that reads values and makes strings of
them and can do nothing else. Whoever asks compiles the result and compares it with the code that
runs, so an expression that has another value now does no harm.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import itertools
import pathlib
import textwrap
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from ..base.parsing import parse

_METHODS = (
    "format", "replace", "strip", "lstrip", "rstrip", "join", "removeprefix", "removesuffix",
    "expandtabs", "upper", "lower", "title", "zfill", "splitlines", "split", "decode",
)  # fmt: skip
_FUNCTIONS = (
    textwrap.dedent,
    textwrap.indent,
    inspect.cleandoc,
    str,
    repr,
    int,
    len,
    range,
    sorted,
    pathlib.Path,
)
_PATH_ATTRIBUTES = ("parent", "name", "stem", "suffix")
_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}
_PLAIN = (str, bytes, int, float, bool, complex, tuple, list, dict, range, type(None))
_MOST = 1 << 16  # items of a comprehension


class _NotRead(Exception):
    """The expression does more than to read values."""


def sources_of_call(caller: FrameType, source: str) -> Iterator[str]:
    """The text that a frame gives to the function that it is calling, by the frame's source."""
    place = next(itertools.islice(caller.f_code.co_positions(), caller.f_lasti // 2, None), None)
    if place is None or None in place:
        return
    try:
        tree = parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        at = (
            getattr(node, n, None) for n in ("lineno", "end_lineno", "col_offset", "end_col_offset")
        )
        if not isinstance(node, ast.Call) or tuple(at) != place or not node.args:
            continue
        text: ast.expr = node.args[0]
        if isinstance(text, ast.Call) and text.args and _called(text) == "compile":
            text = text.args[0]
        try:
            value = _Reader({**caller.f_globals, **caller.f_locals}).value(text)
        except Exception:  # of whatever the values do when they are read
            continue
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        if isinstance(value, str):
            yield value


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


class _Reader:
    """Evaluates expressions that only read values."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names

    def value(self, node: ast.expr) -> Any:
        """Value of an expression; _NotRead if it is of a kind that may do more."""
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                missing = getattr(builtins, node.id, None)
                return self.names.get(node.id, missing)
            case ast.JoinedStr():
                return "".join(map(self._part, node.values))
            case ast.Tuple() | ast.List():
                return [self.value(e) for e in node.elts]
            case ast.BinOp(op=ast.Add() | ast.Mult() | ast.Mod() | ast.Sub()):
                return self._binary(node)
            case ast.BinOp(op=ast.Div()):
                folder = self.value(node.left)
                if not isinstance(folder, pathlib.Path):
                    raise _NotRead
                return folder / self._plain(node.right)
            case ast.IfExp():
                return self.value(node.body if self._plain(node.test) else node.orelse)
            case ast.Subscript():
                return self._plain(node.value)[self._plain(node.slice)]
            case ast.Attribute():
                return self._attribute(self.value(node.value), node.attr)
            case ast.GeneratorExp() | ast.ListComp():
                return list(self._items(node.elt, node.generators))
            case ast.Call():
                return self._call(node)
        raise _NotRead

    def _part(self, node: ast.expr) -> str:
        if not isinstance(node, ast.FormattedValue):
            return str(self.value(node))
        value = self._printed(self.value(node.value))
        convert = _CONVERSIONS.get(node.conversion)
        spec = "" if node.format_spec is None else str(self.value(node.format_spec))
        return format(value if convert is None else convert(value), spec)

    def _printed(self, value: Any) -> Any:
        """A value whose text is made by Python or NumPy."""
        if type(value).__module__.partition(".")[0] not in ("builtins", "numpy", "pathlib"):
            raise _NotRead
        return value

    def _plain(self, node: ast.expr) -> Any:
        value = self.value(node)
        if type(value) not in _PLAIN:
            raise _NotRead
        return value

    def _binary(self, node: ast.BinOp) -> Any:
        a, b = self._plain(node.left), self._plain(node.right)
        if isinstance(node.op, ast.Add):
            return a + b
        if isinstance(node.op, ast.Sub):
            return a - b
        if isinstance(node.op, ast.Mod):
            return a % (tuple(b) if isinstance(node.right, ast.Tuple) else b)
        if max(len(v) if isinstance(v, str | list | tuple) else v for v in (a, b)) > _MOST:
            raise _NotRead
        return a * b

    def _attribute(self, owner: Any, name: str) -> Any:
        """An attribute that is data: a property would be code."""
        if isinstance(owner, ModuleType):
            return vars(owner)[name]
        if type(owner) in _PLAIN:
            raise _NotRead
        if isinstance(owner, pathlib.Path) and name in _PATH_ATTRIBUTES:
            return getattr(owner, name)
        if type(owner).__module__.partition(".")[0] == "numpy":
            return getattr(owner, name)
        value = inspect.getattr_static(owner, name)
        if hasattr(type(value), "__get__"):
            raise _NotRead
        return value

    def _items(self, element: ast.expr, loops: list[ast.comprehension]) -> Iterator[Any]:
        first, *rest = loops
        target = first.target
        names = [target] if isinstance(target, ast.Name) else getattr(target, "elts", None)
        if names is None or first.ifs or not all(isinstance(n, ast.Name) for n in names):
            raise _NotRead
        for item in itertools.islice(self._plain(first.iter), _MOST):
            values = (item,) if isinstance(target, ast.Name) else tuple(item)
            bound = zip((n.id for n in names), values, strict=True)
            inner = _Reader({**self.names, **dict(bound)})
            if rest:
                yield from inner._items(element, rest)
            else:
                yield inner.value(element)

    def _call(self, node: ast.Call) -> Any:
        args = [self.value(a) for a in node.args]
        options = {k.arg: self.value(k.value) for k in node.keywords if k.arg is not None}
        if len(options) != len(node.keywords):
            raise _NotRead
        for value in (*args, *options.values()):
            self._printed(value)
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            if isinstance(owner, pathlib.Path) and node.func.attr in ("read_text", "read_bytes"):
                return getattr(owner, node.func.attr)(*args, **options)
            if type(owner) in (str, bytes) and node.func.attr in _METHODS:
                return getattr(owner, node.func.attr)(*args, **options)
        function = self.value(node.func)
        number = isinstance(function, type) and issubclass(function, np.number)
        if not number and function not in _FUNCTIONS:
            raise _NotRead
        return function(*args, **options)
