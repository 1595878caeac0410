"""execspace.UnorderedMap beside a table in CUDA C++, std::unordered_map and Python's dict.

    python -m benchmarks.library.hash_tables [--space NAME] [--keys N] [--turns N] [--json FILE]

Random uint64 keys, all different, with int32 values. "insert" fills an empty table, which is
cleared before the clock starts; "find" looks up all keys in another order, and writes their values;
"find, absent" looks up as many that are not there. All tables have room for all keys before.

On NVIDIA's GPUs the table in CUDA C++ has the same number of slots and the same hash, so it reads
the same memory. On hosts std::unordered_map and the dict work on one thread.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import execspace as es
from benchmarks.common.optional import NotThere, cupy_on_device
from benchmarks.common.report import Results, report
from benchmarks.common.turns import Contestant, Maker, over, take_turns

OURS = "execspace"
HERE = Path(__file__).parent
WORK = ("insert", "find", "find, absent")


@es.kernel
def insert(i: int, keys: Any, values: Any, table: Any) -> None:
    """Put a key into the table."""
    table.insert(keys[i], values[i])


@es.kernel
def find(i: int, keys: Any, out: Any, table: Any) -> None:
    """Write the value of a key, -1 of one that is not there."""
    slot = table.find(keys[i])
    out[i] = table.value_at(slot) if slot >= 0 else -1


class Keys:
    """Keys and values, those to look up, and what is to be found."""

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(11)
        both = rng.integers(1, 2**63, 2 * count + count // 8, np.uint64)
        both = np.unique(both)[: 2 * count]
        rng.shuffle(both)
        self.keys, self.absent = both[:count].copy(), both[count:].copy()
        self.values = np.arange(count, dtype=np.int32)
        self.order = rng.permutation(count)
        self.wanted = self.keys[self.order]


def ours(space: es.ExecutionSpace, data: Keys, work: str) -> Contestant:
    """The map of execspace."""
    count = len(data.keys)
    table = es.UnorderedMap(count, es.uint64, es.int32, space=space)

    def on_space(array: Any) -> Any:
        return es.create_mirror_view_and_copy(space, array)

    keys, values, out = (
        on_space(data.keys),
        on_space(data.values),
        es.View(count, es.int32, space=space),
    )
    policy = es.RangePolicy(count, space=space)
    es.parallel_for(policy, insert, keys, values, table)
    wanted = on_space({"find": data.wanted}.get(work, data.absent))
    call: Callable[[], Any] = partial(es.parallel_for, policy, find, wanted, out, table)
    if work == "insert":
        call = partial(es.parallel_for, policy, insert, keys, values, table)

    def check() -> dict[str, Any]:
        assert table.size() == count
        if work != "insert":
            call()
            space.fence()
            _agrees(np.asarray(es.create_mirror_view_and_copy(es.HOST, out)), data, work)
        return {"slots": int(table.slots), "capacity": int(table.capacity)}

    return Contestant(OURS, call, space.fence, check, table.clear if work == "insert" else None)


def _agrees(found: Any, data: Keys, work: str) -> None:
    right = data.order if work == "find" else -1
    assert (found == right).all(), "wrong values"


def by_hand(space: es.ExecutionSpace, data: Keys, work: str) -> Contestant:
    """A table in CUDA C++."""
    cupy = cupy_on_device()
    code = (HERE / "hash_tables.cu").read_text(encoding="utf-8")
    module = cupy.RawModule(code=code, options=("-std=c++17",))
    count = len(data.keys)
    slots = int(es.UnorderedMap(count, es.uint64, es.int32, space=space).slots) - 2
    table, found = cupy.zeros(slots, cupy.uint64), cupy.zeros(slots, cupy.int32)
    keys, values = cupy.asarray(data.keys), cupy.asarray(data.values)
    wanted = cupy.asarray({"find": data.wanted}.get(work, data.absent))
    out = cupy.empty(count, cupy.int32)
    grid, mask = ((count + 255) // 256,), cupy.uint64(slots - 1)
    insert_, find_ = module.get_function("insert"), module.get_function("find")
    put = partial(insert_, grid, (256,), (keys, values, table, found, mask, cupy.int64(count)))
    look = partial(find_, grid, (256,), (wanted, out, table, found, mask, cupy.int64(count)))
    put()

    def check() -> None:
        if work != "insert":
            look()
            _agrees(out.get(), data, work)

    wait = cupy.cuda.runtime.deviceSynchronize
    if work == "insert":
        return Contestant("CUDA C++", put, wait, check, partial(table.fill, 0))
    return Contestant("CUDA C++", look, wait, check)


def by_std(data: Keys, work: str) -> Contestant:
    """std::unordered_map."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "table.so"
        source = str(HERE / "hash_tables.cpp")
        flags = ["-O3", "-march=native", "-shared", "-fPIC", "-o", str(made)]
        try:
            subprocess.run(["g++", *flags, source], check=True, capture_output=True)
        except FileNotFoundError:
            raise NotThere("g++ is not there") from None
        library = ctypes.CDLL(str(made))
    library.make.restype = ctypes.c_void_p
    count = len(data.keys)
    table = ctypes.c_void_p(library.make(ctypes.c_long(count)))
    wanted = {"find": data.wanted}.get(work, data.absent)
    out = np.empty(count, np.int32)
    size = ctypes.c_long(count)

    def pointer(array: Any) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    put = partial(library.insert, table, pointer(data.keys), pointer(data.values), size)
    look = partial(library.find, table, pointer(wanted), pointer(out), size)
    put()

    def check() -> None:
        if work != "insert":
            look()
            _agrees(out, data, work)

    name, wait = "std::unordered_map", lambda: None
    if work == "insert":
        return Contestant(name, put, wait, check, partial(library.clear, table))
    return Contestant(name, look, wait, check)


def by_dict(data: Keys, work: str) -> Contestant:
    """Python's dict, of Python's numbers."""
    keys, values = data.keys.tolist(), data.values.tolist()
    wanted = {"find": data.wanted}.get(work, data.absent).tolist()
    table: dict[int, int] = dict(zip(keys, values, strict=True))

    def put() -> None:
        for k, v in zip(keys, values, strict=True):
            table[k] = v

    def look() -> list[int]:
        get = table.get
        return [get(k, -1) for k in wanted]

    def check() -> None:
        if work != "insert":
            _agrees(np.array(look()), data, work)

    def wait() -> None:
        """All work is done."""

    if work == "insert":
        return Contestant("dict", put, wait, check, table.clear)
    return Contestant("dict", look, wait, check)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if execspace failed or was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--space", default="serial", help="(serial)")
    parser.add_argument("--keys", type=int, default=10_000_000, help="(10000000)")
    parser.add_argument("--turns", type=int, default=7, help="(7)")
    parser.add_argument("--json", metavar="FILE", type=Path)
    options = parser.parse_args(arguments)
    space = es.space(options.space)
    data = Keys(options.keys)
    results: Results = {options.space: {}}
    for work in WORK:
        makers: dict[str, Maker] = {OURS: partial(ours, space, data, work)}
        if options.space.startswith("cuda"):
            makers["CUDA C++"] = partial(by_hand, space, data, work)
        else:
            makers["std::unordered_map"] = partial(by_std, data, work)
            makers["dict"] = partial(by_dict, data, work)
        found = take_turns(makers, options.turns, 1, [n for n in makers if n != OURS])
        results[options.space][work] = found
        print(
            f"{work}: {[(n, round(f.get('ms', -1), 3)) for n, f in found.items()]}", file=sys.stderr
        )
    table = Table(
        title=f"{options.keys:,} keys, {options.space}: ns a key, and execspace over others"
    )
    for heading in ("", *results[options.space]["find"]):
        table.add_column(heading, justify="right")
    for work, found in results[options.space].items():
        cells = []
        for name, one in found.items():
            ratio = over(found, OURS, name)
            each = f"{1e6 * one['ms'] / options.keys:.3g}" if "ms" in one else "-"
            cells.append(each if name == OURS or ratio is None else f"{each} ({ratio:.2f})")
        table.add_row(work, *cells)
    Console(width=max(120, Console().width)).print(table)
    return report(results, options.json, keys=options.keys, turns=options.turns)


if __name__ == "__main__":
    sys.exit(main())
