"""Kernels made of several: what each of them does for an index is done one after another."""

from __future__ import annotations

from .captures import without_views
from .kernel import Kernel, KernelPart


class FusedKernel(Kernel):
    """Several kernels in one. The last may be that of a reduction, whose result it is.

    A plan that tells `Plan.subscripts` says that its space compiles such kernels. What a part reads
    that an earlier one has stored is what a launch of its own would read: rounded to the type of
    the element, and not contracted with what comes after.

    Parameters
    ----------
    parts : tuple of KernelPart
    temporary : tuple of int
        Arguments of the fused launch that nobody reads after it, so they need not be stored.
    """

    def __init__(self, parts: tuple[KernelPart, ...], temporary: tuple[int, ...]) -> None:
        last = parts[-1].kernel
        name = " + ".join(part.kernel.name for part in parts)
        super().__init__(without_views(last.fn), fma=last.fma, fastmath=last.fastmath, name=name)
        self.parts, self.temporary = parts, temporary
