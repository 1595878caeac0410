"""Generated code of launches on OpenCL: what is given to the driver, and what it has already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from execspace.contract.dtypes import dtype_of
from execspace_compiler.backend import CallBuilder, Grid

from .host_memory import WORD, address, unit_of


class OpenCLCallBuilder(CallBuilder):
    """Views are buffers with an offset; of the host they are addresses, or lent for the launch."""

    def __init__(self, launch: Any) -> None:
        super().__init__(launch.sources, launch.code, launch.watched)
        self.launch = launch
        by_address = launch.space.device.takes_addresses
        self.by_address = launch.host if by_address else ()
        self.lent = () if by_address else launch.host

    def pointer(self, n: int) -> str:
        if n in self.by_address:
            return f"address(a{n}.data_ptr & {-WORD})"
        if n in self.lent:
            return f"lent[{self.lent.index(n)}][0]"
        return f"buffers[a{n}.allocation.pointer]"

    def first(self, n: int) -> str:
        size = unit_of(dtype_of(self.types[n].dtype))
        if n in self.by_address:
            return f"(a{n}.data_ptr & {WORD - 1}) // {size}" if size < WORD else "0"
        if n in self.lent:
            return f"lent[{self.lent.index(n)}][1] // {size}"
        return f"(a{n}.data_ptr - a{n}.allocation.pointer) // {size}"

    def pack(self, values: Sequence[str], pointers: Sequence[str]) -> list[str]:
        views = ", ".join(f"a{n}" for n in self.lent)
        lending = [f"lent = launch.lend([{views}])"] * bool(self.lent)
        return [*lending, *super().pack(values, pointers)]

    def usual(self, program: str, grid: str) -> list[str]:
        if not self.launch.inlines or self.launch.host or self.launch.extra:
            return super().usual(program, grid)
        group = f", 1, 1, {self.launch.group}, 1, 1"
        if grid.endswith(group):
            return self._again(program, grid.removesuffix(group))
        return super().usual(program, grid)

    def reduction(self, program: str) -> list[str]:
        launch, most = self.launch, self.launch.most_groups
        if not launch.inlines or launch.host or most is None or self.kernel.blocks is not None:
            return super().reduction(program)
        group = launch.group
        result = "None" if self.spec.out else "launch.awaited(frame)"
        return [
            f"groups = (units + {group - 1}) // {group} or 1",
            f"if groups > {most}: groups = {most}",
            *self._again(program, "groups", "one.frame is frame and "),
            f"result = {result}",
        ]

    def _again(self, program: str, groups: str, test: str = "") -> list[str]:
        """Lines that enqueue kernel 0 in groups of the usual size; and set its arguments, unless
        they are those of the last launch: Views by their allocations, whose addresses come once."""
        views = "".join(f"a{n}.allocation.pointer, " for n in self.entry.buffers)
        group = self.launch.group
        return [
            f"one, groups, key = {program}, {groups}, ({views})",
            "with turn:",
            f"    if {test}one.key == key and one.records[0] == frame.record:",
            f"        launch.again(queue.handle, one.kernels[0], (groups * {group},), ({group},))",
            "    else:",
            f"        launch.enqueue(one, 0, (groups, 1, 1, {group}, 1, 1), frame)",
            "        one.key, one.frame = key, frame",
        ]

    def scope(self) -> dict[str, Any]:
        queue, device = self.launch.space.queue, self.launch.space.device
        return {
            **super().scope(), "address": address, "buffers": device.buffers,
            "turn": queue.turn, "queue": queue,
        }  # fmt: skip


def size_of(grid: Grid) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """All work-items, and those of a group; dimensions that are not there cost time."""
    gx, gy, gz, bx, by, bz = grid
    if gy * by * gz * bz > 1:
        return (gx * bx, gy * by, gz * bz), (bx, by, bz)
    return (gx * bx,), (bx,)
