"""The oracle: typed IR run by CPython with NumPy scalars, bounds-checked, one index at a time.

It defines what a kernel means; every space must give its answer. Contributions are joined in
index order. No multiply-add is contracted. Launches of teams are run by oracle_teams.py.
"""

from __future__ import annotations

import ast
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from execspace import ExecutionSpace, Kernel, LaunchSpec, View, ViewIndexError

from . import ir
from .assertions import failure, place
from .diagnostics import Loc
from .pipeline import Lowered, check_limits, lower_kernel
from .plans import TellsOfKernel
from .printers.oracle import HEAD, OraclePrinter
from .printers.python import function_name
from .reductions import Reduction
from .results import check_out, result_maker, result_shape, store_result
from .types import Scalar


class Checked:
    """A View as oracle kernels see it: every index must lie within its extent."""

    __slots__ = ("array", "label", "shape")

    def __init__(
        self, array: npt.NDArray[Any], label: str, shape: tuple[int, ...] | None = None
    ) -> None:
        self.array = array
        self.label = label
        self.shape = array.shape if shape is None else shape  # of a mapped View: its extents

    @classmethod
    def of(cls, view: View, name: str) -> Checked:
        """What a kernel sees of a View; of one with a layout of its own the row of elements.

        An array that is passed as it is has no label of its own: `name` is that of the parameter.
        """
        array = view.memory_space.host_array(view)
        own = view.label if not view.label.startswith("argument ") else ""
        return cls(array, own or name, view.shape)

    @property
    def atomic(self) -> Any:
        """The same for atomic steps, in a kernel of teams."""
        return self

    def extent(self, d: int) -> np.int64:
        """Extent of a dimension."""
        return np.int64(self.shape[d])

    def _at(self, key: Any) -> tuple[int, ...]:
        indices = tuple(int(i) for i in (key if isinstance(key, tuple) else (key,)))
        for d, (i, n) in enumerate(zip(indices, self.array.shape, strict=True)):
            if not 0 <= i < n:
                what = f"View '{self.label}'" if self.label else "local array"
                raise ViewIndexError(
                    f"{what}: index {i} is out of bounds for dimension {d} of "
                    f"extent {n}, at {indices}."
                )
        return indices

    def __getitem__(self, key: Any) -> Any:
        return self.array[self._at(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.array[self._at(key)] = value

    def _bytes(self, key: Any, byte: Any, to: Any) -> npt.NDArray[Any]:
        """The number so many bytes from the start of a record, as an array of rank 0."""
        at = self.array[(*(slice(i, i + 1) for i in self._at(key)),)]
        return np.ndarray((), to, at, int(byte))

    def field(self, key: Any, byte: Any, to: Any) -> Any:
        """A number within a record."""
        return self._bytes(key, byte, to)[()]

    def set_field(self, key: Any, byte: Any, value: Any) -> None:
        """Set a number within a record."""
        self._bytes(key, byte, type(value))[()] = value


class Status:
    """Turns a failed assertion into an exception at once."""

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered

    def fail(self, code: int, indices: tuple[int, ...]) -> None:
        """Raise for assertion number `code`."""
        raise failure(self.lowered.kernel.name, self.lowered.assertions, code, indices)


def local(shape: tuple[int, ...], kind: Any) -> Checked:
    """A local array."""
    return Checked(np.zeros(shape, kind), "")


def local_records(shape: tuple[int, ...], size: tuple[int]) -> Checked:
    """A local array of records, each so many bytes."""
    return Checked(np.zeros(shape, np.dtype((np.void, size[0]))), "")


def bounded(index: Any, extent: Any) -> Any:
    """An index of a part of a View, checked."""
    if not 0 <= index < extent:
        raise ViewIndexError(f"index {index} is out of bounds for an extent of {extent}.")
    return index


def printf(text: str, values: tuple[Any, ...]) -> None:
    """Write to standard output; Python's % formats numbers as C does."""
    shown = text % tuple(v.item() for v in values)
    if sys.stdout is not None:
        sys.stdout.write(shown)


# -- operations that NumPy spells differently; generated text calls them ----------------------


def int_range(start: Any, stop: Any, step: Any) -> Iterator[np.int64]:
    """Python's range over int64 values."""
    return map(np.int64, range(int(start), int(stop), int(step)))


def cast(value: Any, to: Any) -> Any:
    """NumPy's astype for one scalar; narrow integers wrap."""
    if np.issubdtype(to, np.integer) and isinstance(value, np.floating):
        value = np.asarray(value).astype(np.uint64 if to is np.uint64 else np.int64)
    return np.asarray(value).astype(to)[()]


def complex_mul(a: Any, b: Any) -> Any:
    """The product without contraction."""
    kind = type(a)
    return kind(complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real))


def complex_div(a: Any, b: Any) -> Any:
    """The quotient by Smith's method, as NumPy has it."""
    kind, one = type(a), type(a.real)(1)
    if abs(b.real) >= abs(b.imag):
        if b.real == 0 and b.imag == 0:
            return kind(complex(a.real / abs(b.real), a.imag / abs(b.real)))
        ratio = b.imag / b.real
        scale = one / (b.real + b.imag * ratio)
        re, im = (a.real + a.imag * ratio) * scale, (a.imag - a.real * ratio) * scale
        return kind(complex(re, im))
    ratio = b.real / b.imag
    scale = one / (b.imag + b.real * ratio)
    re, im = (a.real * ratio + a.imag) * scale, (a.imag * ratio - a.real) * scale
    return kind(complex(re, im))


def complex_sqrt(z: Any) -> Any:
    """The principal root, as C's csqrt has it; NumPy's own is not exact near the least numbers."""
    kind, part = type(z), type(z.real)
    a, b = z.real, z.imag
    if a == 0 and b == 0:
        return kind(complex(0.0, b))
    if np.isinf(b):
        return kind(complex(np.inf, b))
    if np.isnan(a):
        return kind(complex(a, a))
    if np.isinf(a):
        rest = b - b  # NaN for a NaN
        if a < 0:
            return kind(complex(abs(rest), np.copysign(a, b)))
        return kind(complex(a, np.copysign(rest, b)))
    huge = np.finfo(part).max / part(4)
    scale = part(2) if abs(a) > huge or abs(b) > huge else part(1)
    a, b = a / (scale * scale), b / (scale * scale)
    t = np.sqrt(part(0.5) * (abs(a) + np.hypot(a, b)))
    other = b / (part(2) * t)
    re, im = (abs(other), np.copysign(t, b)) if a < 0 else (t, other)
    return kind(complex(re * scale, im * scale))


def python_min(a: Any, b: Any) -> Any:
    """Python's min."""
    return b if b < a else a


def python_max(a: Any, b: Any) -> Any:
    """Python's max."""
    return b if b > a else a


def minimum(a: Any, b: Any) -> Any:
    """numpy.minimum, but of two zeros always the same one."""
    return a if a < b or a != a else b


def maximum(a: Any, b: Any) -> Any:
    """numpy.maximum, but of two zeros always the same one."""
    return a if a > b or a != a else b


def fmin(a: Any, b: Any) -> Any:
    """numpy.fmin, but of two zeros always the same one."""
    return a if a <= b or b != b else b


def fmax(a: Any, b: Any) -> Any:
    """numpy.fmax, but of two zeros always the same one."""
    return a if a >= b or b != b else b


def float_pow(a: Any, b: Any) -> Any:
    """A power. For an exponent of 0.5 `np.power` of two numbers takes the square root, which is
    another one at -0.0 and at minus infinity."""
    kind = np.result_type(a, b).type
    return kind(a) ** kind(b)


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


def _real_function(
    name: str, poles: Any = lambda x: math.nan, beyond: Any = lambda x: math.inf
) -> Any:
    plain = getattr(math, name)

    def function(x: Any) -> Any:
        try:
            return type(x)(plain(float(x)))
        except OverflowError:
            return type(x)(beyond(x))
        except ValueError:  # a pole, or beyond it
            return type(x)(poles(x))

    return function


def _gamma_at_pole(x: Any) -> float:
    return math.copysign(math.inf, x) if x == 0 else math.nan


erf, erfc = _real_function("erf"), _real_function("erfc")
# Near 0 it is 1 / x.
gamma = _real_function("gamma", _gamma_at_pole, lambda x: math.copysign(math.inf, x))
lgamma = _real_function("lgamma", lambda x: math.inf)


# -- plans ------------------------------------------------------------------------------------

Call = Callable[[tuple[int, ...], tuple[Any, ...]], Any]


@dataclass
class OraclePlan(TellsOfKernel):
    """An interpreted launch; see `execspace.Plan`.

    `functions` are the kernel itself and the functions of its reduction, by name.
    """

    space: ExecutionSpace
    lowered: Lowered
    functions: dict[str, Any]
    source: str

    @property
    def spec(self) -> LaunchSpec:
        """What it was made for."""
        return self.lowered.spec

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """How it goes through a range."""
        return ["one call after the other, interpreted, the last index fastest"]

    def launch(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """Run the kernel for every index, the last one fastest.

        With ``iterate="left"`` contributions come with the first one fastest.
        """
        spec = self.lowered.spec
        rank = spec.policy.rank
        inputs, out = args[: len(args) - len(spec.out)], args[len(args) - len(spec.out) :]
        check_limits(self.lowered.kernel.name, self.lowered.limits, inputs)
        call = self.caller(bounds, inputs)
        ranges = [range(bounds[d], bounds[rank + d]) for d in range(rank)]
        if spec.pattern != "for" and spec.policy.iterate == "left":
            indices = [i[::-1] for i in itertools.product(*ranges[::-1])]
        else:
            indices = list(itertools.product(*ranges))
        with np.errstate(all="ignore"):
            result = self._run(indices, call)
        if out:
            store_result(self.lowered.kernel.name, out, result, result_shape(spec))
            return None
        if self.lowered.reduction is None or spec.array_shape is not None:
            return result
        make = result_maker(spec, self.lowered.reduction.result)
        return result if make is None else make(result)

    def values(self, inputs: tuple[Any, ...]) -> list[Any]:
        """What the kernel gets for its arguments, the status of assertions being the last."""
        names = names_of(self.lowered)
        parameters = self.lowered.body.parameters[self.lowered.leading :]
        values = [
            Checked.of(a, name) if isinstance(a, View) else number(a, p.type)
            for a, name, p in zip(inputs, names, parameters, strict=False)
        ]
        if self.lowered.assertions:
            values.append(Status(self.lowered))
        return values

    def caller(self, bounds: tuple[int, ...], inputs: tuple[Any, ...]) -> Call:
        """What calls the kernel for an index, given what comes before its arguments."""
        body, values = self.functions["body"], self.values(inputs)

        def call(index: tuple[int, ...], leading: tuple[Any, ...]) -> Any:
            try:
                return body(*map(np.int64, index), *leading, *values)
            except ViewIndexError as error:
                error.args = (f"{place(self.lowered.kernel.name, index)}: {error}",)
                raise

        return call

    def _run(self, indices: list[tuple[int, ...]], call: Call) -> Any:
        reduction = self.lowered.reduction
        if reduction is None:
            for index in indices:
                call(index, ())
            return None
        if reduction.array is not None:
            return self._run_array(reduction, indices, call)
        first = tuple(number(s.identity.value, s.type) for s in reduction.states)
        state = first
        if self.lowered.spec.pattern == "scan":
            # The pass that is not final may change nothing that the final one sees.
            for index in indices:
                state = self._step(state, index, call, (*self._prefix(state), np.False_))
            state = first
        for index in indices:
            leading: tuple[Any, ...] = ()
            if self.lowered.spec.pattern == "scan":
                leading = (*self._prefix(state), np.True_)
            state = self._step(state, index, call, leading)
        numbers = tuple(python_number(v) for v in row(self.functions["result"](*state)))
        return numbers[0] if len(numbers) == 1 else numbers

    def _run_array(self, reduction: Reduction, indices: list[tuple[int, ...]], call: Call) -> Any:
        state = reduction.states[0]
        shape = self.lowered.spec.array_shape
        assert shape is not None
        array = np.full(shape, state.identity.value, state.type.name)
        for index in indices:
            call(index, (Checked(array, ""),))
        final = self.functions["result"]
        numbers = [row(final(v))[0] for v in array.ravel()]
        return np.array(numbers, reduction.result).reshape(shape)

    def _prefix(self, state: tuple[Any, ...]) -> tuple[Any, ...]:
        return row(self.functions["prefix"](*state))

    def _step(
        self, state: tuple[Any, ...], index: tuple[int, ...], call: Call, leading: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        return row(self.functions["step"](*state, *row(call(index, leading))))


def row(value: Any) -> tuple[Any, ...]:
    """What a function of the module returned, as a tuple."""
    return value if isinstance(value, tuple) else (value,)


def python_number(value: Any) -> Any:
    """A number as Python's own; a bool may be so already, since `not` of NumPy's gives Python's."""
    return value.item() if isinstance(value, np.generic) else value


def names_of(lowered: Lowered) -> list[str]:
    """Arguments of a launch as the source calls them."""
    parameters = lowered.body.parameters[lowered.leading :]
    names = [p.name.removeprefix("user") for p in parameters]
    for c in lowered.spec.captures:
        if c.argument is not None:
            names[c.argument] = c.name
    return names


def number(value: Any, type: Any) -> Any:
    """A NumPy scalar of a type of the IR."""
    assert isinstance(type, Scalar)
    return np.dtype(type.name).type(value)


def interpret(space: ExecutionSpace, kernel: Kernel, spec: LaunchSpec) -> OraclePlan:
    """A plan that runs `kernel` under CPython.

    Its code carries the file and the lines of the user's source, so pdb steps through the
    kernel as it was written, and coverage.py counts its lines.
    """
    lowered = lower_kernel(kernel, spec)
    reduction = lowered.reduction
    made: list[ir.Function] = []
    if reduction is not None:
        check_out(kernel.name, spec, reduction.result)
        made = [reduction.result_function("_result")]
        if reduction.array is None:
            made += [reduction.step_function("_step"), reduction.prefix_function("_prefix")]
    if spec.policy.kind == "team":
        from .oracle_teams import team_plan

        return team_plan(space, lowered, made)
    printer = OraclePrinter(lowered.module(*made))
    functions, _ = loaded(lowered, made, printer)
    return OraclePlan(space, lowered, functions, printer.text())


def loaded(
    lowered: Lowered, made: Sequence[ir.Function], printer: OraclePrinter
) -> tuple[dict[str, Any], dict[str, Any]]:
    """`OraclePlan.functions`, and all names of the printed module."""
    scope: dict[str, Any] = {"__name__": f"<oracle {lowered.kernel.name}>"}
    exec(HEAD, scope)
    for function in (*lowered.functions, *made):
        lines = printer.function(function)
        tree = ast.parse("\n".join(lines))
        _relocate(tree, lines, function.loc)
        exec(compile(tree, function.loc.file, "exec"), scope)
    functions = {f.name.removeprefix("_"): scope[function_name(f.name)] for f in made}
    functions["body"] = scope[function_name(lowered.body.name)]
    return functions, scope


def _relocate(tree: ast.Module, lines: list[str], start: Loc) -> None:
    """Give every node of generated text the line of the source that it stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr | ast.arg):
            loc = getattr(lines[node.lineno - 1], "loc", start)
            line = loc.line if loc.file == start.file and loc.line else start.line
            node.lineno = node.end_lineno = line
            node.col_offset = node.end_col_offset = 0
