"""What a reduction or scan gives, told of its kernel without compiling it for any processor."""

from __future__ import annotations

from execspace import Kernel, LaunchSpec, MemorySpace, ReductionResult

from ..passes.pipeline import lower_kernel
from ..reductions.results import described
from .host_functions import resolve


def result_of(
    kernel: Kernel, spec: LaunchSpec, memory: MemorySpace, on_host: bool = False
) -> ReductionResult:
    """For `execspace.TellsResults`.

    Parameters
    ----------
    kernel, spec
        As `ExecutionSpace.compile` gets them.
    memory : MemorySpace
        Of the space, where an allocation waits for no work.
    on_host : bool
        Kernels may call host functions.

    Raises
    ------
    KernelSyntaxError, KernelTypeError
        For faults in the kernel.
    """
    lowered = lower_kernel(kernel, spec, resolve if on_host else None)
    assert lowered.reduction is not None, "a parallel_for gives nothing"
    return described(spec, lowered.reduction.result, memory)
