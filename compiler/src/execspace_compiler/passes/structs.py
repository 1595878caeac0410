"""Types of parameters that tuples and dataclasses fill: `LaunchSpec.structs` of flat arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from execspace.launch.structs import StructConstant, StructType

from ..ir.diagnostics import NOWHERE
from ..ir.types import TupleTy, Type
from ..typing.rules.operators import constant
from ..typing.value_types import StructTy, constant_type, type_of
from ..typing.values import FixedField, Obj, TupleValue, Value


def put_together(
    parameters: Sequence[str], structs: Sequence[StructType | None], types: Sequence[Type]
) -> list[Type]:
    """The type of each parameter, from those of the explicit arguments of a launch."""
    rest = iter(types)
    return [
        next(rest) if struct is None else _type(struct, name, rest)
        for name, struct in zip(parameters, structs, strict=True)
    ]


def _type(struct: StructType, path: str, rest: Iterator[Type]) -> Type:
    names: list[str] = []
    items: list[Type] = []
    constants: list[FixedField] = []
    for n, item in enumerate(struct.items):
        name = struct.names[n] if struct.names else ""
        own = f"{path}.{name}" if name else f"{path}[{n}]"
        if isinstance(item, StructConstant):
            value = _value(item.value, own)
            if struct.is_tuple:
                known = constant_type(value, NOWHERE)
                items.append(type_of(value, NOWHERE) if known is None else known)
            else:
                constants.append(FixedField(name, item.tag, value))
                continue
        else:
            items.append(next(rest) if item is None else _type(item, own, rest))
        names.append(name)
    if struct.is_tuple:
        return TupleTy(tuple(items), struct.names)
    return StructTy(struct.cls, tuple(names), tuple(items), tuple(constants))


def _value(value: Any, path: str) -> Value:
    if isinstance(value, tuple):
        return TupleValue(tuple(_value(v, f"{path}[{n}]") for n, v in enumerate(value)))
    if isinstance(value, bool | int | float | complex | np.generic):
        return constant(value, NOWHERE)
    return Obj(value, path)
