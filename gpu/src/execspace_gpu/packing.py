"""Text of the function that packs the arguments of a launch and hands it to the driver.

Kernels take one struct of numbers and then the addresses of Views. All lie in one buffer, which the
driver copies when it is called, so a buffer serves one launch after the other.
"""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Sequence
from typing import Any

from execspace_compiler.launch.arguments import (
    head_lines,
    large_text,
    names_used,
    overlap_text,
    range_lines,
    scratch_lines,
    shape_lines,
    units_text,
    value_texts,
)
from execspace_compiler.launch.device_text import DeviceText
from execspace_compiler.mapping.thread_blocks import Blocks
from execspace_compiler.passes.contiguous import Linear
from execspace_compiler.teams.device import DeviceTeam

MOST_UNITS = 1 << 31  # of the usual text


class Frame:
    """A buffer for the arguments of a launch, and the addresses in it that the driver wants.

    Attributes
    ----------
    buffer : bytearray
    parameters : int
        Address of the table of addresses.
    kept : list
        What must live as long: memory that is always given, behind what is packed anew.
    result : Any
        Where the host finds the result of a reduction.
    tiles : int
        Of a scan in one pass, that its scratch memory has room for.
    epoch : int
        Launches of such a scan with this frame.
    shared : int
        Bytes of shared memory of a block, for teams.
    pool : (int, Any)
        Bytes of memory of the device for the scratch of teams, and its owner.
    """

    __slots__ = (
        "_fixed", "_owners", "buffer", "epoch", "kept", "parameters", "pool", "result", "shared",
        "tiles",
    )  # fmt: skip

    def __init__(self, record: int, pointers: int, fixed: Sequence[int], kept: list[Any]) -> None:
        self.kept = kept
        self.result: Any = None
        self.tiles = self.epoch = self.shared = 0
        self.pool: tuple[int, Any] = (0, None)
        self._fixed = record + 8 * pointers
        count = pointers + len(fixed)
        self.buffer = bytearray(record + 8 * count)
        struct.pack_into(f"={len(fixed)}Q", self.buffer, record + 8 * pointers, *fixed)
        view = (ctypes.c_char * len(self.buffer)).from_buffer(self.buffer)
        start = ctypes.addressof(view)
        places = array("Q", [start, *(start + record + 8 * n for n in range(count))])
        self.parameters = places.buffer_info()[0]
        self._owners = view, places

    def give(self, n: int, address: int) -> None:
        """Replace an address that is always given."""
        struct.pack_into("=Q", self.buffer, self._fixed + 8 * n, address)


def record_size(text: DeviceText) -> int:
    """Bytes of the struct of numbers."""
    return struct.calcsize(text.entry.format)


def caller_text(
    text: DeviceText,
    *,
    run: str,
    foreign: Sequence[int],
    instance: bool,
    disjoint: bool,
    blocks: Blocks | None,
    linear: Linear | None,
    group: int,
    team: DeviceTeam | None = None,
    scratch: bool = False,
) -> str:
    """The function `call(bounds, args)`.

    Parameters
    ----------
    text : DeviceText
        The usual text of the launch.
    run : {"launch", "reduce", "watch"}
        What is done with the packed frame.
    foreign : sequence of int
        Arguments that are arrays of other libraries.
    instance : bool
        The launch goes to a stream of its own.
    disjoint : bool
        The usual text is for Views that do not overlap.
    blocks : Blocks, optional
        How it goes through its range, if not flat.
    linear : Linear, optional
        The usual text is for Views that lie in memory as the calls are numbered.
    group : int
        Threads of a block where it is flat.
    team : DeviceTeam, optional
        The threads of teams are those of blocks.
    scratch : bool
        They have scratch memory, of a size that `scratch` finds.
    """
    lowered, entry = text.lowered, text.entry
    values = [v for f in entry.fields for v in value_texts(f)]
    pointers = [f"a{n}.data_ptr" for n in entry.buffers]
    lines = ["def call(bounds, args):", *head_lines(lowered)]
    if blocks is not None:
        lines += shape_lines(blocks)
        unusual, form, there, grid = "form", "form", "gx", "gx, gy, gz, bx, by, bz"
    else:
        lines.append(f"    units = {units_text(lowered.spec, text.order, True)}")
        unusual, form, there = f"units >= {MOST_UNITS}", "units", "units"
        grid = f"(units + {group - 1}) // {group}, 1, 1, {group}, 1, 1"
        if any(f.what == "items" for f in entry.fields):
            lines.append("    items = launch.items(units)")
    if team is not None:
        lines += scratch_lines(scratch)
        unusual = "False"
        grid = f"launch.blocks_for(units), 1, 1, {group}, 1, 1"
        if not team.limited:
            chunk = team.shape.chunk
            grid = f"(units + {chunk - 1}) // {chunk}, 1, 1, {group}, 1, 1"
    if run == "launch":
        lines.append(f"    if not {there}: return None")
    lines += range_lines(text, linear)
    overlap = overlap_text(lowered, scans=True) if disjoint else "False"
    large = large_text(lowered, team.shape.size if team is not None else 1)
    unusual = " or ".join([t for t in (unusual, overlap, large) if t != "False"]) or "False"
    other = "other" if blocks is None else "other_form"
    program = f"launch.{other}({form}, {overlap}, {large})"
    lines += [
        "    try: frame = frames.pop()",
        "    except IndexError: frame = make_frame()",
        *["    tiles, epoch = launch.room(frame, units)"] * bool(entry.tile),
        *["    launch.room_of_teams(frame, w0, w1, units)"] * scratch,
        f"    try: pack(frame.buffer, 0, {', '.join([*values, *pointers])})",
        "    except wrong as error: raise OverflowError(str(error)) from None",
    ]
    if instance:
        lines.append("    space.await_allocations()")
    if foreign:
        lines.append(f"    streams = before(space, ({', '.join(f'a{n}' for n in foreign)},))")
    lines.append("    recent[kernel] = None")
    shared = "frame.shared" if scratch else "0"
    if run == "launch":
        all_of_it = f"({grid})" if blocks is not None else "launch.grid(units)"
        lines += [
            f"    if {unusual}: launch.run({program}, {all_of_it}, frame)",
            "    else:",
            *["        function = programs[in_line].functions[0]"] * (linear is not None),
            f"        try: driver(function, {grid}, {shared}, stream, frame.parameters, 0)",
            f"        except errors as error: launch.again(error, function, ({grid}), frame)",
            "    result = None",
        ]
    else:
        usual = "usual" if linear is None else "programs[in_line]"
        lines.append(f"    program = {program} if {unusual} else {usual}")
        if run == "watch":
            given = f"({grid})" if blocks is not None else None
            lines.append(f"    result = launch.watch(program, {there}, {given}, frame)")
        else:
            lines.append("    result = launch.reduce(program, units, frame)")
    lines.append("    frames.append(frame)")
    if foreign:
        lines.append("    after(space, streams)")
    if instance:
        lines.append("    space.hold(args)")
    lines.append("    return result")
    return "\n".join(lines)


def packer(text: DeviceText) -> Any:
    """Packs numbers and addresses into a buffer, from a place on."""
    entry = text.entry
    return struct.Struct(f"{entry.format}{len(entry.buffers)}Q").pack_into


__all__ = ["Frame", "caller_text", "names_used", "packer", "record_size"]
