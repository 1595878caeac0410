"""The oracle: typed IR run by CPython with NumPy scalars, bounds-checked, one index at a time.

It defines what a kernel means; every space must give its answer. Contributions are joined in
index order. No multiply-add is contracted.
"""

from __future__ import annotations

import itertools
import linecache
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from execspace import ExecutionSpace, Kernel, LaunchSpec, View, ViewIndexError

from . import cache
from .pipeline import Lowered, lower_kernel
from .printers.oracle import OraclePrinter
from .printers.python import function_name
from .types import Scalar


class Checked:
    """A View as oracle kernels see it: every index must lie within its extent."""

    __slots__ = ("array", "label")

    def __init__(self, view: View, name: str) -> None:
        self.array: npt.NDArray[Any] = np.asarray(view)
        self.label = view.label or name

    def extent(self, d: int) -> np.int64:
        """Extent of a dimension."""
        return np.int64(self.array.shape[d])

    def _at(self, key: Any) -> tuple[int, ...]:
        indices = tuple(int(i) for i in (key if isinstance(key, tuple) else (key,)))
        for d, (i, n) in enumerate(zip(indices, self.array.shape, strict=True)):
            if not 0 <= i < n:
                raise ViewIndexError(
                    f"View '{self.label}': index {i} is out of bounds for dimension {d} of "
                    f"extent {n}, at {indices}."
                )
        return indices

    def __getitem__(self, key: Any) -> Any:
        return self.array[self._at(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.array[self._at(key)] = value


# -- operations that NumPy spells differently; generated text calls them ----------------------


def int_range(start: Any, stop: Any, step: Any) -> Iterator[np.int64]:
    """Python's range over int64 values."""
    return map(np.int64, range(int(start), int(stop), int(step)))


def cast(value: Any, to: Any) -> Any:
    """NumPy's astype for one scalar; narrow integers wrap."""
    if np.issubdtype(to, np.integer) and isinstance(value, np.floating):
        value = np.asarray(value).astype(np.uint64 if to is np.uint64 else np.int64)
    return np.asarray(value).astype(to)[()]


def python_min(a: Any, b: Any) -> Any:
    """Python's min."""
    return b if b < a else a


def python_max(a: Any, b: Any) -> Any:
    """Python's max."""
    return b if b > a else a


def int_pow(a: Any, b: Any) -> Any:
    """Wrapping integer power; a negative exponent truncates to an integer."""
    kind = type(a)
    base, exponent = int(a), int(b)
    if exponent < 0:
        if base not in (1, -1):
            return kind(0)
        return kind(base if exponent % 2 else 1)
    modulus = 1 << (8 * a.itemsize)
    return np.asarray(pow(base, exponent, modulus), dtype=np.uint64).astype(kind)[()]


def _real_function(name: str) -> Any:
    plain = getattr(math, name)

    def function(x: Any) -> Any:
        try:
            return type(x)(plain(float(x)))
        except OverflowError:
            return type(x)(np.inf)
        except ValueError:
            return type(x)(np.nan)

    return function


erf, erfc = _real_function("erf"), _real_function("erfc")
gamma, lgamma = _real_function("gamma"), _real_function("lgamma")


# -- plans ------------------------------------------------------------------------------------


@dataclass
class OraclePlan:
    """An interpreted launch; see `execspace.Plan`."""

    space: ExecutionSpace
    lowered: Lowered
    body: Any
    source: str

    def launch(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """Run the kernel for every index, the last one fastest."""
        spec = self.lowered.spec
        rank = spec.policy.rank
        names = [p.name for p in self.lowered.body.parameters[rank:]]
        out = None
        if spec.out is not None:
            *rest, out = args
            args = tuple(rest)
        values = [
            Checked(a, name) if isinstance(a, View) else _number(a, p.type)
            for a, name, p in zip(args, names, self.lowered.body.parameters[rank:], strict=True)
        ]
        ranges = [range(bounds[d], bounds[rank + d]) for d in range(rank)]
        with np.errstate(all="ignore"):
            result = self._run(ranges, values)
        if out is not None:
            out.memory_space.fill(out, result)
            return None
        return result

    def _run(self, ranges: list[range], values: list[Any]) -> Any:
        reduction = self.lowered.reduction
        if reduction is None:
            for index in itertools.product(*ranges):
                self.body(*map(np.int64, index), *values)
            return None
        kind = np.dtype(reduction.type.name).type
        acc = kind(reduction.states[0].identity.value)
        join = {
            "sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum
        }[reduction.kind]  # fmt: skip
        for index in itertools.product(*ranges):
            contribution = cast(self.body(*map(np.int64, index), *values), kind)
            acc = join(acc, contribution)
        return acc.item()


def _number(value: Any, type: Any) -> Any:
    assert isinstance(type, Scalar)
    return np.dtype(type.name).type(value)


def interpret(space: ExecutionSpace, kernel: Kernel, spec: LaunchSpec) -> OraclePlan:
    """A plan that runs `kernel` under CPython."""
    lowered = lower_kernel(kernel, spec)
    text = OraclePrinter(lowered.module()).text()
    file = f"<oracle {kernel.name} {cache.key(text)[:12]}>"
    # Registered like a file, so that tracebacks, pdb and coverage show the text.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": file}
    exec(compile(text, file, "exec"), scope)
    return OraclePlan(space, lowered, scope[function_name(lowered.body.name)], text)
