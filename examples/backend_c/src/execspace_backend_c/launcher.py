"""The C functions that are appended to a source: each runs the parts of a range by a kernel.

All that a kernel needs comes in one record: the struct of numbers that the printer made, then
pointers to the Views and to the memory that a launch has beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

from execspace_compiler.backend import DeviceCode


def record_format(code: DeviceCode, extra: Sequence[str]) -> str:
    """Of Python's `struct`: numbers, then pointers."""
    entry = code.entry
    return f"{entry.format}{len(entry.buffers) + len(extra)}Q"


def launcher_source(code: DeviceCode, extra: Sequence[str]) -> str:
    """`run_` and the name of each kernel: a function of the record, the number of parts, and
    whether a team of threads runs them.

    `extra` are names of the memory beside Views; only the last kernel takes the result.
    """
    entry = code.entry
    pointers = [*(f"b{n}" for n in entry.buffers), *extra]
    members = " ".join(["_args a;", *(f"void *{p};" for p in pointers)])
    lines = [f"typedef struct {{ {members} }} _record;", ""]
    for name in entry.kernels:
        taken = [p for p in pointers if p != "result" or name == entry.kernels[-1]]
        passed = ", ".join(["r->a", *(f"r->{p}" for p in taken)])
        call = (
            f"for (long n = 0; n < parts; ++n) "
            f"{{ _part_number = n; _number_of_parts = parts; {name}({passed}); }}"
        )
        lines += [
            f"void run_{name}(const _record *r, long parts, int team) {{",
            "    if (team) {",
            "#pragma omp parallel for num_threads((int)parts) schedule(static, 1)",
            f"        {call}",
            "    } else {",
            f"        {call}",
            "    }",
            "}",
            "",
        ]
    return "\n".join(lines)
