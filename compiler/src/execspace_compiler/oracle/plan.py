"""The oracle: typed IR run by CPython with NumPy scalars, bounds-checked, one index at a time.

It defines the semantics of kernels; every space must give its results. Contributions are joined in
index order. Multiply-add is not contracted. Launches of teams are run by teams.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from execspace import ExecutionSpace, Kernel, LaunchSpec, View, ViewIndexError
from execspace.base.dataclass import dataclass
from execspace.base.parsing import parse
from execspace.kernels.captures import parameters as own_parameters
from execspace.launch.structs import argument_names

from .. import ir
from ..codegen.python.oracle import HEAD, OraclePrinter, function_name
from ..ir.diagnostics import Loc
from ..ir.types import Scalar
from ..launch.failures import place
from ..launch.plan import DescribedPlan
from ..passes.pipeline import check_limits
from ..reductions.reduction import Reduction
from ..reductions.results import result_maker, result_shape, store_result
from ..typing.lowered import Lowered
from .runtime import Checked, Status

# -- plans ------------------------------------------------------------------------------------

Call = Callable[[tuple[int, ...], tuple[Any, ...]], Any]


@dataclass
class OraclePlan(DescribedPlan):
    """An interpreted launch; see `execspace.Plan`.

    `functions` are the kernel itself and the functions of its reduction, by name.
    """

    space: ExecutionSpace
    lowered: Lowered
    functions: dict[str, Any]
    generated: str
    spec: LaunchSpec = field(init=False)
    kernel: Kernel = field(init=False)

    def __post_init__(self) -> None:
        self.spec, self.kernel = self.lowered.spec, self.lowered.kernel

    @property
    def joining(self) -> str:
        """In the order of the indices, whatever the kernel does."""
        return "in order"

    @property
    def source(self) -> str:
        """The generated source."""
        return self.generated

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """The mapping of a range."""
        from ..launch.describe import describe_calls

        return describe_calls(self.lowered)

    def launch(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """Run the kernel for every index, the last one fastest.

        With ``iterate="left"``, contributions are joined with the first one fastest.
        """
        spec = self.lowered.spec
        rank = spec.policy.rank
        inputs, out = args[: len(args) - len(spec.out)], args[len(args) - len(spec.out) :]
        check_limits(self.lowered.kernel.name, self.lowered.limits, inputs)
        call = self.caller(bounds, inputs)
        ranges = [range(bounds[d], bounds[rank + d]) for d in range(rank)]
        indices = Indices(ranges, spec.pattern != "for" and spec.policy.iterate == "left")
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
        """The kernel's values for its arguments; the status of assertions is last."""
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
        """A function that calls the kernel for an index, with leading arguments."""
        body, values = self.functions["body"], self.values(inputs)

        def call(index: tuple[int, ...], leading: tuple[Any, ...]) -> Any:
            try:
                return body(*map(np.int64, index), *leading, *values)
            except ViewIndexError as error:
                error.args = (f"{place(self.lowered.kernel.name, index)}: {error}",)
                raise

        return call

    def _run(self, indices: Iterable[tuple[int, ...]], call: Call) -> Any:
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
            # The first pass must not change values that the final one reads.
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

    def _run_array(
        self, reduction: Reduction, indices: Iterable[tuple[int, ...]], call: Call
    ) -> Any:
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


@dataclass(frozen=True)
class Indices:
    """All index tuples, as often as somebody goes through them; none is kept, for a range may be
    longer than memory.
    """

    ranges: Sequence[range]
    first_fastest: bool = False

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        if not all(self.ranges):  # a dimension before the empty one may be long
            return iter(())
        if self.first_fastest:
            return (index[::-1] for index in _tuples(self.ranges[::-1]))
        return _tuples(self.ranges)


def _tuples(ranges: Sequence[range]) -> Iterator[tuple[int, ...]]:
    """As itertools.product, which makes a tuple of each range first."""
    if not ranges:
        yield ()
        return
    for n in ranges[0]:
        for rest in _tuples(ranges[1:]):
            yield n, *rest


def row(value: Any) -> tuple[Any, ...]:
    """Results of a function of the module, as a tuple."""
    return value if isinstance(value, tuple) else (value,)


def python_number(value: Any) -> Any:
    """A number as a Python number; bools may be Python's already, due to `not`."""
    return value.item() if isinstance(value, np.generic) else value


def names_of(lowered: Lowered) -> list[str]:
    """Names of a launch's arguments in the source."""
    parameters = lowered.body.parameters[lowered.leading :]
    names = [p.name.removeprefix("user") for p in parameters]
    if lowered.spec.structs:
        own = own_parameters(lowered.kernel.fn)
        open_ = [n for n in own if n not in lowered.spec.bound][lowered.spec.leading :]
        given = argument_names(open_, lowered.spec.structs)
        names[: len(given)] = given
    for c in lowered.spec.captures:
        if c.argument is not None:
            names[c.argument] = c.name
    return names


def number(value: Any, type: Any) -> Any:
    """A NumPy scalar of an IR type."""
    assert isinstance(type, Scalar)
    return np.dtype(type.name).type(value)


def loaded(
    lowered: Lowered, made: Sequence[ir.Function], printer: OraclePrinter
) -> tuple[dict[str, Any], dict[str, Any]]:
    """`OraclePlan.functions`, and all names of the printed module."""
    scope: dict[str, Any] = {"__name__": f"<oracle {lowered.kernel.name}>"}
    exec(HEAD, scope)
    for function in (*lowered.functions, *made):
        if function.external is not None:
            scope[function_name(function.name)] = _outside(function.external)
            continue
        lines = printer.function(function)
        tree = parse("\n".join(lines))
        _relocate(tree, lines, function.loc)
        exec(compile(tree, function.loc.file, "exec"), scope)
    functions = {f.name.removeprefix("_"): scope[function_name(f.name)] for f in made}
    functions["body"] = scope[function_name(lowered.body.name)]
    return functions, scope


def _outside(external: ir.External) -> Callable[..., Any]:
    """A function of the host, as it is called from Python."""
    code = external.code.function
    plain = external.code.from_c  # it takes no scalars of NumPy's
    called = getattr(code, "ctypes", code)  # calling Numba's CFunc would run its Python function

    def call(*args: Any) -> Any:
        given = [a.item() for a in args] if plain or called is not code else args
        result = called(*given)
        return None if external.result is None else np.dtype(external.result).type(result)

    return call


def _relocate(tree: ast.Module, lines: list[str], start: Loc) -> None:
    """Set the location of each node of generated source to the line that it comes from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr | ast.arg):
            loc = getattr(lines[node.lineno - 1], "loc", start)
            line = loc.line if loc.file == start.file and loc.line else start.line
            node.lineno = node.end_lineno = line
            node.col_offset = node.end_col_offset = 0
