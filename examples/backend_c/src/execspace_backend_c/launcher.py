"""The C function that is appended to a text: it runs the parts of a range on a team of threads.

All that a launch needs comes in one record, so that the call from Python has two arguments: the
struct of numbers that the printer made, pointers to the Views and the status, and the parts.
"""

from __future__ import annotations

from execspace_compiler.codegen.cfamily.entries import Entry
from execspace_compiler.codegen.cfamily.states import ROWS, SLOT

FUNCTION = "run_parts"


def record_format(entry: Entry) -> str:
    """Of Python's `struct`: numbers, pointers, number of parts, whether a team runs them."""
    return f"{entry.format}{len(entry.buffers) + entry.status + entry.pool}Q2q"


def launcher_text(entry: Entry, stores_result: bool, prints: bool) -> str:
    """The launcher of the kernels of a text.

    `stores_result`: the last kernel has a pointer to where the host reads the result. The function
    returns zero, or one where there is no memory for partial results.
    """
    pointers = [f"b{n}" for n in entry.buffers]
    pointers += ["status"] * entry.status + ["pool"] * entry.pool
    members = " ".join(["_args a;", *(f"void *{p};" for p in pointers), "long parts, team;"])
    lines = [f"typedef struct {{ {members} }} _record;", ""]
    reduces = bool(entry.states)
    for name in entry.kernels:
        last = name == entry.kernels[-1]
        more = ["scratch"] * reduces + ["result"] * (last and stores_result)
        passed = ", ".join(["r->a", *(f"r->{p}" for p in pointers), *more])
        lines += [
            f"static void _run_{name}(const _record *r, long part, void *scratch, void *result) {{",
            "    _part_number = part; _number_of_parts = r->parts;",
            f"    {name}({passed});",
            "}",
            "",
        ]
    lines += [
        f"int {FUNCTION}(const _record *r, void *result) {{",
        "    const long parts = r->parts;",
        "    void *scratch = 0;",
    ]
    if reduces:
        size = (entry.array or entry.states) * SLOT
        lines += [
            f"    scratch = __builtin_malloc({ROWS} + parts * {size}L);",
            "    if (!scratch) return 1;",
            f"    __builtin_memset(scratch, 0, {ROWS});",
        ]
    for name in entry.kernels:
        call = f"for (long n = 0; n < parts; ++n) _run_{name}(r, n, scratch, result);"
        lines += [
            "    if (r->team) {",
            "#pragma omp parallel for num_threads((int)parts) schedule(static, 1)",
            f"        {call}",
            "    } else {",
            f"        {call}",
            "    }",
        ]
    lines += ["    __builtin_free(scratch);"] * reduces
    lines += ["    fflush(0);"] * prints
    return "\n".join([*lines, "    return 0;", "}", ""])
