"""A plan that runs a kernel under CPython."""

from __future__ import annotations

from execspace import ExecutionSpace, Kernel, LaunchSpec

from .. import ir
from ..codegen.python.oracle import OraclePrinter
from ..launch.host_functions import resolve
from ..passes.pipeline import lower_kernel
from ..reductions.results import check_out
from .plan import OraclePlan, loaded
from .teams import team_plan


def interpret(space: ExecutionSpace, kernel: Kernel, spec: LaunchSpec) -> OraclePlan:
    """A plan that runs `kernel` under CPython.

    Its code carries the file and the lines of the user's source, so pdb steps through the kernel as
    written, and coverage.py counts its lines.
    """
    lowered = lower_kernel(
        kernel, spec, resolve, space.capabilities.vector_bytes, checks_bounds=False
    )
    reduction = lowered.reduction
    made: list[ir.Function] = []
    if reduction is not None:
        check_out(kernel.name, spec, reduction.result)
        made = [reduction.result_function("_result")]
        if reduction.array is None:
            made += [reduction.accumulate_function("_step"), reduction.prefix_function("_prefix")]
    if spec.policy.kind == "team":
        return team_plan(space, lowered, made)
    printer = OraclePrinter(lowered.module(*made))
    functions, _ = loaded(lowered, made, printer)
    return OraclePlan(space, lowered, functions, printer.source())
