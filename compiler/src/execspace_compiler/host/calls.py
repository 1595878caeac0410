"""Calls of machine code: entries as functions of a plan, and what is done around them.

What a launch does not need is loaded when it is.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof, c_int64
from functools import partial
from typing import Any

import numpy as np

from execspace import LaunchError, LaunchSpec
from execspace.base.interrupts import held

from ..reductions.results import result_maker, result_shape, store_result
from ..teams.scratch_sizes import Sizes
from . import machine
from .facts import Facts, Requirement
from .objects import NAME, OBJECTS, TABLE
from .output import flush_c_output
from .pool import ENTRY, Pool

# In a forked child it is -1: the pool of threads did not survive the fork, and waiting for it would
# hang.
_process = c_int64(1)


def forbid_teams() -> None:
    """Run all ranges of this process on the calling thread from now on."""
    _process.value = -1


class _Code:
    """Machine code of a launch with the objects that it uses: the `self` of its entry."""

    def __init__(self, code: bytes, objects: dict[str, Any], imports: dict[str, int]) -> None:
        self.objects = objects
        self.library = machine.Library(code, (NAME, TABLE), imports)
        table = (ctypes.c_void_p * len(OBJECTS)).from_address(self.library.address(TABLE))
        for n, name in enumerate(OBJECTS):
            if name == "process":
                table[n] = addressof(_process)
            elif objects.get(name) is not None or name == "none":
                table[n] = id(objects.get(name))


def entry_of(
    kernel: str,
    spec: LaunchSpec,
    facts: Facts,
    code: bytes,
    overlapping: Callable[..., Any] | None,
    outside: Mapping[str, tuple[int, object]],
    pool: Pool | None = None,
) -> Callable[..., Any]:
    """The entry of a launch as a function of bounds and arguments.

    `outside`: address of each symbol of the code that is not found by its name, and its owner.
    `pool`: whose threads run the parts, if not those of the process.
    """
    finish = None
    count, shape = len(spec.arguments), spec.array_shape
    if spec.out:
        stored, views = result_shape(spec), slice(count, count + len(spec.out))

        def finish(numbers: Any, args: tuple[Any, ...]) -> None:
            store_result(kernel, args[views], numbers, stored)

    elif spec.reducer is not None and shape is None:
        make = result_maker(spec, facts.result)
        if make is not None:

            def finish(numbers: Any, args: tuple[Any, ...]) -> Any:
                return make(numbers)

    objects = {
        "descriptor": "descriptor",
        "item": "item",
        "refuse": partial(_refuse, kernel, facts.limits),
        "overlapping": overlapping,
        "finish": None if shape is not None else finish,
        "misused": partial(_misused, kernel),
        "owners": [owner for _, owner in outside.values()],
    }
    imports = {symbol: found for symbol, (found, _) in outside.items()}
    if found := machine.address_of(ENTRY) if pool is None else pool.run:
        imports[ENTRY] = found
    owner = _Code(code, objects, imports)
    call: Callable[..., Any] = machine.built_in(owner.library.address(NAME), owner)
    if shape is None:
        return call
    empty = partial(np.empty, shape, facts.result)

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        array = empty()
        call(bounds, (*args, array.ctypes.data))
        return array if finish is None else finish(array, args)

    return launch


_numba_table = (c_int64 * 2)()


def on_numba(call: Callable[..., Any]) -> Callable[..., Any]:
    """A launch on Numba's threads."""
    with held():  # what Numba prepares at its first start is not prepared again
        from .numba_threads import ADDRESS

    _numba_table[0] = ADDRESS
    table = addressof(_numba_table)

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        return call(bounds, (*args, table))

    return launch


def _refuse(
    kernel: str, limits: tuple[tuple[int, str, int, int], ...], args: tuple[Any, ...]
) -> None:
    from ..passes.pipeline import check_limits

    check_limits(kernel, limits, args)


def _misused(kernel: str) -> None:
    raise TypeError(
        f"Kernel '{kernel}': a plan's launch takes two tuples, the bounds and all arguments."
    )


def reporting(call: Callable[..., Any], kernel: str, facts: Facts, rank: int) -> Callable[..., Any]:
    """A launch whose kernel prints or asserts: output is flushed, and failures are raised."""
    if not facts.prints:
        return _asserting(call, kernel, facts, rank)
    table = c_int64 * (1 + rank)

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        if sys.stdout is not None:
            sys.stdout.flush()  # so that output of Python and of C is in order
        status = table() if facts.assertions else None
        try:
            return call(bounds, args if status is None else (*args, addressof(status)))
        finally:
            flush_c_output()
            if status is not None and status[0]:
                code, *indices = status
                raise _failure(kernel, facts, code, indices)

    return launch


def _asserting(
    call: Callable[..., Any], kernel: str, facts: Facts, rank: int
) -> Callable[..., Any]:
    """A launch that raises failures; launches reuse the memory of the status."""
    table = c_int64 * (1 + rank)
    idle: list[tuple[Any, int]] = []

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        try:
            status, address = slot = idle.pop()
        except IndexError:  # the first launch, or others are under way
            status = table()
            address = addressof(status)
            slot = status, address
        result = call(bounds, (*args, address))
        if status[0]:
            code, *indices = status
            raise _failure(kernel, facts, code, indices)
        idle.append(slot)
        return result

    return launch


def _failure(kernel: str, facts: Facts, code: int, indices: list[int]) -> Exception:
    from ..ir import Assertion
    from ..ir.diagnostics import Loc
    from ..launch.failures import failure

    assertions = [Assertion(Loc(*row[:5]), *row[5:]) for row in facts.assertions]
    return failure(kernel, assertions, code, indices)


def with_scratch(call: Callable[..., Any], sizes: Sizes) -> Callable[..., Any]:
    """A launch that raises LaunchError if scratch memory exceeds the limits."""

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        sizes(bounds[1], args)
        return call(bounds, args)

    return launch


def aligned_call(
    call: Callable[..., Any], kernel: str, required: Sequence[Requirement]
) -> Callable[..., Any]:
    """A launch that raises LaunchError for a View without the alignment of `wide.aligned_views`."""

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        for n, name, size in required:
            if args[n].data_ptr % size:
                raise LaunchError(
                    f"Kernel '{kernel}': View '{name}' starts at an address that is not a multiple "
                    f"of {size}, expected one for atomic operations on elements of {size} bytes. "
                    f"Copy it into a View of your own, whose memory is aligned, with es.deep_copy."
                )
        return call(bounds, args)

    return launch
