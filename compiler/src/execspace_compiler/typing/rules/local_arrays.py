"""es.local: private arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import execspace
from execspace.base.errors import DTypeError
from execspace.contract.dtypes import as_dtype

from ... import ir
from ...ir.diagnostics import Loc, counted, type_fault
from ...ir.types import Element, Scalar, SubArray, ViewTy, element_of
from ..context import CALLS, Call, Context
from ..module import local_array
from ..value_queries import constant_shape
from ..value_types import describe
from ..values import Obj, TupleValue, Value


def local_type(args: Sequence[Value], loc: Loc) -> ViewTy:
    """Type of `es.local(shape, dtype)`."""
    if not 1 <= len(args) <= 2:
        raise type_fault(
            loc,
            f"es.local takes a shape and a dtype, got {counted(len(args), 'argument')}",
            "write es.local(3) or es.local((3, 3), es.float32)",
        )
    given = args[0].items if isinstance(args[0], TupleValue) else (args[0],)
    shape = constant_shape(given, loc)
    element: Element = Scalar("float64")
    if len(args) == 2:
        wanted: Any = args[1].value if isinstance(args[1], Obj) else None
        try:
            element = element_of(as_dtype(wanted))
        except DTypeError:
            got = repr(wanted) if isinstance(wanted, str) else describe(args[1])
            raise type_fault(
                loc, f"es.local needs a dtype, got {got}", "write es.float64 or the like"
            ) from None
    assert not isinstance(element, SubArray)
    unit = len(shape) - 1 if shape else None
    return ViewTy(element, len(shape), "right", unit, False, shape)


@CALLS.of(execspace.local)
def _local(cx: Context, call: Call) -> Value:
    keywords = dict(call.keywords)
    dtype = [keywords.pop("dtype")] if "dtype" in keywords else []
    args = replace(call, keywords=keywords).positional()
    type = local_type([*args, *dtype], call.loc)
    name = local_array(call.loc)
    cx.types[name] = type
    array = ir.Var(name, type, call.loc)
    cx.out.append(ir.Clear(array, call.loc))
    return array
