"""What launches cost on the host: each of many in a row, and the first one of a new kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common import device_kernels as k
from benchmarks.cuda.arrays import A, Arrays, array_check, item_of, number_check, peer
from benchmarks.cuda.timing import Bench, Call, Contestant

SMALL = 1024  # elements
PROCESSES = 5
ROOT = Path(__file__).parents[2]
PROBE = "benchmarks.cuda.probe"


def launch(bench: Bench, d: Arrays) -> None:
    """Microseconds that a launch takes on the host, of many in a row that are not waited for."""
    x, y, z = (array[:SMALL].copy() for array in (d.x, d.y, d.z))
    right, added = d.host_x[:SMALL] + A * d.host_y[:SMALL], A * d.host_x[:SMALL]
    peers, made = d.peers, _Made(d)

    def poison() -> None:
        z.fill(np.nan)

    def ours(name: str, policy: Callable[[], Any]) -> Contestant:
        def make() -> Call:
            return partial(es.parallel_for, policy(), k.triad, A, *made.views)

        check = array_check(right, lambda _: made.numbers())
        return Contestant(name, make, check, made.poison, ours=True)

    def foreign() -> Call:
        return partial(es.parallel_for, made.policy(), k.triad, A, *(d.view(v) for v in (x, y, z)))

    def add_() -> Call:
        return partial(peers.tensor(z).add_, peers.tensor(x), alpha=A)

    check, sums = array_check(right, lambda _: z.get()), array_check(added, lambda _: z.get())
    makers: dict[str, Callable[[], Any]] = {
        "CuPy RawKernel": lambda: peers.triad_raw(A, x, y, z),
        "CuPy ElementwiseKernel": lambda: peers.triad_elementwise(A, x, y, z),
        "torch.add": lambda: peers.triad_torch(A, x, y, z),
        "Triton": lambda: peers.triad_triton(A, x, y, z),
    }
    driver = lambda: peers.triad_driver(A, x, y, z)  # noqa: E731
    bench.launches(
        [
            ours("launch, RangePolicy", made.policy),
            ours("launch, int", lambda: SMALL),
            Contestant("launch, Views of CuPy arrays", foreign, check, poison, ours=True),
            *(Contestant(name, make, check, poison) for name, make in makers.items()),
            Contestant("torch add_", add_, sums, lambda: z.fill(0.0)),
            Contestant("driver, packed arguments", driver, check, poison, bound=True),
        ]
    )

    def reduction() -> Call:
        return partial(es.parallel_reduce, made.policy(), k.product, *made.views[:2])

    def torch_dot() -> Call:
        return item_of(partial(peers.torch.dot, peers.tensor(x), peers.tensor(y)))

    dot = float(d.host_x[:SMALL] @ d.host_y[:SMALL])
    bench.launches(
        [
            Contestant("reduce to a Python float", reduction, number_check(dot), ours=True),
            peer("hand-written", lambda: peers.reduction_to_python("dot", x, y), dot),
            peer("torch.dot(...).item()", torch_dot, dot),
            peer("cupy.dot(...).item()", lambda: item_of(partial(d.cupy.dot, x, y)), dot),
            peer("cupy (x * y).sum().item()", lambda: lambda: (x * y).sum().item(), dot),
        ]
    )


class _Made:
    """Small Views that the space has allocated: launches on them need not mind other streams."""

    def __init__(self, d: Arrays) -> None:
        self.d = d

    @cached_property
    def views(self) -> list[es.View]:
        """x, y and z."""
        views = [es.View(SMALL, es.float64, space=self.d.space, label=label) for label in "xyz"]
        for view, host in zip(views, (self.d.host_x, self.d.host_y), strict=False):
            es.deep_copy(view, host[:SMALL])
        return views

    def policy(self) -> es.RangePolicy:
        """A range over them, on the space."""
        return es.RangePolicy(0, SMALL, space=self.d.space)

    def poison(self) -> None:
        """Leave no right element in z."""
        es.deep_copy(self.views[2], np.nan)

    def numbers(self) -> np.ndarray:
        """The elements of z."""
        host = np.empty(SMALL)
        es.deep_copy(host, self.views[2])
        return host


def first(bench: Bench, d: Arrays) -> None:
    """First launch of a kernel in a process whose space has started: compiled, and from disk."""
    found: dict[str, dict[str, list[Any]]] = {"cold": {}, "disk": {}}
    with tempfile.TemporaryDirectory(prefix="execspace-bench-") as bytecode:
        for n in range(PROCESSES + 1):
            with tempfile.TemporaryDirectory(prefix="execspace-bench-") as folder:
                for times in found.values():
                    for name, measured in _probe(d.name, Path(folder), bytecode).items():
                        if n > 0:  # the first pair has compiled Python's modules
                            times.setdefault(name, []).append(measured)
    bench.first("first launch, compiled", found["cold"])
    bench.first("first launch, from disk", found["disk"])
    again = [one for one in found["disk"]["execspace"] if False in one.get("from_disk", ())]
    if again:
        raise RuntimeError(f"{len(again)} of {PROCESSES} processes compiled a cached kernel again")


def _probe(space: str, folder: Path, bytecode: str) -> dict[str, Any]:
    """Times of one fresh process, whose caches are in the folder."""
    environment = dict(
        os.environ,
        PYTHONPYCACHEPREFIX=bytecode,
        EXECSPACE_CACHE_DIR=str(folder / "execspace"),
        CUPY_CACHE_DIR=str(folder / "cupy"),
        CUDA_CACHE_PATH=str(folder / "driver"),
    )
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-m", PROBE, space],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{PROBE} failed with {done.returncode}:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
