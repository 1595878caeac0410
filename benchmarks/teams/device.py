"""Teams on a device against kernels written by hand, in one process: F1, y A x, columns, sorts.

execspace's kernels are those of examples/teams, with several shapes of teams. All results are
checked before anything is timed. On CUDA it needs CuPy; on a space that has no kernels by hand
execspace is on its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.machine import describe
from benchmarks.cuda.run import commit, device_record, packages
from benchmarks.teams.kernels import bitonic, column, f1, yax
from benchmarks.teams.peers import BLOCKS, LENGTH, LEVELS, REACH, Call, Hand, NoSuchBlock, hand_of

Shape = tuple[int | str, int | str]
AUTO: Shape = ("auto", "auto")
F1_SHAPES: tuple[Shape, ...] = (
    (128, 1), (256, 1), (512, 1), (1024, 1), (128, 2), (256, 2), (512, 2), (64, 4), (256, 4),
    ("auto", 1), AUTO,
)  # fmt: skip
ND_SHAPES: tuple[Shape, ...] = ((256, 1), (512, 1), (1024, 1), (256, 2), (256, 4), AUTO)
ROW_SHAPES: tuple[Shape, ...] = (
    (128, 1), (256, 1), (512, 1), (1024, 1), (4, 32), (8, 32), (16, 32), (32, 32), AUTO,
)  # fmt: skip
COLUMN_SHAPES: tuple[Shape, ...] = (
    (16, 32), (16, 16), (16, 8), (16, 4), (8, 32), (4, 32), (16, 1), AUTO,
)  # fmt: skip
SORT_SHAPES: tuple[Shape, ...] = (
    (32, 1), (64, 1), (128, 1), (256, 1), (1, 32), (4, 32), AUTO,
)  # fmt: skip


@dataclass
class Case:
    """What is computed, by whom, and whether it is right.

    Attributes
    ----------
    name : str
    ours, hand, others : dict
        Makers of calls by the name of the variant; they raise PolicyError or NoSuchBlock for what
        the device cannot do. Of others none counts as written by hand.
    outputs : list of View
        Reset before a call that is checked.
    check : callable
        Raises AssertionError; `outputs` hold what a call has computed.
    amount, unit : float, str
        What is done in a call, for the rate that is shown: ``amount / time`` is in units of 1e9.
    notes : dict
        Further facts for the record.
    """

    name: str
    ours: dict[str, Callable[[], Call]]
    hand: dict[str, Callable[[], Call]]
    outputs: list[es.View]
    check: Callable[[], None]
    amount: float
    unit: str
    others: dict[str, Callable[[], Call]] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)


class Clock:
    """Times calls in batches: by events on CUDA, elsewhere by the clock of the host to a fence."""

    def __init__(self, space: Any, launches: int) -> None:
        self.space, self.launches = space, launches
        self.cuda: Any = None
        if str(space.name).partition(":")[0] == "cuda":
            import cupy

            cupy.cuda.Device(space.number).use()
            self.cuda = cupy.cuda
            self.start, self.stop = cupy.cuda.Event(), cupy.cuda.Event()

    def wait(self) -> None:
        """Until all work is done."""
        self.space.fence()
        if self.cuda is not None:
            self.cuda.runtime.deviceSynchronize()

    def milliseconds(self, call: Call) -> float:
        """Of one call, of a batch."""
        started = perf_counter()
        if self.cuda is not None:
            self.start.record()
        for _ in range(self.launches):
            call()
        if self.cuda is not None:
            self.stop.record()
            self.stop.synchronize()
            return float(self.cuda.get_elapsed_time(self.start, self.stop)) / self.launches
        self.wait()
        return 1e3 * (perf_counter() - started) / self.launches


# -- cases -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """Rows and columns of A, elements of the atmosphere, arrays to sort."""

    rows: int
    columns: int
    elements: int
    arrays: int


FULL, QUICK = Sizes(16384, 8192, 5400, 65536), Sizes(512, 1024, 60, 256)


class Bench:
    """The cases on one space."""

    def __init__(self, space: Any, hand: Hand | None, sizes: Sizes, quick: bool) -> None:
        self.space, self.by_hand, self.sizes = space, hand, sizes
        self.blocks = (1024,) if quick else (128, 256, 512, 1024)

    def cases(self) -> Iterator[tuple[str, Callable[[], Case]]]:
        """Names, and makers."""
        yield "F1 flat", self.f1_flat
        yield "F1 teams", self.f1_teams
        yield "F1nd teams", self.f1_without_arrays
        yield "y A x", self.yax
        yield "column", self.columns
        yield "bitonic sort", self.sorts

    def view(self, shape: int | tuple[int, ...], dtype: Any = es.float64) -> es.View:
        memory = None if self.space.memory_spaces[0] is es.HOST else "device"
        return es.View(shape, dtype, space=self.space, memory=memory, layout="right")

    def copied(self, array: np.ndarray[Any, Any]) -> es.View:
        view = self.view(array.shape, array.dtype)
        es.deep_copy(view, array)
        return view

    def variants(
        self, shapes: Sequence[Shape], league: int, launch: Callable[..., Any], *arguments: Any,
        prefix: str = "", **options: Any,
    ) -> dict[str, Callable[[], Call]]:  # fmt: skip
        """Launches with teams of several shapes."""

        def maker(shape: Shape) -> Call:
            policy = es.TeamPolicy(league, *shape, space=self.space)
            return partial(launch, policy, *arguments, **options)

        return {
            f"{prefix}{'auto' if shape == AUTO else f'{shape[0]}x{shape[1]}'}": partial(
                maker, shape
            )
            for shape in shapes
        }

    def hands(
        self, kernel: str, blocks: Sequence[int], groups: Callable[[int], int], *arguments: Any,
        finish: tuple[es.View, es.View] | None = None,
    ) -> dict[str, Callable[[], Call]]:  # fmt: skip
        """Kernels by hand with blocks of several sizes; `finish` are parts and their sum."""
        if self.by_hand is None:
            return {}
        hand = self.by_hand

        def maker(block: int) -> Call:
            name = kernel.replace("@", str(block))
            first = hand.call(name, groups(block), block, *arguments)
            if finish is None:
                return first
            second = hand.call("finish", 1, 1024, *finish, groups(block))

            def both() -> None:
                first()
                second()

            return both

        title = kernel.replace("_@", "")
        return {f"{title} {block}": partial(maker, block) for block in blocks}

    # -- F1 ----------------------------------------------------------------------------------------

    def _f1(self) -> tuple[es.View, es.View, Callable[[], None]]:
        b, right = self.view(f1.POINTS), f1.expected(f1.POINTS, REACH)
        return self.copied(f1.inputs(f1.POINTS)), b, partial(_arrays_agree, [b], [right])

    def f1_flat(self) -> Case:
        n, m = f1.POINTS, REACH
        a, b, check = self._f1()
        policy = es.RangePolicy(n, space=self.space)
        ours = partial(es.parallel_for, policy, f1.flat, a, b, n, m)
        hand = self.hands("f1_flat", (64, 128, 256), lambda block: -(-n // block), a, b, n, m)
        return Case("F1 flat", {"range": lambda: ours}, hand, [b], check, n * (2 * m + 1), "sums")

    def f1_teams(self) -> Case:
        n, m = f1.POINTS, REACH
        a, b, check = self._f1()
        ours = {}
        for block in self.blocks:
            ours |= self.variants(
                F1_SHAPES, -(-n // block), es.parallel_for, f1.blocked, a, b, n, m, block,
                prefix=f"{block} points ",
            )  # fmt: skip
        hand = self.hands("f1_@", BLOCKS, lambda block: -(-n // block), a, b, n, m)
        chosen = {
            block: es.TeamPolicy(-(-n // block), space=self.space).team_size_recommended(
                f1.blocked, a, b, n, m, block
            )
            for block in self.blocks
        }
        notes = {"auto_team_size": chosen}
        return Case("F1 teams", ours, hand, [b], check, n * (2 * m + 1), "sums", notes=notes)

    def f1_without_arrays(self) -> Case:
        n, m = f1.POINTS, REACH
        out, parts = self.view(()), self.view(-(-n // BLOCKS[0]))
        ours = {}
        for block in self.blocks:
            ours |= self.variants(
                ND_SHAPES, -(-n // block), es.parallel_reduce, f1.without_arrays, n, m, block,
                prefix=f"{block} points ", out=out,
            )  # fmt: skip
        hand = self.hands(
            "f1nd_@", BLOCKS, lambda block: -(-n // block), parts, n, m, finish=(parts, out)
        )
        check = partial(_arrays_agree, [out], [np.array(f1.PUBLISHED)])
        return Case("F1nd teams", ours, hand, [out], check, n * (2 * m + 1), "sums")

    # -- the others --------------------------------------------------------------------------------

    def yax(self) -> Case:
        rows, columns = self.sizes.rows, self.sizes.columns
        A, out, parts = self.view((rows, columns)), self.view(()), self.view(rows)
        everywhere = es.MDRangePolicy((rows, columns), space=self.space)
        es.parallel_for(everywhere, yax.numbers, A)
        x, y = map(self.copied, yax.vectors(rows, columns))
        ours = self.variants(ROW_SHAPES, rows, es.parallel_reduce, yax.with_teams, A, x, y, out=out)
        hand = self.hands(
            "yax", BLOCKS, lambda _: rows, A, x, y, parts, columns, finish=(parts, out)
        )
        check = partial(_arrays_agree, [out], [np.array(yax.expected(rows, columns))])
        return Case("y A x", ours, hand, [out], check, 8.0 * rows * columns, "bytes")

    def columns(self) -> Case:
        elements = self.sizes.elements
        state = column.fields(elements, LEVELS)
        inputs = list(map(self.copied, state.inputs))
        outputs = [self.view(array.shape) for array in state.outputs]
        out, parts = self.view(()), self.view(elements * column.POINTS)
        fields = (*inputs, *outputs)
        ours = self.variants(
            COLUMN_SHAPES, elements, es.parallel_reduce, column.columns, *fields, out=out
        )
        count = elements * column.POINTS
        hand = self.hands(
            "column_thread", (32, 64, 128), lambda block: -(-count // block), *fields, parts,
            count, finish=(parts, out),
        )  # fmt: skip
        if self.by_hand is not None and self.by_hand.has_warps:
            hand |= self.hands(
                "column_warp", (32 * column.POINTS,), lambda _: elements, *fields, parts,
                finish=(parts, out),
            )  # fmt: skip
        right = [*state.outputs, np.array(state.energy)]
        check = partial(_arrays_agree, [*outputs, out], right)
        moved = 8.0 * 5 * state.inputs[0].size  # dp, temperature, and three results
        return Case("column", ours, hand, [*outputs, out], check, moved, "bytes")

    def sorts(self) -> Case:
        array = bitonic.numbers(self.sizes.arrays, LENGTH)
        unsorted, rows = self.copied(array), self.view(array.shape, array.dtype)
        ours = self.variants(
            SORT_SHAPES, len(array), es.parallel_for, bitonic.sort_rows, unsorted, rows
        )
        hand = {}
        for kernel in ("bitonic_branch", "bitonic_select"):
            hand |= self.hands(kernel, (32, 64, 128, 256), lambda _: len(array), unsorted, rows)
        check = partial(_arrays_agree, [rows], [np.sort(array, axis=1)])
        case = Case("bitonic sort", ours, hand, [rows], check, array.size, "elements")
        if self.by_hand is not None and self.by_hand.has_warps:
            case.others["cupy.sort"] = partial(_cupy_sort, unsorted, rows)
        return case


def _cupy_sort(unsorted: es.View, rows: es.View) -> Call:
    """CuPy's sort of each row, whose result is copied to where the others write."""
    import cupy

    source, target = cupy.asarray(unsorted), cupy.asarray(rows)

    def call() -> None:
        target[...] = cupy.sort(source, axis=1)

    return call


def _arrays_agree(views: Sequence[es.View], expected: Sequence[np.ndarray[Any, Any]]) -> None:
    """Raise AssertionError where a View differs by more than 1e-12 of the greatest element."""
    for view, right in zip(views, expected, strict=True):
        found = np.empty(view.shape, view.dtype)
        es.deep_copy(found, view)
        apart = 1e-12 * float(abs(right).max())
        np.testing.assert_allclose(found, right, rtol=0, atol=apart)


# -- measuring -------------------------------------------------------------------------------------


def measure(case: Case, clock: Clock, rounds: int) -> dict[str, Any]:
    """Check all variants, let them take turns; what the record says of the case."""
    found: dict[str, dict[str, Any]] = {}
    ready: dict[str, tuple[str, Call]] = {}
    for who, variants in (("execspace", case.ours), ("hand", case.hand), ("other", case.others)):
        for variant, make in variants.items():
            name = f"{who} {variant}"
            found[name] = {}
            try:
                ready[name] = who, _checked(case, clock, make)
            except (es.PolicyError, NoSuchBlock) as error:
                found[name]["not_there"] = str(error)
            except Exception as error:  # the others are still worth measuring
                found[name]["error"] = f"{type(error).__name__}: {error}"
    times: dict[str, list[float]] = {name: [] for name in ready}
    for _ in range(rounds):
        for name, (_, call) in ready.items():
            times[name].append(clock.milliseconds(call))
    for name, batch in times.items():
        found[name] |= {"ms": statistics.median(batch), "least_ms": min(batch)}
    record: dict[str, Any] = {"variants": found, **case.notes}
    for who in ("execspace", "hand", "other"):
        mine = {name: found[name]["ms"] for name, (kind, _) in ready.items() if kind == who}
        if mine:
            best = min(mine, key=mine.__getitem__)
            record[who] = {
                "variant": best, "ms": mine[best],
                f"1e9 {case.unit}/s": case.amount / mine[best] / 1e6,
            }  # fmt: skip
    automatic = {n: found[n]["ms"] for n in ready if n.endswith("auto")}
    if automatic:
        best = min(automatic, key=automatic.__getitem__)
        record["auto"] = {"variant": best, "ms": automatic[best]}
    for who, key in (("execspace", "over_hand"), ("auto", "auto_over_hand")):
        if who in record and "hand" in record:
            record[key] = record[who]["ms"] / record["hand"]["ms"]
    return record


def _checked(case: Case, clock: Clock, make: Callable[[], Call]) -> Call:
    """A call whose result is right."""
    call = make()
    for view in case.outputs:
        es.deep_copy(view, np.nan if view.dtype.kind == "f" else -1)
    call()
    clock.wait()
    case.check()
    return call


def show(name: str, record: Mapping[str, Any]) -> None:
    """Print a case."""
    print(name)
    for who in ("execspace", "auto", "hand", "other"):
        if who in record:
            rates = [f"{v:8.4g} {k}" for k, v in record[who].items() if k.startswith("1e9")]
            variant = record[who]["variant"].partition(" ")[2]
            print(f"    {who:10} {record[who]['ms']:9.4f} ms {''.join(rates)}  ({variant})")
    for key in ("over_hand", "auto_over_hand"):
        if key in record:
            print(f"    {key.replace('_', ' '):15} {record[key]:.3f}")
    for variant, known in record["variants"].items():
        for key, what in (("error", "FAILED"), ("not_there", "not there")):
            if key in known:
                print(f"    {variant} {what}: {known[key].partition(chr(10))[0]}")
    print(flush=True)


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--space", default="cuda", help="cuda, opencl, or any other (cuda)")
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT",
        help="cases whose name contains a text, may be repeated (all)",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, help="batches of each (15)")
    parser.add_argument("--launches", type=int, help="launches of a batch (20)")
    parser.add_argument("--quick", action="store_true", help="small arrays, few short batches")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all results to a file")
    options = parser.parse_args(arguments)
    for name, full, quick in (("rounds", 15, 3), ("launches", 20, 2)):
        value = getattr(options, name)
        value = (quick if options.quick else full) if value is None else value
        if value < 1:
            parser.error(f"--{name}: expected at least 1, got {value}")
        setattr(options, name, value)
    return options


def _device(space: Any) -> dict[str, Any]:
    base = str(space.name).partition(":")[0]
    if base == "cuda":
        import cupy

        return device_record(cupy)
    if base == "opencl":
        device = space.device.handle
        return {
            "name": device.name.strip(), "platform": device.platform.name.strip(),
            "driver": device.driver_version, "compute_units": device.max_compute_units,
        }  # fmt: skip
    return {"name": str(space.name), "threads": space.concurrency}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write; 1 if anything failed or was wrong."""
    options = options_of(arguments)
    space: Any = es.space(options.space)
    clock = Clock(space, options.launches)
    bench = Bench(space, hand_of(space), QUICK if options.quick else FULL, options.quick)
    record: dict[str, Any] = {
        "format": 1,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": describe(options.space, 1, None),
        "device": _device(space),
        "packages": packages(),
        "options": {k: v for k, v in vars(options).items() if k != "json"},
        "clock": "host" if clock.cuda is None else "events",
        "results": {},
        "failures": {},
    }
    print(f"{record['device']['name']}, space '{space.name}'\n")
    failed = []
    for name, make in bench.cases():
        if options.only and not any(text in name for text in options.only):
            continue
        try:
            found = record["results"][name] = measure(make(), clock, options.rounds)
        except Exception as error:  # the cases to come are still worth measuring
            record["failures"][name] = traceback.format_exc()
            failed.append(f"{name}: {type(error).__name__}: {error}")
        else:
            show(name, found)
            failed += [f"{name}: {v}" for v, known in found["variants"].items() if "error" in known]
        if options.json is not None:
            text = json.dumps(_rounded(record), indent=1) + "\n"
            options.json.write_text(text, encoding="utf-8")
    for what in failed:
        print(f"FAILED: {what}")
    if not record["results"]:
        print("Nothing was measured.")
    return 1 if failed or not record["results"] else 0


def _rounded(value: Any) -> Any:
    """Six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {str(key): _rounded(part) for key, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    raise SystemExit(main())
