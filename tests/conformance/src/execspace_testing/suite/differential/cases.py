"""A launch of generated source, to be run on a space and by CPython, whose answers must agree."""

from __future__ import annotations

import hashlib
import linecache
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es
from execspace_testing import reference, staged
from execspace_testing.reference import launches, teams

from .values import COUNT, input_array

Array = npt.NDArray[Any]
RECORD = np.dtype([("a", "i4"), ("b", "f8"), ("v", "i2", (3,)), ("c", [("d", "u1"), ("e", "f4")])])


class Difference(AssertionError):
    """A space and CPython disagree."""


@dataclass(frozen=True)
class Case:
    """A launch.

    Attributes
    ----------
    pattern : {"for", "reduce", "scan", "array"}
    source : str
        A module that defines `kernel` and, where there is one, `reducer`.
    bounds : tuple of (int, int)
        Of the range; of teams ((0, league size),).
    arguments : tuple of str
        Names of inputs (see values.py), ``o_T:rows`` of outputs, or literals. An output's
        ``:F`` or ``:S`` at the end asks for another layout.
    types : str or tuple
        dtypes of what the kernel returns.
    iterate : str
    tile : tuple of int
    team : tuple of int
        Threads and lanes of a team; empty for ranges.
    programs : int
        How many programs it is made of.
    refused : str
        If not empty, what kernels do not have: a launch must raise and run nothing.
    """

    pattern: str
    source: str
    bounds: tuple[tuple[int, int], ...]
    arguments: tuple[str, ...]
    types: Any = None
    iterate: str = "right"
    tile: tuple[int, ...] = ()
    team: tuple[int, ...] = ()
    programs: int = 1
    refused: str = ""

    def policy(self, space: es.ExecutionSpace | str) -> Any:
        """The policy of the launch."""
        if self.team:
            return es.TeamPolicy(self.bounds[0][1], *self.team, space=space)
        lower, upper = zip(*self.bounds, strict=True)
        if len(lower) == 1:
            return es.RangePolicy(lower[0], upper[0], space=space)
        options: dict[str, Any] = {"iterate": self.iterate}
        if self.tile:
            options["tile"] = self.tile
        return es.MDRangePolicy(lower, upper, space=space, **options)


def load(source: str) -> dict[str, Any]:
    """Run a module's source so that the compiler finds it again."""
    file = f"<differential {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": "generated"}
    exec(compile(source, file, "exec", dont_inherit=True), scope)
    return scope


def record_inputs() -> Array:
    """The input `rec`: an array of records."""
    made, k = np.zeros(COUNT, RECORD), np.arange(COUNT)
    made["a"], made["b"] = input_array("x_int32"), input_array("y_float64")
    made["v"] = (k * 7919)[:, None] + np.arange(3) * 257
    made["c"]["d"], made["c"]["e"] = k, input_array("y_float32")
    return made


def argument(text: str) -> Any:
    """An argument of a launch from its description."""
    name, _, rest = text.partition(":")
    if name == "n":
        return np.zeros(COUNT)
    if name == "rec":
        return record_inputs()
    if name.startswith(("x_", "y_")):
        return input_array(name)
    if not name.startswith("o_"):
        return eval(text, {"np": np, "es": es})
    rows, _, layout = rest.partition(":")
    element = name.removeprefix("o_")
    if element.startswith("atomic_"):
        dtype, shape = np.dtype(element.removeprefix("atomic_")), (int(rows), 8)
    else:
        dtype, shape = RECORD if element == "rec" else np.dtype(element), (int(rows), COUNT)
    if layout == "S":
        return np.zeros((shape[0] * 2, shape[1] + 3), dtype)[::2, 3:]
    return np.zeros(shape, dtype, order="F" if layout == "F" else "C")


@dataclass
class Outcome:
    """What a launch left: outputs by name, and what it returned. Or what it raised."""

    outputs: dict[str, Array]
    returned: Any


def run_on(
    case: Case, space: es.ExecutionSpace | str, scope: dict[str, Any] | None = None
) -> Outcome:
    """Launch a case on a space."""
    scope = scope or load(case.source)
    args = [argument(a) for a in case.arguments]
    launch = {"for": staged.parallel_for, "scan": staged.parallel_scan}.get(
        case.pattern, staged.parallel_reduce
    )
    options = {} if case.pattern == "for" else {"reducer": scope["reducer"]}
    kernel = scope["kernel"]
    if not isinstance(kernel, es.Kernel) and not hasattr(kernel, "__self__"):
        kernel = es.kernel(fma=False)(kernel)
    returned = launch(case.policy(space), kernel, *args, **options)
    return Outcome(_outputs(case, args), returned)


def run_plain(case: Case, scope: dict[str, Any] | None = None) -> Outcome:
    """Let CPython do the same."""
    scope = dict(scope or load(case.source))
    args = [_plain(argument(a)) for a in case.arguments]
    kernel: Callable[..., Any] = scope["kernel"]
    if case.team:
        words = reference.teams.WORDS
        kernel = scope["kernel"]
        names = kernel.__globals__
        own, names["es"] = names["es"], words
        try:
            sizes = (case.bounds[0][1], *case.team)
            if case.pattern == "for":
                teams.run_league(kernel, *sizes, tuple(args))
                returned = None
            else:
                returned = teams.team_reduce(
                    kernel, sizes, tuple(args), scope["reducer"], case.types
                )
        finally:
            names["es"] = own
    elif case.pattern == "for":
        returned = launches.parallel_for(kernel, case.bounds, tuple(args))
    elif case.pattern == "array":
        returned = launches.array_reduce(kernel, case.bounds, tuple(args), scope["reducer"])
    else:
        run = launches.parallel_scan if case.pattern == "scan" else launches.parallel_reduce
        returned = run(kernel, case.bounds, tuple(args), scope["reducer"], case.types, case.iterate)
    return Outcome(_outputs(case, args), returned)


def _plain(value: Any) -> Any:
    """Records as CPython reads their fields: as attributes."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        return value.view(np.recarray)
    return value


def _outputs(case: Case, args: list[Any]) -> dict[str, Array]:
    pairs = zip(case.arguments, args, strict=True)
    return {text.partition(":")[0]: np.asarray(a) for text, a in pairs if text.startswith("o_")}


def same(a: Array, b: Array) -> Array:
    """Where two arrays have the same bits; any NaN is the same as any other."""
    if a.dtype.names:
        parts = [same(a[name], b[name]) for name in a.dtype.names]
        return np.logical_and.reduce([p.reshape(*a.shape, -1).all(-1) for p in parts])
    if a.dtype.kind == "c":
        return same(a.real, b.real) & same(a.imag, b.imag)
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    return np.asarray(((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)))


def equal_results(mine: Any, python: Any) -> bool:
    """Whether two results are the same: `python` is of NumPy scalars, whose types say how."""
    if isinstance(python, np.void):
        return equal_results(tuple(mine), tuple(python[name] for name in python.dtype.names or ()))
    if isinstance(python, tuple):
        return (
            isinstance(mine, tuple) and len(mine) == len(python)
            and all(map(equal_results, mine, python))
        )  # fmt: skip
    if isinstance(mine, tuple):
        return False
    kind = np.asarray(python).dtype
    given = np.asarray(mine)
    if given.dtype.kind != kind.kind and {given.dtype.kind, kind.kind} != {"i", "u"}:
        return False
    if kind.kind == "u" and not isinstance(mine, np.ndarray):
        return int(mine) == int(python)
    return given.shape == np.shape(python) and bool(
        same(given.astype(kind), np.asarray(python)).all()
    )


def check(case: Case, space: es.ExecutionSpace | str) -> str:
    """Compare a space with CPython; what became of it: "agreed" or "refused".

    Raises
    ------
    Difference
        If an answer differs, a kernel that must be refused is not, or the reverse.
    """
    scope = load(case.source)
    if case.refused:
        try:
            found = run_on(case, space, scope)
        except es.ExecspaceError:
            return "refused"
        raise Difference(f"{case.refused} was not refused in parallel_{case.pattern}, which gave "
                         f"{found.returned!r}\n{describe(case)}")  # fmt: skip
    python = run_plain(case, scope)
    try:
        mine = run_on(case, space, scope)
    except Exception as error:
        told = "".join(traceback.format_exception_only(error)).strip()
        raise Difference(f"refused or failed on {space}: {told}\n{describe(case)}") from error
    compare(case, space, mine, python)
    return "agreed"


def compare(case: Case, space: Any, mine: Outcome, python: Outcome) -> None:
    """Raise Difference at the first value that differs."""
    for name, array in python.outputs.items():
        equal = same(mine.outputs[name], array)
        if not equal.all():
            at = tuple(int(k) for k in np.argwhere(~equal)[0])
            raise Difference(
                f"{name}[{', '.join(map(str, at))}] is {mine.outputs[name][at]!r} on {space} and "
                f"{array[at]!r} in CPython; {int((~equal).sum())} of {equal.size} differ\n"
                f"{describe(case)}"
            )
    if not equal_results(mine.returned, python.returned):
        raise Difference(
            f"the result is {mine.returned!r} on {space} and {python.returned!r} in CPython\n"
            f"{describe(case)}"
        )


def describe(case: Case) -> str:
    """All that is needed to understand a case."""
    about = f"{case.pattern} over {case.bounds} {case.iterate} {case.tile} teams {case.team}"
    return f"{about}\narguments {case.arguments}\n{case.source}"
