"""The function that launches a kernel: Python source, generated when the kernel is compiled.

This function is most of a launch's cost on the host, so everything known when the kernel is
compiled is written out: no loops and no type tests at run time. In the source, `b0` ... are bounds
and `a0` ... arguments, those of `out` last. A backend defines how Views become arguments, and how
the usual parallel_for is enqueued; the rest is the same for all.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from ..analysis.cost import cost
from ..codegen.cfamily.entries import Field
from ..passes.packing import Packing
from .call_source import (
    MOST_UNITS,
    head_lines,
    large_expression,
    names_used,
    overlap_expression,
    private_expression,
    range_lines,
    ranges_of,
    shape_lines,
    tile_lines,
    units_expression,
    value_expressions,
)
from .device_code import DeviceCode
from .sources import Sources


class CallBuilder:
    """Generates the function `call(bounds, args)` of a launch; a backend may derive from it.

    In its source, `launch` is the `DeviceLaunch`, `frame` the frame of this launch, `pack` packs
    numbers and `usual` is the usual program. A backend may override methods marked "may".

    Parameters
    ----------
    sources : Sources
    code : DeviceCode
        Code of the usual variant.
    watched : bool
        The launch blocks: the kernel prints or asserts, or a user asked for it.
    """

    def __init__(self, sources: Sources, code: DeviceCode, watched: bool) -> None:
        self.sources, self.code, self.entry = sources, code, code.entry
        self.kernel, self.lowered = sources.kernel, sources.lowered
        self.watched = watched
        self.spec = self.lowered.spec
        self.types = (*self.spec.arguments, *self.spec.out)
        self.reduces = self.lowered.reduction is not None
        self.scratch = sources.teams is not None and sources.teams.scratch(0) is not None

    keeps_views = True
    """`pack` stores objects that own memory in the frame, which drops them after the launch."""

    # -- for backends -----------------------------------------------------------------------------

    def pointer(self, n: int) -> str:
        """Expression of a View as an argument of a kernel; may."""
        return f"a{n}.data_ptr"

    def first(self, n: int) -> str:
        """Expression of the index of a View's first element relative to `pointer`; may."""
        return "0"

    def pack(self, values: Sequence[str], pointers: Sequence[str]) -> list[str]:
        """Lines that store numbers and Views in the frame; may. `wrong` is caught around them."""
        views = ", ".join(pointers)
        return [f"frame.record = pack({', '.join(values)})", f"frame.views = [{views}]"]

    def before(self) -> list[str]:
        """Lines before kernels are enqueued; may."""
        return []

    def usual(self, program: str, grid: str) -> list[str]:
        """Lines that enqueue the usual parallel_for; may."""
        return [f"launch.enqueue({program}, 0, ({grid}), frame)"]

    def reduction(self, program: str) -> list[str]:
        """Lines that enqueue a reduction or scan, and set `result` to what it returns; may."""
        return [f"result = launch.reduce({program}, units, frame)"]

    def after(self) -> list[str]:
        """Lines after kernels were enqueued; may."""
        return []

    def scope(self) -> dict[str, Any]:
        """Globals of the source, in addition to those of the launch; may."""
        return {
            **names_used(self.lowered),
            "pack": struct.Struct(self.entry.format).pack,
            "ranges": ranges_of(self.code),
            "shapes": self.sources.shapes,
        }

    @property
    def cost(self) -> int | None:
        """Rough cost of one call of the kernel, in additions; None: it depends on the call."""
        return cost(self.lowered)

    # -- the source -------------------------------------------------------------------------------

    def source(self) -> str:
        """The generated source."""
        lines = [*head_lines(self.lowered), *self._range()]
        if self._plain:
            lines.append(f"    if not {self._units}: return None")
        lines += range_lines(self.code, self.kernel.contiguous)
        lines += [
            "    try:",
            "        try: frame = frames.pop()",
            "        except IndexError: frame = make_frame()",
            *["        tiles, epoch = launch.room(frame, units)"] * bool(self.entry.tile),
            *[
                "        if frame.room != (w0, w1, units): "
                "launch.room_of_teams(frame, w0, w1, units)"
            ]
            * self.scratch,
            *self._packing(),
            *(f"        {line}" for line in (*self.before(), *self._enqueue())),
            *["        frame.views = None"] * self.keeps_views,
            "        frames.append(frame)",
            *(f"        {line}" for line in self.after()),
            "    except too_large as error:",
            "        most = error.most",
            *["        frame.views = None"] * self.keeps_views,
            "        frames.append(frame)",
            "    except errors as error: raise launch.fault(error) from error",
            "    else: return result",
            "    return launch.within(most)(bounds, args)",
        ]
        return "\n".join(["def call(bounds, args):", *lines])

    @property
    def _plain(self) -> bool:
        """An asynchronous parallel_for."""
        return not self.reduces and not self.watched

    @property
    def _units(self) -> str:
        return "units" if self.kernel.blocks is None else "gx"

    def _range(self) -> list[str]:
        """Lines that compute the number of units, or grid and block, and the memory of teams."""
        if self.kernel.blocks is not None:
            return shape_lines(self.kernel.blocks)
        flat = self.kernel.flat
        lines = tile_lines(self.spec) if flat else []
        lines.append(f"    units = {units_expression(self.spec, self.code.order, flat)}")
        if any(f.what == "items" for f in self.entry.fields):
            lines.append("    items = launch.items(units)")
        if self.spec.policy.kind == "team":
            lines.append("    w0, w1 = scratch(b1, args)" if self.scratch else "    w0 = w1 = 0")
        return lines

    def _packing(self) -> list[str]:
        values = [v for f in self.entry.fields for v in self._value(f)]
        packing = self.pack(values, [self.pointer(n) for n in self.entry.buffers])
        return [
            "        try:",
            *(f"            {line}" for line in packing),
            "        except wrong as error: raise OverflowError(str(error)) from None",
        ]

    def _value(self, field: Field) -> list[str]:
        return [self.first(field.argument)] if field.what == "first" else value_expressions(field)

    def _enqueue(self) -> list[str]:
        usual = "usual" if self.kernel.contiguous is None else "programs[contiguous]"
        choices = self._choices()
        if self._plain:
            lines = self.usual(usual, self._grid())
            for test, program, grid in reversed(choices):
                lines = [
                    f"if {test}: launch.enqueue({program}, 0, {grid}, frame)",
                    "else:",
                    *(f"    {line}" for line in lines),
                ]
            return [*lines, "result = None"]
        chosen, grid = usual, self._whole_grid
        one_grid = all(other == grid for _, _, other in choices)
        for test, program, other in reversed(choices):
            chosen = f"{program} if {test} else {chosen}"
            if not one_grid:
                grid = f"{other} if {test} else {grid}"
        if not self.watched:
            return self.reduction(chosen)
        if self.reduces:
            grid = "None"
        return [f"result = launch.watch({chosen}, {self._units}, {grid}, frame)"]

    def _choices(self) -> list[tuple[str, str, str]]:
        """Tests for all programs but the usual one, what tells the program, and its grid.

        The first test that holds counts.
        """
        overlap = "False"
        if self.sources.disjoint:
            overlap = overlap_expression(self.lowered, self.sources.disjoint_patterns)
        teams = self.sources.teams
        large = "False"
        if self.kernel.flat:
            large = large_expression(self.lowered, 1 if teams is None else teams.size)
        narrow, unusual, roomy = "True", "False", "False"
        if self.kernel.blocks is not None:
            narrow, unusual, roomy = "not form & 1", "form", "form & 2"
        elif not self.kernel.flat:
            narrow = "False"
        elif teams is None:
            narrow, unusual = f"units < {MOST_UNITS}", f"units >= {MOST_UNITS}"
        choices = []
        unusual = " or ".join(t for t in (unusual, overlap, large) if t != "False")
        if unusual:
            program = f"launch.other({narrow}, {overlap}, {large}, {roomy})"
            choices.append((unusual, program, self._whole_grid))
        if self.kernel.private:
            private = private_expression(self.lowered, self.kernel.private)
            choices.append((private, "launch.private", "launch.private_grid(units)"))
        return choices

    @property
    def _whole_grid(self) -> str:
        """Grid of a parallel_for by any program that does not add to copies."""
        return f"({self._grid()})" if self.kernel.blocks is not None else "launch.grid(units)"

    def _grid(self) -> str:
        """Grid of the usual parallel_for: groups, and work-items of a group, along x, y and z."""
        group, team = self.sources.group, self.sources.team
        if self.kernel.blocks is not None:
            return "gx, gy, gz, bx, by, bz"
        if not self.kernel.flat:
            return "launch.groups(units), 1, 1, 1, 1, 1"
        if team is not None and team.grid_stride:
            return f"launch.groups(units), 1, 1, {group}, 1, 1"
        each = group if team is None else team.shape.chunk
        other, usual = (
            _groups(each, self.kernel.packing(self.sources.usual_if(c))) for c in (False, True)
        )
        groups = usual if usual == other else f"{usual} if contiguous else {other}"
        return f"{other if self.kernel.contiguous is None else groups}, 1, 1, {group}, 1, 1"


def _groups(each: int, packing: Packing | None) -> str:
    """Groups of so many work-items that run single calls or packs, which may begin before the
    range."""
    if packing is None:
        return f"(units + {each - 1}) // {each}"
    size = each * packing.count
    return f"(units + {size + packing.count - 2}) // {size}"
