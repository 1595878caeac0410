"""The form of a kernel for vectors: one call of it does neighbouring indices, one in each lane.

Control flow on which all lanes agree stays as it is. Where they part ways, each side runs if any
lane takes it, under the mask of these; lanes that leave a loop or the function are off from there
on. A statement runs only if some lane is on, so what is the same in all lanes may be read and
stored without a mask.

M. Pharr and W. R. Mark, "ispc: A SPMD Compiler for High-Performance CPU Programming", InPar 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Var
from ..ir.text import function_text
from ..ir.types import Scalar, TupleTy, Vector, flat_scalars
from ..typing.lowered import Lowered
from .contraction import contracted
from .forms import Forms
from .loops import LoopWriter
from .steps import Step
from .varying import Findings, NotVectorised, Program
from .webs import prepared

MASK = "_mask"  # the last parameter of a form: the lanes that are on


class _Function(LoopWriter):
    """Writes the form of a function."""

    def __init__(self, forms: Forms, function: str, steps: tuple[Step, ...], name: str) -> None:
        f, known = forms.program.functions[function], forms.program.findings(function, steps)
        super().__init__(forms, f, known, Var(MASK, Vector("bool", lanes=forms.lanes)))
        self.given, self.name = steps, name

    def function(self) -> ir.Function:
        """The function in lanes."""
        f = self.f
        parameters: list[Var] = []
        for p, step in zip(f.parameters, self.given, strict=True):
            if isinstance(p.type, Scalar) and step is None:
                parameters.append(Var(p.name, self.vector(p.type)))
            else:
                parameters.append(self.view(p))
        for name, t in f.locals.items():
            if isinstance(t, Scalar):
                varies = self.known.steps.get(name, 0) is None
                self.locals[name] = self.vector(t) if varies else t
            else:
                varies = self.known.steps.get(name, 0) != 0
                self.locals[name] = replace(t, lanes=self.lanes) if varies else t
        kinds = tuple(
            self.vector(t) if step is None else t.strong
            for t, step in zip(flat_scalars(f.result), self.known.results, strict=True)
        )
        if self.known.returns:
            self.results = tuple(self.new("result", t) for t in kinds)
            self.left = self.new("left", self.mask_type)
            own = self.held("active", self.mask)
            self.out.append(ir.Assign(self.left.name, self.none))
            self.mask = own
        self.block(f.body)
        if self.known.returns and self.results:
            values = self.results
            self.out.append(ir.Return(values[0] if len(values) == 1 else values))
        result: Scalar | TupleTy | None = None
        if f.result is not None:
            result = (
                kinds[0] if len(kinds) == 1 and isinstance(f.result, Scalar) else TupleTy(kinds)
            )
        return replace(
            f, name=self.name, parameters=(*parameters, Var(MASK, self.mask_type)), result=result,
            locals=self.locals, body=tuple(self.out), declared=None,
        )  # fmt: skip


@dataclass(frozen=True)
class LaneForm:
    """A kernel over neighbouring indices.

    Attributes
    ----------
    lanes : int
        How many calls of the kernel one call does.
    body : ir.Function
        Its parameters are those of the kernel, and the mask; of the index that differs from lane
        to lane it takes that of the first one.
    helpers : tuple of ir.Function
        Forms of functions that it calls.
    kernel : ir.Function
        What it is a form of: the kernel, with a variable for each web.
    findings : Findings
        What is the same in all lanes of that, and what is not.
    accesses : bool
        Much of what it does is to access Views.
    after : LaneForm, optional
        Of a scan: the form of what is done with prefixes.
    """

    lanes: int
    body: ir.Function
    helpers: tuple[ir.Function, ...]
    kernel: ir.Function
    findings: Findings
    accesses: bool = True
    after: LaneForm | None = None

    @property
    def text(self) -> str:
        """These functions as text."""
        return "\n\n".join(map(function_text, self.functions))

    @property
    def functions(self) -> tuple[ir.Function, ...]:
        """All that it is made of, callees first."""
        return (*self.helpers, self.body, *(self.after.functions if self.after else ()))


def kernel_in_lanes(
    lowered: Lowered, lanes: int, fastest: int | None = None, contract: bool = False
) -> LaneForm:
    """The kernel of a `parallel_for` over a range as a function of vectors: one call of it does
    neighbouring indices, one in each lane.

    Parameters
    ----------
    lowered : Lowered
        From `lower_kernel`, without packs.
    lanes : int
        A power of two from 2 to 64.
    fastest : int, optional
        The index that differs from lane to lane; the last one if not given.
    contract : bool
        Products and sums become one operation, `fma`.

    Returns
    -------
    LaneForm
        Its `functions` call each other, callees first; `body` is the one to call, and `findings`
        tell what is the same in all lanes, by the names in `kernel`.

    Raises
    ------
    NotVectorised
        If it has no such form: one that counts on one call following the other, or that has
        vectors of its own; and for other launches than `parallel_for` over a range.
    ValueError
        For other numbers of lanes or indices.
    """
    policy = lowered.spec.policy
    if lowered.spec.pattern != "for" or policy.kind == "team":
        raise NotVectorised("it is no parallel_for over a range")
    if lanes not in (2, 4, 8, 16, 32, 64):
        raise ValueError(f"lanes={lanes!r}: expected a power of two from 2 to 64")
    at = policy.rank - 1 if fastest is None else fastest
    if not 0 <= at < policy.rank:
        raise ValueError(f"fastest={fastest!r}: expected an index from 0 to {policy.rank - 1}")
    return lane_form(program_of(lowered.functions), at, lanes, contract=contract)


def program_of(functions: Sequence[ir.Function]) -> Program:
    """A kernel, the last one, and what it calls, ready for any number of lanes.

    Raises
    ------
    NotVectorised
        If it computes with vectors itself.
    """
    if any(_has_vectors(f) for f in functions):
        raise NotVectorised("it computes with vectors itself")
    return Program(prepared(functions))


def lane_form(
    program: Program,
    fastest: int,
    lanes: int,
    suffix: str = "__lanes",
    contract: bool = False,
    last: tuple[Step, ...] = (),
) -> LaneForm:
    """The form of a kernel for vectors; the parameter number `fastest` differs between lanes.

    Parameters
    ----------
    program : Program
        From `program_of`.
    fastest : int
    lanes : int
    suffix : str
        Of the names of forms, in front of a number.
    contract : bool
        Products and sums become one operation.
    last : tuple of int or None
        How the last parameters differ from lane to lane; others do not.

    Raises
    ------
    NotVectorised
        If it has no such form.
    """
    forms = Forms(program, lanes, suffix, lambda *given: _Function(*given).function())
    kernel = program.kernel
    steps = steps_of(kernel, fastest, last)
    forms.of(kernel.name, steps)
    *others, form = map(contracted, forms.written) if contract else forms.written
    return LaneForm(lanes, form, tuple(others), kernel, program.findings(kernel.name, steps))


def steps_of(kernel: ir.Function, fastest: int, last: tuple[Step, ...] = ()) -> tuple[Step, ...]:
    """How parameters of a kernel differ from lane to lane; arguments as those of `lane_form`."""
    count = len(kernel.parameters) - len(last)
    return (*(1 if n == fastest else 0 for n in range(count)), *last)


def _has_vectors(f: ir.Function) -> bool:
    named = [*(p.type for p in f.parameters), *f.locals.values()]
    used = (e.type for e in ir.walk_expressions(f.body))
    return any(isinstance(t, Vector) for t in (*named, *used))
