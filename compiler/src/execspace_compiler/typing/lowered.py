"""A kernel in typed IR: the front end's result, for passes, mappings and printers."""

from __future__ import annotations

from execspace import Kernel, LaunchSpec
from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Assertion
from ..reductions.reduction import Reduction


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel in typed IR.

    Attributes
    ----------
    functions : tuple of ir.Function
        Helpers first, the body last. The body takes the indices, or the four ranks and sizes of a
        team; for a scan also the prefix and whether this is the final pass, for an array reduction
        the array; then one parameter for each of `LaunchSpec.arguments`.
    leading : int
        Number of the body's parameters before those for the arguments.
    reduction : Reduction or None
    assertions : tuple of Assertion
        The asserts of the kernel and its helpers, numbered from 1. If there are any, the last
        parameter of the body points to the status in which a failure is recorded.
    prints : bool
        The kernel calls es.printf.
    limits : tuple of (int, str, int, int)
        Position and name of each Python integer that is converted to a narrower type, with the
        least and the greatest value that fits.
    typed : tuple of ir.Function
        Helpers and the body as they were typed, before helpers of a team were inlined.
    """

    kernel: Kernel
    spec: LaunchSpec
    functions: tuple[ir.Function, ...]
    leading: int
    reduction: Reduction | None
    assertions: tuple[Assertion, ...]
    prints: bool
    limits: tuple[tuple[int, str, int, int], ...]
    typed: tuple[ir.Function, ...]

    @property
    def body(self) -> ir.Function:
        """The kernel itself."""
        return self.functions[-1]

    @property
    def asserts(self) -> bool:
        """Whether an assertion of the kernel, or of a helper, may fail in it."""
        return any(isinstance(s, ir.Fail) for s in ir.walk_statements(self.body.body))

    def module(self, *more: ir.Function, disjoint: bool = False) -> ir.Module:
        """A module of the functions and `more`, with the kernel's options."""
        functions = (*self.functions, *more)
        return ir.Module(functions, self.kernel.fma, self.kernel.fastmath, disjoint)
