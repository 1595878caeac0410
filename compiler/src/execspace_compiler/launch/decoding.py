"""What kernels of a reduction wrote, as the number or numbers that the user gets."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from execspace import LaunchSpec
from execspace.reducers.base import flattened

from ..codegen.cfamily.entries import CODES
from ..codegen.cfamily.states import SLOT
from ..reductions.results import result_maker
from ..typing.lowered import Lowered


def result_decoder(spec: LaunchSpec, lowered: Lowered) -> Callable[[Any], Any]:
    """A function from the bytes that kernels wrote to the result of a reduction."""
    assert lowered.reduction is not None
    names = lowered.reduction.result
    dtypes = [np.dtype(n) for n in flattened(names)]
    shape = spec.array_shape
    if shape is not None:
        count = int(np.prod(shape))
        return lambda raw: np.frombuffer(raw, dtypes[0], count).copy().reshape(shape)
    make = result_maker(spec, names)
    codes = ["?" if t.kind == "b" else CODES[t.name] for t in dtypes]
    slots = (f"{c}{SLOT - t.itemsize}x" for c, t in zip(codes, dtypes, strict=True))
    unpack = struct.Struct(f"={''.join(slots)}").unpack_from
    complex_ones = [t.kind == "c" for t in dtypes]
    if make is None and complex_ones == [False]:
        return lambda raw: unpack(raw)[0]

    def decode(raw: Any) -> Any:
        numbers = unpack(raw)
        if True in complex_ones:
            rest = iter(numbers)
            numbers = tuple(
                complex(next(rest), next(rest)) if c else next(rest) for c in complex_ones
            )
        number = numbers[0] if len(numbers) == 1 else numbers
        return number if make is None else make(number)

    return decode
