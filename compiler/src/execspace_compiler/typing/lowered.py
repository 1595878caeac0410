"""A kernel in typed IR: the front end's result, for passes, mappings and printers."""

from __future__ import annotations

from execspace import Kernel, LaunchSpec
from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Assertion
from ..reductions.reduction import Reduction

# Calls that each kernel of a fused one makes before the next, on hosts: their elements fit into the
# smallest cache. And calls that a sum of floats is made of, by itself or at the end of a fused
# kernel, so that both add in the same order; with fewer it would take longer by itself.
STRIP, JOINED = 512, 8192


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
    joining : tuple of ir.Function or None
        Of a fused kernel that ends with a reduction, the functions of that one: their cost tells
        into how many parts hosts take a range, and so the order of joins.
    parts : tuple of ir.Function
        Of a fused kernel, the bodies of its kernels, which take what the body takes. Hosts run each
        in turn for `STRIP` calls, as if each were alone. Before its arguments each but that of
        a reduction takes the `buffers`, if there are any, and the sum of the indices of the first
        of these calls.
    repeated : tuple of tuple of ir.Var
        For each part, arguments that it takes once more at its end, under other names: of a View
        that its kernel was given twice, compilers are not to know that.
    buffers : tuple of ir.Var
        Arrays of `STRIP` elements for what is not stored.
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
    joining: tuple[ir.Function, ...] | None = None
    parts: tuple[ir.Function, ...] = ()
    buffers: tuple[ir.Var, ...] = ()
    repeated: tuple[tuple[ir.Var, ...], ...] = ()

    @property
    def body(self) -> ir.Function:
        """The kernel itself."""
        return self.functions[-1]

    @property
    def written(self) -> frozenset[str]:
        """View parameters of the body that a call may store into, itself or through a helper."""
        return ir.written_views(self.body, self.functions[:-1])

    @property
    def asserts(self) -> bool:
        """Whether an assertion of the kernel, or of a helper, may fail in it."""
        return any(isinstance(s, ir.Fail) for s in ir.walk_statements(self.body.body))

    def module(
        self, *more: ir.Function, disjoint: bool = False, in_parts: bool = False
    ) -> ir.Module:
        """A module of the functions and `more`, with the kernel's options.

        `in_parts`: of a fused kernel its parts, in place of the body.
        """
        parts = self.parts if in_parts else ()
        functions = (*self.functions[:-1], *(parts or (self.body,)), *more)
        bodies = frozenset(f.name for f in parts)
        return ir.Module(functions, self.kernel.fma, self.kernel.fastmath, disjoint, bodies)
