"""Systems of small matrices: factors and solves in one launch, beside a launch for each.

    python -m benchmarks.batched.composed [--space NAME ...] [--json FILE]

Each work item factors its matrix and solves with it, within registers; or stores the factors, which
the second launch reads; and PyTorch's solve_ex on CUDA. Matrices that do not fit into registers are
in the scratch memory of a team on devices.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import execspace as es
from benchmarks.blas.contestants import kind_of
from benchmarks.common.optional import library
from benchmarks.common.report import Results, report
from benchmarks.common.turns import Contestant, Maker, over, take_turns
from execspace_kernels import batched

SIZES = (3, 4, 5, 8, 10, 15, 16)
BATCH = {"device": 163840, "host": 16384}
IN_REGISTERS = 10  # rows
THREADS = 16, 32  # of a team; of matrices with more than 16 rows
CALLS = 50  # of a turn: as long as the host needs to get ahead of a device


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if execspace failed or was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    usable = [row.name for row in es.spaces() if row.usable and row.priority >= 0]
    add = parser.add_argument
    add("--space", action="append", help=f"a space to measure ({usable})")
    add("--sizes", type=int, nargs="+", default=SIZES, help=f"rows of matrices {SIZES}")
    add("--layout", choices=("right", "left"), help="(left, right for teams: what lies best)")
    add("--rounds", type=int, default=9, help="turns of each (9)")
    add("--quick", action="store_true", help="few matrices, to see whether it runs")
    add("--json", metavar="FILE", type=Path, help="write all results to a file")
    options = parser.parse_args(arguments)
    results: Results = {}
    for name in options.space or usable:
        space = es.space(name)
        batch = BATCH[kind_of(space)]
        for n in options.sizes:
            by_teams = kind_of(space) == "device" and n > IN_REGISTERS
            layout = options.layout or ("right" if by_teams else "left")
            makers = _makers(space, 50 if options.quick else batch, n, layout, by_teams)
            found = take_turns(makers, options.rounds, calls=CALLS, peers=["PyTorch"])
            case = f"{n} rows"
            results.setdefault(name, {})[case] = found
            Console().print(_table(f"{name}: {case}, layout {layout}", found))
    return report(results, options.json, layout=options.layout or "what lies best")


def _makers(
    space: es.ExecutionSpace, batch: int, n: int, layout: str, by_teams: bool
) -> Mapping[str, Maker]:
    rng = np.random.default_rng(1)
    values, right = rng.random((batch, n, n)) + n * np.eye(n), rng.random((batch, n))
    A, F = (es.View((batch, n, n), layout=layout, space=space) for _ in "AF")
    b, x = (es.View((batch, n), layout=layout, space=space) for _ in "bx")
    es.deep_copy(A, values)
    es.deep_copy(b, right)
    every: Any = es.RangePolicy(batch, space=space)
    both, factor, solve = _both, _factor, _solve
    if by_teams:
        every = es.TeamPolicy(batch, THREADS[n > 16], space=space)
        both, factor, solve = _both_by_team, _factor_by_team, _solve_by_team

    def together() -> None:
        es.parallel_for(every, both, A, b, x, n)

    def apart() -> None:
        es.parallel_for(every, factor, A, F, n)
        es.parallel_for(every, solve, F, b, x, n)

    def contestant(name: str, call: Callable[[], Any]) -> Contestant:
        def check() -> None:
            call()
            found = x.to_numpy()
            assert np.allclose(np.einsum("bij,bj->bi", values, found), right), "wrong"

        return Contestant(name, call, space.fence, check)

    makers: dict[str, Maker] = {
        name: partial(contestant, name, call)
        for name, call in (("execspace", together), ("execspace, two launches", apart))
    }
    if space.name.partition(":")[0] == "cuda":
        makers["PyTorch"] = partial(_torch, A, b)
    return makers


def _torch(A: es.View, b: es.View) -> Contestant:
    torch = library("torch")
    matrices, right = torch.from_dlpack(A).contiguous(), torch.from_dlpack(b).contiguous()
    call = partial(torch.linalg.solve_ex, matrices, right)
    return Contestant("PyTorch", call, torch.cuda.synchronize, lambda: None)


def _both(i: int, A: Any, b: Any, x: Any, n: es.static) -> None:
    own = es.local((n, n), A.dtype)
    right = es.local(n, A.dtype)
    batched.serial.copy(A[i, :, :], own)
    for k in range(n):
        right[k] = b[i, k]
    batched.serial.lu(own)
    batched.serial.trsv(own, right, "L", "N", "U")
    batched.serial.trsv(own, right, "U")
    for k in range(n):
        x[i, k] = right[k]


def _factor(i: int, A: Any, F: Any, n: es.static) -> None:
    own = es.local((n, n), A.dtype)
    batched.serial.copy(A[i, :, :], own)
    batched.serial.lu(own)
    batched.serial.copy(own, F[i, :, :])


def _solve(i: int, F: Any, b: Any, x: Any, n: es.static) -> None:
    own = es.local((n, n), F.dtype)
    right = es.local(n, F.dtype)
    batched.serial.copy(F[i, :, :], own)
    for k in range(n):
        right[k] = b[i, k]
    batched.serial.trsv(own, right, "L", "N", "U")
    batched.serial.trsv(own, right, "U")
    for k in range(n):
        x[i, k] = right[k]


def _both_by_team(team: Any, A: Any, b: Any, x: Any, n: es.static) -> None:
    i = team.league_rank
    at, right = team.scratch((n, n + 1 - n % 2), A.dtype), team.scratch(n, A.dtype)
    batched.team.copy(team, A[i, :, :], at[:, :n])
    for k in es.TeamThreadRange(team, n):
        right[k] = b[i, k]
    team.barrier()
    batched.team.lu(team, at[:, :n])
    batched.team.trsv(team, at[:, :n], right, "L", "N", "U")
    batched.team.trsv(team, at[:, :n], right, "U")
    for k in es.TeamThreadRange(team, n):
        x[i, k] = right[k]


def _factor_by_team(team: Any, A: Any, F: Any, n: es.static) -> None:
    i = team.league_rank
    at = team.scratch((n, n + 1 - n % 2), A.dtype)
    batched.team.copy(team, A[i, :, :], at[:, :n])
    batched.team.lu(team, at[:, :n])
    batched.team.copy(team, at[:, :n], F[i, :, :])


def _solve_by_team(team: Any, F: Any, b: Any, x: Any, n: es.static) -> None:
    i = team.league_rank
    at, right = team.scratch((n, n + 1 - n % 2), F.dtype), team.scratch(n, F.dtype)
    batched.team.copy(team, F[i, :, :], at[:, :n])
    for k in es.TeamThreadRange(team, n):
        right[k] = b[i, k]
    team.barrier()
    batched.team.trsv(team, at[:, :n], right, "L", "N", "U")
    batched.team.trsv(team, at[:, :n], right, "U")
    for k in es.TeamThreadRange(team, n):
        x[i, k] = right[k]


def _table(title: str, outcome: dict[str, dict[str, Any]]) -> Table:
    table = Table("who", "ms", "of two launches", title=title)
    for who, found in outcome.items():
        ratio = over(outcome, who, "execspace, two launches")
        shown = "" if ratio is None else f"{ratio:.2f}"
        what = found.get("error") or found.get("not_there")
        table.add_row(who, what or f"{found['ms']:.4f}", shown)
    return table


if __name__ == "__main__":
    raise SystemExit(main())
