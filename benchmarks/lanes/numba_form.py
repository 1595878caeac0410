"""Kernels as Numba compiles them: the same functions, in a loop over the range.

For `es` stands a module of what Numba has itself, and Philox4x32-10 for the random numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.optional import NotThere, library
from benchmarks.lanes.cases import Case

M0, M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
W0, W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
LOW, WORD = np.uint64(0xFFFFFFFF), np.uint64(32)


def by_numba(case: Case, threads: int) -> Callable[[], Any]:
    """A call of the loop; NotThere without Numba, or if it cannot compile the kernel."""
    numba = library("numba")
    if any(array.dtype.fields for array in map(np.asarray, _views(case))):
        raise NotThere("Numba has no records with operators")
    kernel = _jitted(numba, case.kernel.fn, _stand_in(numba))
    names = [f"a{n}" for n in range(len(case.arguments))]
    indices = [f"i{d}" for d in range(len(case.upper))]
    lines = [f"def loop({', '.join(names)}):"]
    for d, (low, high) in enumerate(zip(case.lower, case.upper, strict=True)):
        kind = "prange" if d == 0 else "range"
        lines.append(f"{'    ' * (d + 1)}for {indices[d]} in {kind}({low}, {high}):")
    lines.append(f"{'    ' * (len(indices) + 1)}kernel({', '.join(indices + names)})")
    scope: dict[str, Any] = {"kernel": kernel, "prange": numba.prange}
    exec("\n".join(lines), scope)
    loop = numba.njit(parallel=threads > 1)(scope["loop"])
    given = [np.asarray(a) if isinstance(a, es.View) else a for a in case.arguments]

    def call() -> None:
        loop(*given)

    return call


def _views(case: Case) -> list[es.View]:
    return [a for a in case.arguments if isinstance(a, es.View)]


def _jitted(numba: Any, function: Any, stand_in: ModuleType) -> Any:
    """A function with all that it calls, compiled by Numba."""
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        known = scope.get(name)
        if known is es:
            scope[name] = stand_in
        elif inspect.isfunction(known):
            scope[name] = _jitted(numba, known, stand_in)
    return numba.njit(FunctionType(function.__code__, scope, function.__name__))


def _stand_in(numba: Any) -> ModuleType:
    module = ModuleType("numba_form_es")
    for name in ("int32", "uint32", "uint64", "float32", "float64"):
        setattr(module, name, getattr(np, name))
    module.local = np.zeros  # type: ignore[attr-defined]
    bits = numba.njit(_bits)

    @numba.njit
    def random_uniform(seed, index, draw):  # type: ignore[no-untyped-def]
        return np.float64(bits(seed, index, draw) >> np.uint64(11)) * 2.0**-53

    @numba.njit
    def random_uniform32(seed, index, draw):  # type: ignore[no-untyped-def]
        return np.float32(bits(seed, index, draw) >> np.uint64(40)) * np.float32(2.0**-24)

    module.random_uniform = random_uniform  # type: ignore[attr-defined]
    module.random_uniform32 = random_uniform32  # type: ignore[attr-defined]
    return module


def _bits(seed, index, draw):  # type: ignore[no-untyped-def]
    """Those of `es.random_uint64`, by Philox4x32-10 (Salmon et al., Proc. SC11, 2011)."""
    counter, half = np.uint64(index), np.uint64(draw) // np.uint64(2)
    c0, c1, c2, c3 = counter & LOW, counter >> WORD, half & LOW, half >> WORD
    k0, k1 = np.uint64(seed) & LOW, np.uint64(seed) >> WORD
    for _ in range(10):
        a, b = c0 * M0, c2 * M1
        c0, c1, c2, c3 = (b >> WORD) ^ c1 ^ k0, b & LOW, (a >> WORD) ^ c3 ^ k1, a & LOW
        k0, k1 = (k0 + W0) & LOW, (k1 + W1) & LOW
    if draw % 2:
        return c2 | (c3 << WORD)
    return c0 | (c1 << WORD)
