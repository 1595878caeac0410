"""Whether a kernel runs in lanes on a host, and in how many: the cost model, and what explain says.

Loops without branches and inner loops run on vectors of LLVM's own, which are as fast. Kernels in
lanes are those that compute in loops or branches of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from execspace.base.dataclass import dataclass
from execspace.base.flags import MOST_LANES

from .. import ir
from ..analysis.unrolling import trips
from ..ir.types import Scalar
from ..reductions.running import Running
from .cost import Costs, HasFunction, Machine, most_rounds
from .form import LaneForm, lane_form, program_of, steps_of
from .latency import Waits
from .steps import Step
from .varying import Findings, NotVectorised, Program, scalar_types

_WORTH = 1.3  # how much faster a form in lanes must seem to be
_WORTH_LITTLE = 1.15  # the same of a kernel that does little more than to join
_LITTLE = 48  # expressions of such a kernel
_DEEP = 1.5  # how much longer than its operations a loop waits, for there to be two vectors
_LONG, _RARE = 150, 10  # additions of a kernel, and for each access, for it to be worth two vectors
_LARGE = 500  # expressions of a kernel whose numbers do not fit into registers
_UNROLLED = 2000  # expressions, with each round of loops, that compilers may write out
_LEFT = 300  # the same of loops that calls leave
_TINY = 16  # expressions of a loop of integers that compilers may know
_ANY = Machine(MOST_LANES * 64)  # on which all vectors are one register
_SMALL = 120  # expressions of a kernel that may be there twice, without masks and with them
_MANY_ACCESSES = 0.2  # of all that a kernel does


@dataclass(frozen=True)
class Choice:
    """How a kernel runs.

    Attributes
    ----------
    form : LaneForm or None
        None: call by call.
    why : str
        Why; empty if it has no loops or branches that would keep LLVM from vectors of its own.
    asks : bool
        It has branches, but none that surely keep a compiler from vectors of its own, which are
        faster then. Who can ask the compiler should do so, others go call by call.
    """

    form: LaneForm | None
    why: str
    asks: bool = False

    def without_asking(self, what: str = "calls") -> Choice:
        """The choice of who cannot ask the compiler; `what` is counted."""
        told = f"compilers have vectors of their own for such {what}"
        return Choice(None, told) if self.asks else self


def no_function(name: str, kind: str) -> bool:
    """Of languages without vector versions of mathematical functions."""
    return False


@dataclass(frozen=True)
class Processor:
    """What lanes depend on.

    Attributes
    ----------
    features : frozenset of str
        As LLVM names them.
    asked : int
        Lanes that the user wants; 0: as many as seem to be fastest.
    fma : bool
        Products and sums may be one operation, if the processor has that.
    has_function : callable
        Whether a mathematical function of a type, "float64" for example, has a vector version.
    """

    features: frozenset[str]
    asked: int = 0
    fma: bool = False
    has_function: HasFunction = no_function

    @property
    def contracts(self) -> bool:
        """Whether products and sums become one operation."""
        return self.fma and not self.features.isdisjoint(("fma", "neon"))

    @property
    def bits(self) -> int:
        """Bits of the vector registers that numbers of all kinds are computed in."""
        if "avx512f" in self.features and "prefer-256-bit" not in self.features:
            return 512
        return 256 if self.features & {"avx2", "avx512f"} else 128

    @property
    def costs(self) -> Machine:
        """What costs depend on."""
        return Machine(self.bits, "avx512vl" in self.features, self.has_function)


def chosen(
    functions: Sequence[ir.Function],
    fastest: int,
    on: Processor,
    suffix: str = "__lanes",
    running: Running | None = None,
    last: tuple[Step, ...] = (),
    most: int = MOST_LANES,
    what: str = "calls",
    pairs: bool = True,
) -> Choice:
    """The form of a kernel for a processor.

    Parameters
    ----------
    functions : sequence of ir.Function
        The kernel last, what it calls before it.
    fastest : int
        The parameter that differs from lane to lane.
    on : Processor
    suffix : str
        Of the names of forms, in front of a number.
    running : Running, optional
        Of a reduction, whose kernel is that of `joining_kernel`.
    last : tuple of int or None
        How the last parameters differ from lane to lane; others do not.
    most : int
        Lanes that there may be.
    what : str
        What is counted, for the text.
    pairs : bool
        There may be two vectors at a time, for loops that wait for their own results.
    """
    asked = on.asked
    if asked == 1:
        return Choice(None, "one lane is asked for")
    index = functions[-1].parameters[fastest].name
    if not asked and not any(
        isinstance(e, ir.Var) and e.name == index for e in ir.walk_expressions(functions[-1].body)
    ):
        return Choice(None, "all its calls do the same")
    ordered = running is not None and running.ordered
    if not asked and not ordered and not _has_control(functions) and not _is_long(functions):
        return Choice(None, "")
    wanted = asked
    if running is not None:
        most, last = running.count, (None,) * len(running.states)
    asked = min(asked, most)
    try:
        program = program_of(functions)

        def form_of(lanes: int) -> LaneForm:
            return lane_form(program, fastest, lanes, suffix, on.contracts, last)

        little, told = False, f"{wanted} lanes are asked for"
        if asked:
            told += f", and there are at most {most}" if asked < wanted else ""
            form = form_of(asked)
        else:
            kernel = program.kernel
            findings = program.findings(kernel.name, steps_of(kernel, fastest, last))
            lanes = max(2, on.bits // _width(kernel, findings))
            little = ordered and _is_little(kernel)
            # As many as there are running values, which then stay in registers.
            lanes = most if running and _is_little(kernel) else min(lanes, most)
            twice = pairs and 2 * lanes <= most and _waits(program.functions, kernel)
            form = form_of(2 * lanes if twice else lanes)
            scalar = Costs(program.functions, on.costs).of(kernel.name) * form.lanes
            vector = _cost(program, form, on)
            told = (
                f"{form.lanes} {what} cost about {scalar:.0f} additions, and {vector:.0f} in lanes"
            )
            if vector * (_WORTH_LITTLE if little else _WORTH) > scalar:
                return Choice(None, told)
            if twice:
                told += "; two vectors, since operations wait for each other"
        whole, rest = (_cost(program, form, on, free) for free in (False, True))
        small = len(ir.walk_expressions(program.kernel.body)) <= _SMALL and rest < whole
        many = small or rest < (1 - _MANY_ACCESSES) * whole
        asks = not wanted and not ordered and _is_simple(program.functions, program.kernel)
        return Choice(replace(form, accesses=many), told, asks)
    except NotVectorised as reason:
        return Choice(None, str(reason))


def _has_control(functions: Sequence[ir.Function]) -> bool:
    """Whether a kernel has loops, or branches; but for those of assertions, which LLVM's loops are
    freed of beforehand."""
    statements = [s for f in functions for s in ir.walk_statements(f.body)]
    if any(isinstance(s, ir.For | ir.While) for s in statements):
        return True
    asserts = any(isinstance(s, ir.Fail) for s in statements)
    return not asserts and any(isinstance(s, ir.If) for s in statements)


def _is_long(functions: Sequence[ir.Function]) -> bool:
    """Whether a kernel without loops computes so long that operations wait for each other: LLVM's
    loops have one vector, and not the widest one."""
    known = {f.name: f for f in functions}
    kernel = functions[-1]
    if any(isinstance(s, ir.Fail) for f in functions for s in ir.walk_statements(f.body)):
        return False
    cost = Costs(known, _ANY).of(kernel.name)
    places = [*ir.walk_statements(kernel.body), *ir.walk_expressions(kernel.body)]
    accesses = sum(isinstance(p, ir.Load | ir.Store) for p in places)
    return cost > max(_LONG, _RARE * accesses) and _waits(known, kernel)


def _is_simple(functions: Mapping[str, ir.Function], kernel: ir.Function) -> bool:
    """Whether nothing of a kernel surely keeps a compiler from vectors of its own: it has branches,
    short loops of known length, or loops of which compilers know what they compute, such as the
    number of bits."""
    size, loops, todo, seen = 0, False, [kernel.name], {kernel.name}
    branches = leaves = False
    while todo:
        f = functions[todo.pop()]
        if f.external is not None:
            return False
        for s in ir.walk_statements(f.body):
            if isinstance(s, ir.Atomic | ir.Print | ir.Fail):
                return False
            if isinstance(s, ir.While) and not _is_tiny(s):
                return False
            if isinstance(s, ir.For | ir.While):
                inner = ir.walk_statements(s.body)
                leaves |= any(isinstance(t, ir.Break | ir.Return) for t in inner)
            loops |= isinstance(s, ir.For | ir.While)
            branches |= isinstance(s, ir.If)
        unrolled = _unrolled(f.body)
        if unrolled is None:
            return False
        size += unrolled
        called = {e.function for e in ir.walk_expressions(f.body) if isinstance(e, ir.Call)}
        todo += called - seen
        seen |= called
    return (branches or loops) and size <= (_LEFT if leaves else _UNROLLED)


def _is_tiny(s: ir.While) -> bool:
    """Whether a loop computes little, of integers."""
    inner = [*ir.walk_expressions(s.body), *ir.subexpressions(s.test)]
    plain = all(isinstance(t, ir.Assign) for t in s.body) and not any(
        isinstance(e, ir.Load | ir.Call) or (isinstance(e.type, Scalar) and e.type.is_float)
        for e in inner
    )
    return plain and len(inner) <= _TINY


def _unrolled(body: tuple[ir.Stmt, ...]) -> int | None:
    """Expressions of a body without its loops; None if one has a length that is not known."""
    total = 0
    for s in body:
        total += len(ir.subexpressions(*ir.expressions(s)))
        for inner in ir.bodies(s):
            part = _unrolled(inner)
            if part is None:
                return None
            if isinstance(s, ir.For):
                known = trips(s)
                rounds = most_rounds(s) if known is None else known
                if rounds is None:
                    return None
                part *= rounds
            total += part
    return total


def _is_little(kernel: ir.Function) -> bool:
    """Whether a kernel does little more than to compute and join a number or two."""
    statements = ir.walk_statements(kernel.body)
    straight = all(isinstance(s, ir.Assign | ir.Return | ir.If) for s in statements)
    return straight and len(ir.walk_expressions(kernel.body)) <= _LITTLE


def _width(body: ir.Function, found: Findings) -> int:
    """Bits of the numbers that lanes compute with: of floats, else of integers."""
    kinds = [t for n, t in scalar_types(body).items() if found.steps.get(n) is None]
    kinds += [e.type for e in ir.walk_expressions(body.body) if isinstance(e, ir.Load)]
    wide = [t.bits // (2 if t.kind == "c" else 1) for t in kinds if t.kind in "fc"]
    return max(wide or [t.bits for t in kinds if t.is_integer and t.bits > 8] or [32])


def _cost(program: Program, form: LaneForm, on: Processor, free: bool = False) -> float:
    """What a call of a form costs; `free`: but for accesses."""
    return Costs(_functions(program, form), on.costs, free).of(form.body.name)


def _functions(program: Program, form: LaneForm) -> dict[str, ir.Function]:
    """Functions by name, and their forms."""
    return {**program.functions, **{f.name: f for f in (*form.helpers, form.body)}}


def _waits(functions: Mapping[str, ir.Function], kernel: ir.Function) -> bool:
    """Whether two vectors take hardly longer than one: loops wait for their own results, or there
    is no loop, whose rounds processors would do beside each other."""
    costs, waits, size, loops = Costs(functions, _ANY), Waits(functions), 0, 0
    todo, seen = [kernel.name], set[str]()
    while todo:
        f = functions[todo.pop()]
        calls = [e.function for e in ir.walk_expressions(f.body) if isinstance(e, ir.Call)]
        size += len(ir.walk_expressions(f.body))
        todo += {*calls} - seen
        seen |= {*calls}
        for s in ir.walk_statements(f.body):
            if isinstance(s, ir.For | ir.While) and not any(
                isinstance(t, ir.For | ir.While) for t in ir.walk_statements(s.body)
            ):
                loops += 1
                work = costs.body(s.body) / 2
                if waits.of(s) > _DEEP * work and size <= _LARGE:
                    return True
    return not loops and size <= _LARGE
