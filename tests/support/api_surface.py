"""The public API as text: names, signatures, fields and methods, one a line.

`tests/project/test_versioning.py` compares it with docs/api-surface.txt.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import re
from types import GenericAlias, ModuleType
from typing import Any

import execspace as es
from execspace.base import console
from execspace.contract import hookspecs
from execspace_compiler import backend, cache

# What plugins may use of the compiler; docs/plugins.md describes how.
COMPILER = {"backend": backend.__all__, "cache": cache.__all__}


class _Raw:
    """An annotation that is shown as it was written."""

    def __init__(self, text: Any) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text if isinstance(self.text, str) else inspect.formatannotation(self.text)


def _value(value: Any) -> str:
    """A default, without what changes from run to run."""
    if inspect.isfunction(value):
        return "<function>"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


class _Default:
    def __init__(self, value: Any) -> None:
        self.text = _value(value)

    def __repr__(self) -> str:
        return self.text


def signature(function: Any) -> str:
    """Parameters and result of a function, with annotations as they were written."""
    empty = inspect.Parameter.empty
    made = inspect.signature(function)
    parameters = [
        p.replace(
            annotation=empty if p.annotation is empty else _Raw(p.annotation),
            default=empty if p.default is empty else _Default(p.default),
        )
        for p in made.parameters.values()
    ]
    result = made.return_annotation
    result = result if result is inspect.Signature.empty else _Raw(result)
    return str(made.replace(parameters=parameters, return_annotation=result))


def _members(cls: type) -> dict[str, Any]:
    """Public members of a class and of those of its bases that are not public themselves."""
    found: dict[str, Any] = {}
    for base in cls.__mro__:
        public = base is not cls and getattr(es, base.__name__, None) is base
        if public or not base.__module__.startswith("execspace"):
            continue
        annotations = inspect.get_annotations(base)
        for name in [*annotations, *vars(base)]:
            if not name.startswith("_") or name in ("__init__", "__new__", "__call__"):
                found.setdefault(name, vars(base).get(name))
    return found


def describe_class(name: str, cls: type) -> list[str]:
    """A class with its bases, its fields and its methods."""
    # What makes attributes read-only is not a part of the interface.
    inner = {"object", "ReadOnly", "_Parts", "_RangeParts", "_MDRangeParts"}
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base.__name__ not in inner)
    kind = "record " if dataclasses.is_dataclass(cls) else "class "
    lines = [f"{kind}{name}({bases})"]
    fields: dict[str, str] = {}
    if dataclasses.is_dataclass(cls):
        for field in dataclasses.fields(cls):
            optional = field.default is not dataclasses.MISSING
            default = f" = {_value(field.default)}" if optional else ""
            if field.default_factory is not dataclasses.MISSING:
                default = " = ..."
            fields[field.name] = f"{_Raw(field.type)!r}{default}"
        public = {name: text for name, text in fields.items() if not name.startswith("_")}
        lines += [f"    {name}: {text}" for name, text in public.items()]
    for member, value in sorted(_members(cls).items()):
        if member == "__new__" and hasattr(cls, "_fields"):  # of a NamedTuple: its items
            continue
        if member in fields or (fields and member == "__init__"):
            continue
        plain = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        abstract = "abstract " if getattr(value, "__isabstractmethod__", False) else ""
        if isinstance(plain, property | functools.cached_property):
            lines.append(f"    {abstract}{member} (property)")
        elif inspect.isfunction(plain):
            lines.append(f"    {abstract}{member}{signature(plain)}")
        else:
            lines.append(f"    {member}")
    return lines


def describe(name: str, value: Any) -> list[str]:
    """A public name."""
    if isinstance(value, ModuleType):
        lines = [f"module {name}"]
        of = value.__name__
        own = [n for n, v in vars(value).items() if getattr(v, "__module__", "") == of]
        own = list(getattr(value, "__all__", own))
        for member in sorted(n for n in own if not n.startswith("_")):
            lines += [f"    {line}" for line in describe(member, getattr(value, member))]
        return lines
    if inspect.isclass(value):
        if not value.__module__.startswith("execspace"):
            return [f"{name} = {value.__module__}.{value.__qualname__}"]
        return describe_class(name, value)
    if isinstance(value, GenericAlias):
        return [f"{name} = {value}"]
    if callable(value) and hasattr(value, "__name__"):
        return [f"{name}{signature(value)}"]
    if isinstance(value, tuple):
        return [f"{name} = {value}"]
    return [f"{name}: {type(value).__name__}"]


def surface() -> str:
    """All of it."""
    lines = [
        "# Written by UPDATE_API=1 python -m pytest tests/project/test_versioning.py",
        "",
        "execspace",
    ]
    for name in sorted(es.__all__):
        lines += [f"    {line}" for line in describe(name, getattr(es, name))]
    lines += ["", "hooks of execspace"]
    hooks = {n: h for n, h in vars(hookspecs).items() if n.startswith("execspace_")}
    for name, hook in sorted(hooks.items()):
        lines.append(f"    {name}{signature(hook)}")
    lines.append(f"    {describe('deprecated', hookspecs.deprecated)[0]}")
    lines += ["", "execspace.base.console"]
    for name in ("table", "write", "write_json"):
        lines += [f"    {line}" for line in describe(name, getattr(console, name))]
    for module, names in COMPILER.items():
        lines += ["", f"execspace_compiler.{module}"]
        loaded = importlib.import_module(f"execspace_compiler.{module}")
        for name in names:
            lines += [f"    {line}" for line in describe(name, getattr(loaded, name))]
    return "\n".join(lines) + "\n"
