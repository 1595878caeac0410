"""Text of the Python function that packs the arguments of a launch: no loop at run time.

A launch costs about as much as this function, so all that is known when the kernel is compiled
is written out: which numbers of which arguments go into the record, and what comes back.
"""

from __future__ import annotations

from collections.abc import Sequence

from execspace import LaunchSpec
from execspace_compiler.analysis.cost import cost
from execspace_compiler.codegen.cfamily.entries import Entry, Field
from execspace_compiler.codegen.cfamily.states import SLOT
from execspace_compiler.reductions.results import result_shape
from execspace_compiler.typing.lowered import Lowered

# Below this much work, in additions, the calling thread does it: waking a team takes longer.
SERIAL_WORK = 16_000

CODES = {"bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i",
         "uint32": "I", "int64": "q", "uint64": "Q", "float16": "e", "float32": "f",
         "float64": "d", "complex64": "ff", "complex128": "dd"}  # fmt: skip


def result_format(dtypes: Sequence[str]) -> str:
    """Of Python's `struct`: each number of a result lies in a slot of its own."""
    sizes = {"?": 1, "b": 1, "B": 1, "h": 2, "H": 2, "e": 2, "i": 4, "I": 4, "f": 4}
    text = "="
    for name in dtypes:
        codes = CODES[name]
        text += f"{codes}{SLOT - sum(sizes.get(c, 8) for c in codes)}x"
    return text


def caller_text(
    lowered: Lowered,
    entry: Entry,
    order: tuple[int, ...],
    dtypes: Sequence[str],
    pairs: Sequence[tuple[int, int]],
) -> str:
    """The function `call(bounds, args)`.

    `dtypes` are those of the numbers that a reduction gives to the host, `pairs` the arguments that
    the usual library takes for Views which do not overlap.
    """
    spec = lowered.spec
    bounds = [f"b{n}" for n in range(spec.policy.rank * (3 if spec.policy.tiled else 2))]
    names = [f"a{n}" for n in range(len(spec.arguments) + len(spec.out))]
    lines = ["def call(bounds, args):", f"    {', '.join(bounds)}, = bounds"]
    if names:
        lines.append(f"    {', '.join(names)}, = args")
    for n, _, low, high in lowered.limits:
        lines.append(f"    if not {low} <= a{n} <= {high}: refuse(limits, args)")
    shape = result_shape(spec)
    if shape is not None and spec.out and spec.out[0].rank:
        view = f"a{len(spec.arguments)}"
        lines.append(f"    if {view}.shape != {shape}: refuse_shape(name, {view}, {shape})")
    lines += _parts(lowered, order)
    run = "usual"
    if pairs:
        overlap = " or ".join(f"may_overlap(a{n}, a{m})" for n, m in pairs)
        lines.append(f"    run = launch.overlapping() if {overlap} else usual")
        run = "run"
    result, returned = "None", "None"
    if dtypes and spec.array_shape is not None:
        lines.append(f"    result = empty({spec.array_shape}, {dtypes[0]!r})")
        result, returned = "result.ctypes.data", "result"
    elif dtypes:
        lines.append(f"    result = buffer({SLOT * len(dtypes)})")
        result, returned = "result", "make(unpack(result))"
    pointers = [f"a{n}.data_ptr" for n in entry.buffers]
    if entry.status:
        lines.append(f"    status = ({2 + spec.policy.rank} * int64)()")
        pointers.append("address(status)")
    if entry.pool:  # scratch memory of teams: each part has it for itself
        lines.append("    memory = scratch(b1, args)")
        lines.append("    pool = empty(parts * sum(memory) + 1, 'uint8')")
        pointers.append("pool.ctypes.data")
    values = [value for field in entry.fields for value in _values(field)]
    team = "parts > 1 and space.has_team"
    lines += [
        f"    try: record = pack({', '.join([*values, *pointers, 'parts', team])})",
        "    except wrong as error: raise OverflowError(str(error)) from None",
        *["    flush()"] * lowered.prints,
        f"    if {run}(record, {result}): no_memory(name, parts)",
        *["    if status[0]: failed(status)"] * entry.status,
        f"    return {returned}",
    ]
    return "\n".join(lines)


def _parts(lowered: Lowered, order: tuple[int, ...]) -> list[str]:
    """Lines that find the number of units of the range, and of the parts it is split into."""
    spec: LaunchSpec = lowered.spec
    rank = spec.policy.rank
    extents = [f"(b{rank + d} - b{d})" for d in range(rank)]
    some = " and ".join(f"b{d} < b{rank + d}" for d in range(rank))
    if spec.policy.tiled:
        tiles = [f"b{2 * rank + d}" for d in range(rank)]
        counts = [f"-(-{e} // {t})" for e, t in zip(extents, tiles, strict=True)]
    else:  # the slowest dimensions are split, the others are loops within a unit
        counts = [extents[d] for d in order[: min(rank - 1, 2) + 1]]
    if spec.policy.chunk_size > 1:  # teams that a part has together
        counts = [f"-(-b1 // {spec.policy.chunk_size})"]
    lines = [f"    units = {' * '.join(counts)} if {some} else 0"]
    if lowered.reduction is None:
        lines.append("    if not units: return None")
    parts = "(units if units < threads else threads) or 1"
    work = cost(lowered.body, lowered.functions)
    if work is None:
        return [*lines, f"    parts = {parts}"]
    few = SERIAL_WORK // max(work, 1)
    return [*lines, f"    parts = 1 if {' * '.join(extents)} < {few} else {parts}"]


def _values(field: Field) -> list[str]:
    """Expressions of a number of the record; two for a complex one."""
    n, d = field.argument, field.dimension
    match field.what:
        case "bound":
            return [f"b{n}"]
        case "units":
            return ["units"]
        case "items":
            return ["parts"]
        case "scratch":
            return ["sum(memory)"]
        case "first":
            return ["0"]  # the pointer is that of the first element
        case "stride":
            return [f"a{n}.strides[{d}]"]
        case "extent":
            return [f"a{n}.shape[{d}]"]
    if field.type.kind == "c":
        return [f"complex(a{n}).real", f"complex(a{n}).imag"]
    return [f"a{n}"]
