"""From a kernel to the source for a device of the C family: a pure function.

All that the host needs to launch it comes with the source. No device, driver or package is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from execspace.base.dataclass import dataclass

from .. import ir
from ..analysis.overlap import written_pairs
from ..codegen.cfamily.device_kernel import DeviceKernel
from ..codegen.cfamily.entries import Entries, Entry
from ..codegen.cfamily.expressions import has_long_offset
from ..codegen.cfamily.printer import CPrinter
from ..codegen.cfamily.scan_tiles import scan_items
from ..ir.diagnostics import Loc
from ..ir.private_arrays import private_total
from ..ir.types import INDEX, UINT32, ViewTy
from ..mapping.loops import Calls
from ..mapping.scan_packs import pack_functions
from ..mapping.thread_blocks import block_function
from ..mapping.variant import Variant
from ..mapping.work_items import work_function
from ..passes.narrowing import LIMIT, is_profitable, narrowed
from ..passes.packing import Packing, ScanPacking
from ..passes.pipeline import argument_type
from ..passes.private_sums import private_body, private_functions
from ..passes.register_steps import in_steps
from ..passes.scan_contributions import given_contribution
from ..passes.thresholds import with_thresholds
from ..teams.device import LANE, RANK, SLOT, team_work
from ..typing.lowered import Lowered

_ADVICE = "This is a defect of execspace or of the driver; please report it."


@dataclass(frozen=True)
class DeviceCode:
    """The generated code of a launch.

    Attributes
    ----------
    lines : tuple of str
    locs : tuple of Loc or None
        Location in the user's source that each line comes from.
    entry : Entry
    lowered : Lowered
    order : tuple of int
        Dimensions from the slowest to the fastest.
    resident : int
        Work-items that a processor should have under way, for which a compiler may use registers
        that has an option for it, instead of a qualifier of kernels; 0: it decides. With packs such
        a compiler does better without: scans of float16 lose a sixth.
    """

    lines: tuple[str, ...]
    locs: tuple[Loc | None, ...]
    entry: Entry
    lowered: Lowered
    order: tuple[int, ...]
    resident: int = 0

    @property
    def source(self) -> str:
        """The source."""
        return "\n".join(self.lines) + "\n"

    @property
    def strict(self) -> bool:
        """Whether a function in it must be compiled without contraction and fast-math."""
        reduction = self.lowered.reduction
        joins = () if reduction is None else reduction.functions
        return any(f.strict for f in (*self.lowered.functions, *joins))

    def complaint(
        self, faults: Sequence[tuple[int, str]], log: str, who: str, advice: str = _ADVICE
    ) -> str:
        """The message for a compiler that refused the source.

        Parameters
        ----------
        faults : sequence of (int, str)
            Number of a line of the source, from 1, and the compiler's message. They are shown with
            the line of the user's source that it comes from.
        log : str
            The compiler's output, for faults without a location.
        who : str
            Description of the compiler.
        advice : str
            What users can do about it.
        """
        parts = [f"in kernel '{self.lowered.kernel.name}'"]
        for line, message in faults:
            if not 1 <= line <= len(self.lines):
                continue
            parts.append(f"{message}\n    {self.lines[line - 1].strip()}")
            loc = self.locs[line - 1]
            if loc is not None and loc.line:
                parts.append(f"{loc}\n{loc.excerpt()}")
        if len(parts) == 1:
            parts.append(log)
        parts.append(f"{who} refused generated code. {advice}")
        return "\n".join(parts)

    @property
    def private_bytes(self) -> int:
        """Bytes of private arrays in a call of the kernel."""
        return private_total(self.lowered.functions)

    @property
    def result(self) -> Any:
        """Names of the dtypes of a reduction's result, nested as it is."""
        return None if self.lowered.reduction is None else self.lowered.reduction.result


def long_offsets(lowered: Lowered) -> list[int]:
    """Arguments that are Views whose offsets are sums of products, those of `out` last.

    They profit from products of 32 bits.
    """
    types = [argument_type(t) for t in (*lowered.spec.arguments, *lowered.spec.out)]
    return [n for n, t in enumerate(types) if isinstance(t, ViewTy) and has_long_offset(t)]


def _intervals(kernel: DeviceKernel) -> dict[str, tuple[int, int]]:
    """Intervals of a kernel's parameters that launches check."""
    lowered, team = kernel.lowered, kernel.team
    parameters = lowered.body.parameters
    names = [p.name for p in parameters[: lowered.leading]]
    found = {p.name: (-LIMIT, LIMIT) for p in parameters[lowered.leading :]}
    if team is None:
        least = 0 if lowered.spec.policy.nonnegative else -LIMIT
        return found | dict.fromkeys(names[: lowered.spec.policy.rank], (least, LIMIT))
    found |= dict.fromkeys(names[:2], (0, LIMIT // team.shape.size))
    found[RANK.name] = 0, team.shape.size - 1
    found[LANE.name] = 0, team.shape.lanes - 1
    found[SLOT.name] = 0, team.shape.chunk - 1
    return found


def device_code(kernel: DeviceKernel, variant: Variant) -> DeviceCode:
    """The source of a variant: all passes of a device of the C family, in their order."""
    items = scan_items(kernel, variant.group)
    if variant.small:
        kernel = _with_narrow_types(kernel)
    lowered = kernel.lowered
    given = _given_contribution(kernel, variant)
    walked = _with_private_sums(kernel) if variant.private else kernel
    functions = _work(walked, variant, given)
    functions += _of_reduction(kernel, variant)
    outs = tuple(argument_type(t) for t in lowered.spec.out)
    views = tuple(t for t in outs if isinstance(t, ViewTy))
    if variant.private:
        functions += private_functions(lowered, kernel.private)
    entries = Entries(kernel, variant, views, given is not None, items)
    shape = None if kernel.team is None else kernel.team.shape
    module = with_thresholds(
        walked.lowered.module(*functions, disjoint=variant.disjoint, in_parts=not kernel.flat)
    )
    if kernel.dialect.workarounds.gathers_loads:
        module = replace(module, functions=in_steps(module.functions))
    once = kernel.reads_nontemporal and (
        variant.disjoint or not written_pairs(lowered, (lowered.spec.pattern,))
    )
    printer = CPrinter(module, kernel.dialect, variant.small, shape, once)
    resident = 0 if kernel.packing(variant) else kernel.resident(variant)
    lines = tuple(printer.source(entries.print))
    locs = tuple(getattr(line, "loc", None) for line in lines)
    return DeviceCode(lines, locs, entries.entry(), lowered, kernel.order, resident)


def _with_private_sums(kernel: DeviceKernel) -> DeviceKernel:
    """The kernel whose groups add in memory of their own."""
    body = private_body(kernel.lowered, kernel.private)
    functions = (*kernel.lowered.functions[:-1], body)
    return replace(kernel, lowered=replace(kernel.lowered, functions=functions))


def _with_narrow_types(kernel: DeviceKernel) -> DeviceKernel:
    """The kernel with integers of 32 bits where they suffice."""
    lowered, team = kernel.lowered, kernel.team
    if not is_profitable(lowered.functions):
        return kernel
    known = _intervals(kernel)
    lowered = replace(lowered, functions=narrowed(lowered.functions, known))
    contiguous, packings = kernel.contiguous, kernel.packings
    if contiguous is not None:
        contiguous = replace(contiguous, body=narrowed((contiguous.body,), known)[0])
    if packings is not None:

        def narrow(p: Packing | None) -> Packing | None:
            return p and replace(p, body=narrowed((p.body,), known)[0])

        packings = packings.changed(narrow)
    team = team and replace(team, lowered=lowered)
    return replace(kernel, lowered=lowered, contiguous=contiguous, packings=packings, team=team)


def _given_contribution(kernel: DeviceKernel, variant: Variant) -> ir.Function | None:
    """The body of a single-pass scan that takes its contribution, if possible."""
    scan = kernel.lowered.spec.pattern == "scan"
    if not scan or not kernel.dialect.scans_in_one_pass or kernel.team is not None:
        return None
    if kernel.packings is None:
        return given_contribution(kernel.lowered, variant.disjoint)
    packing, packs = kernel.packing(variant), kernel.packings.scan
    if packing is None or packs is None or packs.given is None:
        return None
    return given_contribution(kernel.lowered, variant.disjoint, packed=True)


def _calls(kernel: DeviceKernel, body: ir.Function | None = None, **more: Any) -> Calls:
    """Calls of a body, which may have one more leading parameter than the kernel."""
    lowered = kernel.lowered
    leading = lowered.leading + (body is not None)
    return Calls(
        body or lowered.body, leading, lowered.spec.policy, kernel.order, lowered.reduction,
        kernel.pools, parts=() if kernel.flat else lowered.parts, buffers=lowered.buffers,
        repeated=lowered.repeated,
        in_strips=not kernel.flat, **more,
    )  # fmt: skip


def _walk(kernel: DeviceKernel, variant: Variant, calls: Calls, name: str) -> ir.Function:
    """The walk of a work-item through a range without blocks."""
    small = variant.small and kernel.lowered.spec.policy.rank > 1
    scaled = bool(kernel.scales) and variant.narrow
    packing = None if calls.final is not None else kernel.packing(variant)
    return work_function(
        calls, name, flat=kernel.flat, narrow=variant.narrow, scaled=scaled, small=small,
        packing=packing, single=kernel.is_single(variant),
    )  # fmt: skip


def _work(kernel: DeviceKernel, variant: Variant, given: ir.Function | None) -> list[ir.Function]:
    """The functions of a work-item, with the body that it calls if it is not the kernel itself."""
    lowered = kernel.lowered
    final = True if lowered.spec.pattern == "scan" else None
    if kernel.team is not None:
        return [team_work(kernel.team, "_work", final)]
    if kernel.blocks is not None:
        small = variant.small and lowered.spec.policy.rank > 1
        packing = kernel.packing(variant)
        work = block_function(
            lowered, "_work", kernel.blocks, wide=not variant.narrow, small=small, packing=packing
        )
        return [work] if packing is None else [packing.body, work]
    packing = kernel.packing(variant)
    if packing is not None and kernel.packings is not None and kernel.packings.scan is not None:
        return _packed_scan(kernel, variant, kernel.packings.scan, given)
    packed = [] if packing is None else [packing.body]
    if variant.contiguous and kernel.contiguous is not None:
        body = kernel.contiguous.body
        return [body, *packed, _walk(kernel, variant, _calls(kernel, body, numbered=True), "_work")]
    if any(kernel.lanes):
        calls = _calls(
            kernel, lanes=None if kernel.lowered.parts else kernel.lanes[0], part_lanes=kernel.lanes
        )
        in_lanes = [f for form in kernel.lanes if form for f in form.functions]
        return [*in_lanes, _walk(kernel, variant, calls, "_work")]
    if given is None:
        return [*packed, _walk(kernel, variant, _calls(kernel, final=final), "_work")]
    own = given.parameters[lowered.leading]
    calls = _calls(kernel, given, final=True, own=own)
    return [given, _walk(kernel, variant, calls, "_work")]


def _packed_scan(
    kernel: DeviceKernel, variant: Variant, packing: ScanPacking, given: ir.Function | None
) -> list[ir.Function]:
    """The functions of a scan with packs: for packs, and for single calls at the end."""
    own = None if given is None else given.parameters[kernel.lowered.leading]
    final = packing.plain if own is None else packing.given
    assert final is not None
    kind = UINT32 if variant.narrow else INDEX
    first = _calls(kernel, final=False)
    last = _calls(kernel, given, final=True, own=own)
    functions = pack_functions(
        first, last, packing.totals, final, kind, variant.small, kernel.dialect.scan.nontemporal
    )
    walk = _walk(kernel, variant, _calls(kernel, final=True), "_work")
    return [packing.totals.body, final.body, *functions, walk]


def _of_reduction(kernel: DeviceKernel, variant: Variant) -> list[ir.Function]:
    """Functions that join and finish, and for a scan the pass that computes totals."""
    reduction = kernel.lowered.reduction
    if reduction is None:
        return []
    functions = [reduction.merge_function("_merge"), reduction.result_function("_result")]
    if kernel.lowered.spec.pattern != "scan":
        return functions
    if kernel.team is not None:
        return [*functions, team_work(kernel.team, "_totals", False)]
    return [*functions, _walk(kernel, variant, _calls(kernel, final=False), "_totals")]
