"""From a kernel to machine code and the facts that launches need: what the cache saves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from execspace import BackendCompileError, ExecutionSpace, Kernel, LaunchSpec
from execspace.base import config

from .. import ir
from ..analysis.overlap import written_pairs
from ..codegen.llvm.functions import has_vectors
from ..codegen.llvm.printer import outside_symbol
from ..launch.host_functions import address, resolve
from ..mapping.loops import index_order
from ..passes.pipeline import lower_kernel, refuse_16_byte_atomics
from ..passes.scan_parts import scan_parts
from ..reductions.results import check_out
from ..reductions.running import joining_kernel, joins_in_turn, running_values
from ..spmd.choice import Choice, Processor, chosen
from ..teams.host_limits import team_limits
from ..typing.lowered import Lowered
from . import machine
from .entry import disjoint_patterns
from .facts import Facts
from .launch_source import Source, launch_module, loops_module
from .launcher import Launcher
from .vectorising import is_vectorised
from .wide import aligned_views

if TYPE_CHECKING:
    from ..teams.host_teams import HostTeam


def choices_of(lowered: Lowered, order: tuple[int, ...]) -> tuple[Choice, ...]:
    """In how many lanes a kernel runs on this host; of a fused one each part, as it does alone."""
    fastest = order[-1]
    on, found = this_processor(lowered), []
    for n, body in enumerate(lowered.parts or (lowered.body,)):
        last = n >= len(lowered.parts) - 1
        running = None
        functions = (*lowered.functions[:-1], body)
        if last and lowered.spec.pattern == "scan":
            from ..mapping.scan_lanes import scan_choice  # loaded by scans

            found.append(scan_choice(scan_parts(lowered), lowered.functions[:-1], fastest, on))
            continue
        if last and lowered.reduction is not None:
            if lowered.reduction.array is not None:
                found.append(Choice(None, "reductions to arrays do not run in lanes"))
                continue
            if not joins_in_turn(lowered.reduction):
                running = running_values(lowered.reduction)
                functions = (*functions, joining_kernel(body, lowered.reduction))
        name = f"__lanes{n}_" if lowered.parts else "__lanes"
        choice = chosen(functions, fastest, on, name, running)
        if choice.asks and vectorised_by_llvm(lowered, order, body):
            choice = Choice(None, "LLVM's own vectors do neighbouring calls")
        found.append(choice)
    return tuple(found)


def vectorised_by_llvm(lowered: Lowered, order: tuple[int, ...], body: ir.Function) -> bool:
    """Whether LLVM's own vectors do neighbouring calls of a kernel, or of a part of one."""
    disjoint = bool(written_pairs(lowered, disjoint_patterns(lowered)))
    text = loops_module(lowered, order, body, disjoint, machine.vector_math())
    return is_vectorised(str(machine.optimised(text)))


def this_processor(lowered: Lowered) -> Processor:
    """What lanes depend on here, for a kernel."""
    target, kernel = machine.vector_math(), lowered.kernel
    asked = lowered.spec.policy.lanes or config.lanes()

    def has_function(name: str, kind: str) -> bool:
        return has_vectors(name, kind, target, kernel.fastmath)

    return Processor(target.features, asked, kernel.fma and not kernel.fastmath, has_function)


class HostKernel:
    """A kernel as hosts run it: a range, also where it is for teams."""

    def __init__(self, lowered: Lowered, spec: LaunchSpec) -> None:
        self.team: HostTeam | None = None
        self.choices: tuple[Choice, ...] = (Choice(None, ""),)
        self.ranges: tuple[tuple[int, Choice], ...] = ()
        if spec.policy.kind == "team":
            from ..mapping.nested_lanes import RUNNING, LaneRanges
            from ..teams.host_teams import host_team  # loaded by kernels of teams

            policy = spec.policy
            functions = lowered.functions[:-1]
            lanes = min(policy.vector_length or RUNNING, RUNNING)
            ranges = LaneRanges(functions, lanes, this_processor(lowered))
            size = policy.team_size or 1
            self.team = host_team(lowered, size, policy.vector_length or 1, ranges)
            self.ranges = tuple(ranges.choices)
            lowered = self.team.lowered
        self.lowered = lowered
        self.order = index_order(lowered.body, spec)
        if self.team is None:
            self.choices = choices_of(lowered, self.order)

    def source(self, launcher: Launcher, disjoint: bool) -> Source:
        """LLVM IR of a launch; `disjoint`: Views do not overlap."""
        pool = None if self.team is None else self.team.pool
        masks = machine.has_cheap_masks()
        target = machine.vector_math()
        lanes = tuple(c.form for c in self.choices)
        return launch_module(
            self.lowered, self.order, launcher, disjoint, pool, masks, target, lanes
        )

    def facts(self, space: ExecutionSpace, disjoint: bool) -> Facts:
        """What launches on a space need besides machine code."""
        lowered, scratch = self.lowered, None
        if self.team is not None and self.team.layout:
            sizes = self.team.sizes(space.name, team_limits(space).scratch)
            scratch = (sizes.text, sizes.kept)
        rows = tuple(
            (
                a.loc.file,
                a.loc.line,
                a.loc.column,
                a.loc.end_line,
                a.loc.end_column,
                a.message,
                a.bounds,
            )
            for a in lowered.assertions
        )
        result = None if lowered.reduction is None else lowered.reduction.result
        return Facts(
            lowered.prints, rows, lowered.limits, aligned_views(lowered), result, disjoint, scratch
        )


Outside = dict[str, tuple[int, object]]
"""Symbol -> address of code outside the module, and what keeps it alive."""


def built(
    space: ExecutionSpace, kernel: Kernel, spec: LaunchSpec, launcher: Launcher, may_overlap: bool
) -> tuple[Facts, Source, Outside]:
    """The facts of a launch, its LLVM IR, and what that calls outside.

    Raises
    ------
    KernelSyntaxError, KernelTypeError
        For faults in the kernel, and for what the space cannot do.
    LaunchError
        If Views of `out=` cannot take the result.
    """
    lowered = lower_kernel(kernel, spec, resolve, machine.vector_bytes(), vectors=True)
    found = HostKernel(lowered, spec)
    lowered = found.lowered
    if not machine.has_wide_exchange():
        refuse_16_byte_atomics(lowered, "this processor")
    if lowered.reduction is not None:
        check_out(kernel.name, spec, lowered.reduction.result)
    disjoint = not may_overlap and bool(written_pairs(lowered, disjoint_patterns(lowered)))
    outside = {
        outside_symbol(f): address(f.external) for f in lowered.functions if f.external is not None
    }
    source = found.source(launcher, disjoint)
    facts = replace(found.facts(space, disjoint), libraries=source.libraries)
    return facts, source, outside


def object_code(kernel: Kernel, source: Source) -> bytes:
    """Machine code of a module, as an object file.

    Raises
    ------
    BackendCompileError
        If LLVM refuses the module: a defect of execspace.
    """
    try:
        return machine.object_code(source.text, source.linked, source.lanes)
    except RuntimeError as error:
        told = str(error).strip()
        raise BackendCompileError(
            f"in kernel '{kernel.name}'\nLLVM could not compile the generated module: {told}\n"
            f"This is a defect of execspace; please report it with the kernel."
        ) from error
