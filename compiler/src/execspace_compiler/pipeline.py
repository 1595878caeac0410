"""From a kernel and a LaunchSpec to typed IR: the path that every backend shares."""

from __future__ import annotations

from dataclasses import dataclass
from types import FunctionType

from execspace import (
    DTypeError,
    Kernel,
    KernelTypeError,
    LaunchError,
    LaunchSpec,
    ScalarType,
    ViewType,
)

from . import ir
from .diagnostics import Fault, Loc, Reporter
from .frontend import lower
from .infer import FunctionTyper, ModuleTyper
from .ranges import drop_sign_fixups
from .reductions import Reduction, reduction_for
from .source import Source, source_of
from .types import INDEX, PYTHON_WEAK, Scalar, Type, ViewTy


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel in typed IR.

    Attributes
    ----------
    functions : tuple of ir.Function
        Helpers first, the body last. The body takes the indices, then one parameter for each
        of `LaunchSpec.arguments`.
    reduction : Reduction or None
    """

    kernel: Kernel
    spec: LaunchSpec
    functions: tuple[ir.Function, ...]
    reduction: Reduction | None

    @property
    def body(self) -> ir.Function:
        """The kernel itself."""
        return self.functions[-1]

    def module(self, *more: ir.Function, disjoint: bool = False) -> ir.Module:
        """The functions and more of them as a module with the kernel's options."""
        functions = (*self.functions, *more)
        return ir.Module(functions, self.kernel.fma, self.kernel.fastmath, disjoint)


def argument_type(type: ViewType | ScalarType) -> Type:
    """The compiler's type of a launch argument."""
    if isinstance(type, ScalarType):
        return Scalar(type.dtype, PYTHON_WEAK if type.weak else 0)
    return ViewTy(Scalar(type.dtype), type.rank, type.layout, type.unit, type.readonly)


def lower_kernel(kernel: Kernel, spec: LaunchSpec) -> Lowered:
    """Compile a kernel to typed IR.

    Raises
    ------
    LaunchError
        If the kernel's parameters do not fit the policy and the arguments.
    KernelSyntaxError, KernelTypeError
        With every fault found, each with its place in the source.
    """
    source = source_of(kernel.fn)
    # A plain captured name cannot clash with a parameter, which would hide it; a dotted one could.
    hidden = {
        c.name: f"{c.name.replace('.', '_')}_captured" if "." in c.name else c.name
        for c in spec.captures
        if c.argument is not None
    }
    explicit = len(spec.arguments) - len(hidden)
    _check_parameters(kernel.fn, source, spec, explicit)
    reporter = Reporter(kernel.name)
    function = lower(source, hidden, reporter)
    types: list[Type] = [INDEX] * spec.policy.rank + [argument_type(a) for a in spec.arguments]
    module = ModuleTyper(reporter)
    reduces = spec.pattern == "reduce"
    typer = FunctionTyper(module, function, types, reporter, returns=reduces)
    body = typer.run()
    reporter.check()
    if spec.policy.nonnegative:
        indices = frozenset(p.name for p in body.parameters[: spec.policy.rank])
        body = drop_sign_fixups(body, indices)
    reduction = _reduction(kernel, spec, body) if reduces else None
    return Lowered(kernel, spec, (*module.functions, body), reduction)


def _reduction(kernel: Kernel, spec: LaunchSpec, body: ir.Function) -> Reduction:
    assert spec.reducer is not None and body.result is not None
    try:
        return reduction_for(spec.reducer, body.result)
    except DTypeError as error:
        raise KernelTypeError(f"in kernel '{kernel.name}'\n{body.loc}: {error}") from None


def _check_parameters(fn: FunctionType, source: Source, spec: LaunchSpec, explicit: int) -> None:
    names = fn.__code__.co_varnames[: fn.__code__.co_argcount]
    rank = spec.policy.rank
    if len(names) == rank + explicit:
        return
    loc = Loc.of(source.node, source.file)
    raise LaunchError(
        f"in kernel '{fn.__name__}'\n{loc}: it has {len(names)} parameters "
        f"({', '.join(names) or 'none'}), but a policy of rank {rank} passes {rank} "
        f"{'index' if rank == 1 else 'indices'} and the launch passes {explicit} "
        f"{'argument' if explicit == 1 else 'arguments'}, {rank + explicit} in all.\n"
        f"{loc.excerpt()}\nhint: give the kernel one parameter for each index, then one for "
        f"each argument."
    )


__all__ = ["Fault", "Lowered", "argument_type", "lower_kernel"]
