"""What small things cost: Views that overlap, pinned memory, assertions, tests of indices.

    python -m benchmarks.seeds.costs [--space NAME] [--record FILE] [--quick] [--only WORD]
                                     [--turns N]

The first three made kernels of E3SM slower on AMD's GPUs than on NVIDIA's until somebody looked:
https://github.com/E3SM-Project/E3SM/issues/4640. "overlap" compares Views as they are, of which
execspace compares the addresses, with the trait "restrict", with Views that do overlap, and with
code by hand; "cosines" is the loop of that issue. "pinned" copies from and to pinned and pageable
memory, and has kernels read the former. "asserts" are kernels with assertions over those without,
"bounds" those under EXECSPACE_CHECK=bounds, whose process takes turns with one that tests nothing.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.optional import NotThere, cupy_on_device
from benchmarks.common.turns import Contestant, Maker
from benchmarks.seeds import cost_kernels as k
from benchmarks.seeds import setting as s
from benchmarks.seeds.checked_work import WORK, A, Work

RESTRICT, OVERLAPPING = "execspace, restrict", "execspace, overlapping"
TWO_VIEWS, PAGEABLE, DEVICE = "execspace, two Views", "execspace, pageable", "execspace, device"
WITHOUT, BOUNDS, ASSERTS = "without", "with bounds", "with assert"
RESTRICTED = {"restrict": "restrict", "plain": "no restrict"}  # names by hand
BLOCK, TIMES = 128, 1000


def _checked(
    setting: s.Setting, name: str, call: Callable[[], Any], out: es.View, right: Any, **about: Any
) -> Contestant:
    """Somebody whose work leaves `right` in `out`."""

    def check() -> dict[str, Any]:
        es.deep_copy(out, 0.0)
        setting.space.fence()
        call()
        setting.space.fence()
        np.testing.assert_allclose(s.on_host(out), right, rtol=1e-10)
        return about

    return Contestant(name, call, setting.space.fence, check)


# -- overlap ---------------------------------------------------------------------------------------


class Overlap:
    """Triads, sums of seven Views, and cosines."""

    def __init__(self, bench: s.Bench) -> None:
        self.bench, self.setting = bench, bench.setting

    def run(self) -> None:
        """All cases."""
        large = 26 if self.setting.kind == "cuda" else 22
        for bits in (8,) if self.setting.quick else (8, 16, large):
            self.triad(bits)
            self.eight(min(bits, 24))
        self.in_place(8 if self.setting.quick else large)
        self.cosines(8 if self.setting.quick else 20 if self.setting.kind == "cuda" else 12)

    def triad(self, bits: int) -> None:
        """z = x + a * y of three Views."""
        n, setting = 2**bits, self.setting
        x, y = np.random.default_rng(1).random((2, n))
        views = [setting.copied(x), setting.copied(y, "y"), setting.view(n, label="z")]
        policy = es.RangePolicy(n, space=setting.space)
        traits = [view.with_traits("restrict") for view in views]
        makers: dict[str, Maker] = {}
        for name, of in ((s.OURS, views), (RESTRICT, traits)):
            call = partial(es.parallel_for, policy, k.triad, A, *of)
            makers[name] = partial(_checked, setting, name, call, views[2], x + A * y)
        makers |= self.by_hand("triad", views, n, views[2], x + A * y)
        self.bench.measure(f"overlap: triad, 2^{bits}", makers, 24.0 * n)

    def eight(self, bits: int) -> None:
        """The sum of seven Views, of whose addresses each is compared with the eighth's."""
        n, setting = 2**bits, self.setting
        arrays = np.random.default_rng(1).random((7, n))
        views = [*map(setting.copied, arrays), setting.view(n, label="z")]
        traits = [view.with_traits("restrict") for view in views]
        policy = es.RangePolicy(n, space=setting.space)
        makers: dict[str, Maker] = {}
        for name, of in ((s.OURS, views), (RESTRICT, traits)):
            call = partial(es.parallel_for, policy, k.eight, *of)
            makers[name] = partial(_checked, setting, name, call, views[-1], arrays.sum(axis=0))
        self.bench.measure(f"overlap: 8 Views, 2^{bits}", makers, 64.0 * n)

    def in_place(self, bits: int) -> None:
        """z = z + a * y as a kernel of three Views, two of which are one, and of two Views."""
        n, setting = 2**bits, self.setting
        y = np.random.default_rng(1).random(n)
        z, by = setting.view(n, label="z"), setting.copied(y, "y")
        policy = es.RangePolicy(n, space=setting.space)
        calls = {
            OVERLAPPING: partial(es.parallel_for, policy, k.triad, A, z, by, z),
            TWO_VIEWS: partial(es.parallel_for, policy, k.update, A, by, z),
        }
        makers: dict[str, Maker] = {
            name: partial(_checked, setting, name, call, z, A * y) for name, call in calls.items()
        }
        self.bench.measure(f"overlap: in place, 2^{bits}", makers, 24.0 * n, own=OVERLAPPING)

    def cosines(self, bits: int) -> None:
        """y = a * cos(x) + y many times: whoever knows that x is not y computes one cosine."""
        n, setting = 2**bits, self.setting
        x = np.random.default_rng(1).random(n)
        right = TIMES * A * np.cos(x)
        of, y = setting.copied(x), setting.view(n, label="y")
        policy = es.RangePolicy(n, space=setting.space)
        both = setting.view(2 * n, label="both")
        halves = both[::2], both[1::2]  # elements of the one are between those of the other

        def launch(*views: Any) -> Callable[[], Any]:
            return partial(es.parallel_for, policy, k.cosines, A, *views, np.int32(TIMES))

        def overlapping() -> Contestant:
            call = launch(*halves)

            def check() -> None:
                es.deep_copy(both, np.stack([x, np.zeros(n)], axis=1).reshape(-1))
                call()
                setting.space.fence()
                np.testing.assert_allclose(s.on_host(both)[1::2], right, rtol=1e-10)

            return Contestant(OVERLAPPING, call, setting.space.fence, check)

        makers: dict[str, Maker] = {
            s.OURS: partial(_checked, setting, s.OURS, launch(of, y), y, right),
            RESTRICT: lambda: _checked(
                setting, RESTRICT, launch(*(v.with_traits("restrict") for v in (of, y))), y, right
            ),
            OVERLAPPING: overlapping,
        }
        makers |= self.by_hand("cosines", [of, y], n, y, right, TIMES)
        self.bench.measure(f"overlap: cosines, 2^{bits}", makers, rounds=min(3, setting.rounds))

    def by_hand(
        self, name: str, views: Sequence[es.View], n: int, out: es.View, right: Any, *more: int
    ) -> dict[str, Maker]:  # fmt: skip
        """A kernel or loop by hand, with restrict and without."""
        setting, found = self.setting, {}

        def cuda(suffix: str, title: str) -> Contestant:
            kernel = s.cuda_module("costs").get_function(f"{name}_{suffix}")
            arrays = map(s.device_array, views)
            arguments = (np.float64(A), *arrays, np.uint32(n), *map(np.int32, more))
            call = partial(kernel, (-(-n // BLOCK),), (BLOCK,), arguments)

            def waited() -> None:
                call()
                s.synchronize()

            made = _checked(setting, title, waited, out, right)
            return made._replace(call=call, wait=s.synchronize)

        def c(suffix: str, title: str) -> Contestant:
            call = partial(
                getattr(s.c_library("costs"), f"{name}_{suffix}"), ctypes.c_double(A),
                *map(s.address, views), ctypes.c_long(n), *map(ctypes.c_int, more),
                ctypes.c_int(s.threads_of(setting)),
            )  # fmt: skip
            return _checked(setting, title, call, out, right)

        makers = {"cuda": (s.CUDA, cuda), "host": (s.C, c)}
        if setting.kind in makers:
            who, make = makers[setting.kind]
            for suffix, told in RESTRICTED.items():
                title = f"{who}, {told}"
                found[title] = partial(make, suffix, title)
        return found  # type: ignore[return-value]


# -- pinned memory ---------------------------------------------------------------------------------


class Pinned:
    """Copies from and to memory of the host, and kernels that read it."""

    def __init__(self, bench: s.Bench) -> None:
        self.bench, self.setting = bench, bench.setting

    def run(self) -> None:
        """All sizes."""
        largest = 27 if self.setting.kind == "cuda" else 22
        for bits in (10,) if self.setting.quick else (10, 17, largest):
            if any(self.setting.wants(self.name(w, bits)) for w in ("up", "down", "kernel")):
                self.of_size(bits)

    def name(self, what: str, bits: int) -> str:
        """Of a case of 2^bits doubles."""
        told = {"up": "host to device", "down": "device to host", "kernel": "read by a kernel"}
        return f"pinned: {told[what]}, {2 ** (bits + 3) // 1024} KiB"

    def pinned(self, array: Any) -> es.View:
        """A View in pinned memory; NotThere where the space has none."""
        try:
            view = es.View(array.shape, space=self.setting.space, memory="pinned", label="pinned")
        except es.SpaceError as error:
            raise NotThere(str(error)) from None
        es.deep_copy(view, array)
        return view

    def copy(self, name: str, make: Callable[[], tuple[Any, Any, Any]]) -> Contestant:
        """A copy of execspace, checked by what is in the target afterwards."""
        target, source, right = make()
        call = partial(es.deep_copy, target, source)

        def check() -> None:
            found = target if isinstance(target, np.ndarray) else None
            es.deep_copy(target, np.zeros_like(right))
            call()
            self.setting.space.fence()
            np.testing.assert_array_equal(s.on_host(target) if found is None else found, right)

        return Contestant(name, call, self.setting.space.fence, check)

    def of_size(self, bits: int) -> None:
        """Both directions, and a kernel."""
        setting, n = self.setting, 2**bits
        host = np.random.default_rng(1).random(n)
        device, empty = setting.copied(host, "device"), setting.view(n, label="target")
        up: dict[str, Maker] = {
            s.OURS: partial(self.copy, s.OURS, lambda: (empty, self.pinned(host), host)),
            PAGEABLE: partial(self.copy, PAGEABLE, lambda: (empty, host, host)),
        }
        down: dict[str, Maker] = {
            s.OURS: partial(self.copy, s.OURS, lambda: (self.pinned(0 * host), device, host)),
            PAGEABLE: partial(self.copy, PAGEABLE, lambda: (np.zeros(n), device, host)),
        }
        policy = es.RangePolicy(n, space=setting.space)

        def reading(name: str, source: Callable[[], es.View]) -> Contestant:
            call = partial(es.parallel_for, policy, k.copy, source(), empty)
            return _checked(setting, name, call, empty, host)

        kernel: dict[str, Maker] = {
            s.OURS: lambda: reading(s.OURS, lambda: self.pinned(host)),
            DEVICE: lambda: reading(DEVICE, lambda: device),
        }
        if setting.kind == "cuda":
            by_hand = ByCuda(host, device, empty)
            up |= by_hand.up()
            down |= by_hand.down()
            kernel |= by_hand.kernel()
        elif setting.kind == "host":
            target = np.zeros(n)

            def numpy() -> Contestant:
                call = partial(np.copyto, target, host)
                return Contestant(s.NUMPY, call, lambda: None, lambda: None)

            up[s.NUMPY], down[s.NUMPY], kernel[s.NUMPY] = numpy, numpy, numpy
        nbytes = 8.0 * n
        for what, makers in (("up", up), ("down", down), ("kernel", kernel)):
            self.bench.measure(self.name(what, bits), makers, nbytes)


class ByCuda:
    """CUDA's own copies, and a kernel by hand that reads pinned memory."""

    TO_DEVICE, TO_HOST = 1, 2  # cudaMemcpyKind

    def __init__(self, host: Any, device: es.View, target: es.View) -> None:
        import cupyx

        self.cupy, self.host = cupy_on_device(), host
        self.device, self.target = s.device_array(device), s.device_array(target)
        self.pinned = cupyx.empty_pinned(host.shape)
        self.pinned[...] = host

    def memcpy(self, name: str, to: Any, source: Any, kind: int) -> Contestant:
        """cudaMemcpyAsync, and the wait for its end."""
        pointers = [
            a.ctypes.data if isinstance(a, np.ndarray) else a.data.ptr for a in (to, source)
        ]
        runtime = self.cupy.cuda.runtime
        stream = self.cupy.cuda.get_current_stream()

        def call(kept: Any = (to, source)) -> None:
            runtime.memcpyAsync(*pointers, self.host.nbytes, kind, stream.ptr)
            stream.synchronize()

        def check() -> None:
            to[...] = 0
            stream.synchronize()
            call()
            found = to if isinstance(to, np.ndarray) else to.get()
            np.testing.assert_array_equal(found, self.host)

        return Contestant(name, call, stream.synchronize, check)

    def up(self) -> dict[str, Maker]:
        """To the device."""
        return {
            f"memcpy, {name}": partial(
                self.memcpy, f"memcpy, {name}", self.target, source, self.TO_DEVICE
            )
            for name, source in (("pinned", self.pinned), ("pageable", self.host))
        }

    def down(self) -> dict[str, Maker]:
        """To the host."""
        return {
            f"memcpy, {name}": partial(
                self.memcpy, f"memcpy, {name}", to, self.device, self.TO_HOST
            )
            for name, to in (
                ("pinned", self.pinned),
                ("pageable", np.zeros_like(self.host)),
            )
        }

    def kernel(self) -> dict[str, Maker]:
        """A kernel that reads pinned memory by its address."""

        def make() -> Contestant:
            n = self.host.size
            function = s.cuda_module("costs").get_function("copy")
            source = np.uint64(self.pinned.ctypes.data)
            arguments = (source, self.target, np.uint32(n))
            call = partial(function, (-(-n // BLOCK),), (BLOCK,), arguments)

            def check() -> None:
                self.pinned[...] = self.host
                self.target[...] = 0
                call()
                np.testing.assert_array_equal(self.target.get(), self.host)

            return Contestant(s.CUDA, call, s.synchronize, check)

        return {s.CUDA: make}


# -- assertions and indices ------------------------------------------------------------------------


class Worker:
    """A process that has kernels of its own, and does turns of them when it is asked to."""

    def __init__(self, setting: s.Setting, checks: str) -> None:
        command = [sys.executable, "-m", "benchmarks.seeds.checked_work"]
        command += ["--space", str(setting.space.name), *["--quick"] * setting.quick]
        environment = {name: v for name, v in os.environ.items() if name != "EXECSPACE_CHECK"}
        if checks:
            environment["EXECSPACE_CHECK"] = checks
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
            cwd=Path(__file__).parents[2],
        )  # fmt: skip
        if checks:
            seen = self.ask("beyond")
            assert seen == "seen", f"EXECSPACE_CHECK={checks}: an index out of bounds was {seen}"

    def ask(self, line: str) -> str:
        """The answer to a line; blocks."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise RuntimeError(f"the process of the kernels ended at {line!r}")
        return answer

    def end(self) -> None:
        """No more turns."""
        self.process.communicate(timeout=60)

    def contestant(self, name: str, count: int) -> Contestant:
        """The work that was asked for last, `count` launches a turn."""
        return Contestant(name, partial(self.ask, "turn"), lambda: None, lambda: None, each=count)


def asserts(bench: s.Bench) -> None:
    """Kernels with assertions over those without, in this process."""
    for name in WORK:
        if bench.setting.wants(f"asserts: {name}"):
            work = Work(bench.setting, name)
            makers: dict[str, Maker] = {
                ASSERTS: partial(work.contestant, ASSERTS, True),
                WITHOUT: partial(work.contestant, WITHOUT, False),
            }
            bench.measure(f"asserts: {name}", makers, work.nbytes, own=ASSERTS)


def bounds(bench: s.Bench) -> None:
    """Kernels that test their indices over those that do not, in two processes."""
    names = [name for name in WORK if bench.setting.wants(f"bounds: {name}")]
    if not names:
        return
    workers = {BOUNDS: Worker(bench.setting, "bounds"), WITHOUT: Worker(bench.setting, "")}
    try:
        for name in names:
            makers: dict[str, Maker] = {}
            for who, worker in workers.items():
                count, nbytes = worker.ask(name).split()  # whose result is checked there
                makers[who] = partial(worker.contestant, who, int(count))
            bench.measure(f"bounds: {name}", makers, float(nbytes), own=BOUNDS)
    finally:
        for worker in workers.values():
            worker.end()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if somebody failed or was wrong."""
    setting, options = s.setting_of(s.options_parser(__doc__), arguments)
    bench = s.Bench(setting)
    Overlap(bench).run()
    Pinned(bench).run()
    asserts(bench)
    bounds(bench)
    return bench.finish(options.record, f"Costs on {setting.space.name}", times=TIMES)


if __name__ == "__main__":
    sys.exit(main())
