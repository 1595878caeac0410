"""Small matrices in batches, beside NumPy, LAPACK and C++ on hosts, and PyTorch on CUDA.

    python -m benchmarks.batched.run [--space NAME ...] [--only SECTION ...] [--json FILE]

Each case has a triad that moves as many bytes. On hosts there are as many matrices as fill 8 MB,
for what is measured is not memory, and matrices side by side are beside those that are not. Work
that is done in place has several copies of its matrices, which are renewed before each turn.
Results are compared before anything is timed; contestants take turns, medians are shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import execspace as es
from benchmarks.batched import hosts
from benchmarks.common.optional import NotThere, library
from benchmarks.common.report import Results, report
from benchmarks.common.turns import Contestant, Maker, over, peers_of, take_turns
from execspace_kernels import batched

SECTIONS = ("gemm", "getrf", "trsm", "trmm", "trtri")
DEVICES = ("cuda", "hip", "opencl")
SIZES = (3, 4, 5, 8, 10, 15, 16, 32)
BATCH = {"trmm": 1 << 19, "trtri": 1 << 19}  # matrices on devices
USUAL = 163840
ON_HOSTS = 1 << 23  # bytes of A
LARGE = 256e6  # bytes that a case has at least with --large
COPIES, MOST_COPIES = 8, 100  # calls of a turn, each with matrices of its own to change
ROOM = 4 << 30  # bytes that these take at most, or as many as there are copies at least
ON_HOST = 2  # copies
KNOWN = 300  # launches before any is timed: of many shapes in one process each takes so many to be
# known again at once
INTERLEAVED = "interleaved"
TRIAD = "execspace, triad of as many bytes"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if execspace failed or was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    usable = [row.name for row in es.spaces() if row.usable and row.priority >= 0]
    add = parser.add_argument
    add("--space", action="append", help=f"a space to measure ({usable})")
    add("--only", action="append", choices=SECTIONS, help="a section; all if not given")
    add("--sizes", type=int, nargs="+", default=SIZES, help=f"rows of matrices {SIZES}")
    add("--layout", choices=("right", "left", "interleaved"), default="right", help="(right)")
    add("--large", action="store_true", help="as many matrices as fill 256 MB, if that is more")
    add("--rounds", type=int, default=9, help="turns of each (9)")
    add("--quick", action="store_true", help="few matrices, to see whether it runs")
    add("--json", metavar="FILE", type=Path, help="write all results to a file")
    options = parser.parse_args(arguments)
    results: Results = {}
    for name in options.space or usable:
        for case, makers in cases(es.space(name), options):
            peers = [who for who in makers if not who.startswith("execspace")]
            found = take_turns(makers, options.rounds, calls=1, peers=peers)
            results.setdefault(name, {})[case] = found
            Console().print(_table(f"{name}: {case}, layout {options.layout}", found))
    return report(results, options.json, layout=options.layout)


def cases(
    space: es.ExecutionSpace, options: argparse.Namespace
) -> Iterator[tuple[str, Mapping[str, Maker]]]:
    """Each case with who takes part in it."""
    kind = "device" if space.name.partition(":")[0] in DEVICES else "host"
    for section in options.only or SECTIONS:
        for n in options.sizes:
            number = BATCH.get(section, USUAL)
            if kind == "host":
                number = ON_HOSTS // (8 * n * n) // hosts.WIDTH * hosts.WIDTH
            moved = {"gemm": 3, "getrf": 2, "trsm": 3, "trmm": 3, "trtri": 2}[section] * 8 * n * n
            if options.large:
                number = max(number, int(LARGE / moved))
            if options.quick:
                number = 48
            case = Case(space, section, n, number, options.layout)
            makers: dict[str, Maker] = {"execspace": case.ours}
            if kind == "host" and options.layout != "interleaved":
                makers[f"execspace, {INTERLEAVED}"] = partial(case.ours, INTERLEAVED)
            makers |= _peers(case)
            makers[TRIAD] = partial(_triad_of, space, moved * number // 24, case.copies)
            yield f"{section}, {n} x {n}, {number}", makers


class Case:
    """Matrices, and what is to come out."""

    def __init__(self, space: Any, what: str, n: int, number: int, layout: str) -> None:
        self.space, self.what, self.n, self.number, self.layout = space, what, n, number, layout
        rng = np.random.default_rng(n)
        self.A, self.B = rng.random((2, number, n, n))
        if what != "gemm" and what != "getrf":
            self.A = np.tril(self.A) + n * np.eye(n)
        self.samples = np.unique(np.linspace(0, number - 1, 20).astype(int))
        # In turns as long as the host needs to get ahead of a device.
        self.copies = int(min(MOST_COPIES, max(COPIES, ROOM // self.A.nbytes)))
        if space.name.partition(":")[0] not in DEVICES:
            self.copies = ON_HOST
        self.changed = "A" if what in ("getrf", "trtri") else "C" if what == "gemm" else "B"

    def view(self, values: Any, layout: Any = None) -> es.View:
        """In the layout that was asked for, or another one."""
        layout = layout or self.layout
        if layout == INTERLEAVED:
            layout = batched.Interleaved(32 if self.space.name in DEVICES else hosts.WIDTH)
        made = es.View(values.shape, np.float64, layout=layout, space=self.space)
        es.deep_copy(made, values)
        return made

    def ours(self, layout: str = "") -> Contestant:
        """Those of batched."""
        name = f"execspace, {layout}" if layout else "execspace"
        A, B, space = self.view(self.A, layout), self.view(self.B, layout), self.space
        changed = A if self.changed == "A" else B
        ring = [changed] * self.copies
        if self.what != "gemm":
            ring[1:] = [self.view(self.A, layout) for _ in ring[1:]]
        kept = self.view(self.A if changed is A else self.B, layout)
        C = self.view(np.zeros_like(self.A), layout)
        pivots = es.zeros((self.number, self.n), np.int32, space=space)
        info = es.zeros(self.number, np.int32, space=space)
        every = es.MDRangePolicy(kept.shape, space=space)

        def renew() -> None:
            for one in ring:  # in the order of memory, which leaves in caches what was there
                es.parallel_for(every, _copy, kept, one)
            space.fence()

        def one(target: es.View) -> None:
            if self.what == "gemm":
                batched.gemm(A, B, out=C, space=space)
            elif self.what == "getrf":
                batched.getrf(target, pivots=pivots, info=info, space=space)
            elif self.what == "trtri":
                batched.trtri(target, info=info, space=space)
            else:
                (batched.trsm if self.what == "trsm" else batched.trmm)(A, target, space=space)

        def call() -> None:
            for target in ring:
                one(target)

        def check() -> dict[str, Any]:
            for _ in range(KNOWN // self.copies + 1):
                call()
            renew()
            one(changed)
            found = np.zeros_like(self.A)
            es.deep_copy(found, C if self.what == "gemm" else changed)
            self.check(found, pivots.to_numpy())
            return {}

        before = None if self.what == "gemm" else renew
        return Contestant(name, call, space.fence, check, before, self.copies)

    def by_others(self, name: str, work: hosts.Work, layout: str) -> Contestant:
        """What is called with addresses of arrays that have a layout of matrices."""
        A, B = _in_memory(self.A, layout), _in_memory(self.B, layout)
        C = _array(A.size)
        kept = (A if self.changed == "A" else B).copy()
        pivots, info = np.zeros((self.number, self.n), np.int32), np.zeros(self.number, np.int32)
        ring = [{"A": A, "B": B, "C": C}[self.changed]]
        ring += [_array(A.size) if self.what != "gemm" else C for _ in range(self.copies - 1)]

        def one(target: Any) -> None:
            operands = {"A": A, "B": B, "C": C} | {self.changed: target}
            work(*operands.values(), pivots, info)

        def renew() -> None:
            for target in ring:
                target[:] = kept

        def call() -> None:
            for target in ring:
                one(target)

        def check() -> None:
            one(ring[0])
            first = 1 if layout == "columns" else 0  # LAPACK counts pivots from 1 on
            self.check(_from_memory(ring[0], self.A.shape, layout), pivots - first)

        before = None if self.what == "gemm" else renew
        return Contestant(name, call, lambda: None, check, before, self.copies)

    def check(self, found: Any, pivots: Any = None) -> None:
        """AssertionError if some matrices are wrong."""
        for b in self.samples:
            A, B = self.A[b], self.B[b]
            if self.what == "getrf":
                lower = np.tril(found[b], -1) + np.eye(self.n)
                permuted = A.copy()
                for k, other in enumerate(pivots[b]):
                    permuted[[k, other]] = permuted[[other, k]]
                assert np.abs(lower).max() <= 1 + 1e-15, "not the largest pivot"
                assert np.allclose(lower @ np.triu(found[b]), permuted), "the factors are wrong"
                continue
            expected = {
                "gemm": lambda A=A, B=B: A @ B,
                "trmm": lambda A=A, B=B: A @ B,
                "trsm": lambda A=A, B=B: np.linalg.solve(A, B),
                "trtri": lambda A=A: np.linalg.inv(A),
            }[self.what]()
            assert np.allclose(found[b], expected), "the result is wrong"


def _array(size: int) -> Any:
    """Memory of the host as Views have it, which begins with a cache line."""
    return np.asarray(es.View(size, memory=es.HOST, space="serial"))


def _in_memory(values: Any, layout: str) -> Any:
    """Elements in the order of a layout: whole groups side by side, or each matrix by "columns"."""
    if layout == "columns":
        ordered = values.transpose(0, 2, 1)
    else:
        ordered = values.reshape(-1, hosts.WIDTH, *values.shape[1:]).transpose(0, 2, 3, 1)
    found = _array(values.size)
    found[:] = ordered.reshape(-1)
    return found


def _from_memory(found: Any, shape: tuple[int, ...], layout: str) -> Any:
    number, m, n = shape
    if layout == "columns":
        return found.reshape(number, n, m).transpose(0, 2, 1)
    return found.reshape(-1, m, n, hosts.WIDTH).transpose(0, 3, 1, 2).reshape(shape)


def _triad_of(space: es.ExecutionSpace, n: int, calls: int) -> Contestant:
    a, b, c = (es.ones(n, space=space) for _ in "abc")
    every = es.RangePolicy(n, space=space)

    def call() -> None:
        for _ in range(calls):
            es.parallel_for(every, _triad, a, b, c)

    return Contestant(TRIAD, call, space.fence, lambda: None, each=calls)


def _copy(b: int, i: int, j: int, source: Any, target: Any) -> None:
    target[b, i, j] = source[b, i, j]


def _triad(i: int, a: Any, b: Any, c: Any) -> None:
    a[i] = b[i] + 3.0 * c[i]


def _peers(case: Case) -> dict[str, Maker]:
    where = case.space.name.partition(":")[0]
    if where == "cuda":
        return {"PyTorch": partial(_torch, case)} if case.what in ("gemm", "getrf", "trsm") else {}
    if where in DEVICES:
        return {}
    found: dict[str, Maker] = {
        f"C++, {INTERLEAVED} by hand": partial(_in_cpp, hosts.by_hand, INTERLEAVED, case),
        "LAPACK, in a loop of C++": partial(_in_cpp, hosts.by_lapack, "columns", case),
    }
    return found | ({"NumPy": partial(_numpy, case)} if case.what in ("gemm", "trtri") else {})


def _in_cpp(build: Callable[..., hosts.Work], layout: str, case: Case) -> Contestant:
    if case.number % hosts.WIDTH:
        raise NotThere("it knows whole groups only")
    threads = case.space.concurrency
    name = f"C++, {INTERLEAVED} by hand" if layout == INTERLEAVED else "LAPACK, in a loop of C++"
    return case.by_others(name, build(case.what, case.n, case.number, threads), layout)


def _torch(case: Case) -> Contestant:
    torch = library("torch")
    A, B = torch.as_tensor(case.A).cuda(), torch.as_tensor(case.B).cuda()
    C = torch.empty_like(A)
    act: Callable[[], Any] = {
        "gemm": lambda: torch.bmm(A, B, out=C),
        "getrf": lambda: torch.linalg.lu_factor(A),
        "trsm": lambda: torch.linalg.solve_triangular(A, B, upper=False),
    }[case.what]

    def check() -> None:
        found = act()
        if case.what == "getrf":
            case.check(found[0].cpu().numpy(), found[1].cpu().numpy() - 1)
        else:
            case.check(found.cpu().numpy())

    return _repeated("PyTorch", act, torch.cuda.synchronize, check, case.copies)


def _numpy(case: Case) -> Contestant:
    C = np.empty_like(case.A)
    act = partial(np.matmul, case.A, case.B, out=C)
    if case.what == "trtri":
        act = partial(np.linalg.inv, case.A)
    return _repeated("NumPy", act, lambda: None, lambda: case.check(act()), COPIES)


def _repeated(name: str, act: Callable[[], Any], wait: Any, check: Any, calls: int) -> Contestant:
    def call() -> None:
        for _ in range(calls):
            act()

    return Contestant(name, call, wait, check, each=calls)


def _table(title: str, outcome: dict[str, dict[str, Any]]) -> Table:
    table = Table("who", "ms", "of the fastest peer", "triad over it", title=title)
    peers = [n for n in peers_of(outcome)]
    fastest = min(peers, key=lambda n: outcome[n]["ms"], default=None)
    for name, found in outcome.items():
        if "ms" not in found:
            table.add_row(name, str(found.get("not_there") or found.get("error")), "", "")
            continue
        ratio = over(outcome, name, fastest) if fastest else None
        share = over(outcome, TRIAD, name)
        table.add_row(
            name, f"{found['ms']:.4f}", "" if ratio is None else f"{ratio:.2f}",
            "" if share is None else f"{share:.2f}",
        )  # fmt: skip
    return table


if __name__ == "__main__":
    raise SystemExit(main())
