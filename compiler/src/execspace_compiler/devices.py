"""From a kernel and a LaunchSpec to the text of a device of the C family: a pure function.

What the host must know to launch it comes with the text. No device, driver or package is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from execspace import Kernel, LaunchSpec

from . import ir
from .diagnostics import Loc
from .mapping import flat_units_function, index_order, units_function, work_function
from .pipeline import Lowered, argument_type, lower_kernel
from .printers.cfamily.dialects import Dialect
from .printers.cfamily.entries import Entries, Entry
from .printers.cfamily.printer import CPrinter
from .results import check_out
from .types import ViewTy


@dataclass(frozen=True)
class DeviceText:
    """A launch as text.

    Attributes
    ----------
    lines : tuple of str
    locs : tuple of Loc or None
        Place in the user's source that each line comes from.
    entry : Entry
    lowered : Lowered
    order : tuple of int
        Dimensions from the slowest to the fastest.
    """

    lines: tuple[str, ...]
    locs: tuple[Loc | None, ...]
    entry: Entry
    lowered: Lowered
    order: tuple[int, ...]

    @property
    def source(self) -> str:
        """The text."""
        return "\n".join(self.lines) + "\n"

    @property
    def result(self) -> Any:
        """Names of the dtypes of a reduction's result, nested as it is."""
        return None if self.lowered.reduction is None else self.lowered.reduction.result


def device_text(
    kernel: Kernel, spec: LaunchSpec, dialect: Dialect, *, flat: bool, group: int
) -> DeviceText:
    """Compile a kernel to the text of a dialect.

    Parameters
    ----------
    flat : bool
        One call of the kernel for a work-item, as GPUs want it; otherwise each work-item does
        a contiguous part of the range in plain loops, as CPUs do.
    group : int
        Work-items of a group in reductions and scans: a power of two.

    Raises
    ------
    KernelSyntaxError, KernelTypeError, LaunchError
    """
    lowered = lower_kernel(kernel, spec)
    reduction = lowered.reduction
    order = index_order(lowered.body, spec)
    scan = spec.pattern == "scan"
    walk = (lowered.body, lowered.leading, spec.policy, order, reduction)
    functions = [work_function(*walk, "_work", flat=flat, final=True if scan else None)]
    if reduction is not None:
        check_out(kernel.name, spec, reduction.result)
        functions.append(reduction.merge_function("_merge"))
        functions.append(reduction.result_function("_result"))
    if scan:
        functions.append(work_function(*walk, "_totals", flat=flat, final=False))
    outs = tuple(argument_type(t) for t in spec.out)
    entries = Entries(lowered, tuple(t for t in outs if isinstance(t, ViewTy)), flat, group)
    printer = CPrinter(lowered.module(*functions), dialect)
    lines = tuple(printer.text(entries.print))
    locs = tuple(getattr(line, "loc", None) for line in lines)
    return DeviceText(lines, locs, entries.entry(), lowered, order)


def units(spec: LaunchSpec, order: tuple[int, ...], flat: bool) -> ir.Function:
    """Number of units of a launch, from its bounds."""
    if flat:
        return flat_units_function(spec.policy, "_units")
    return units_function(spec.policy, order, "_units")
