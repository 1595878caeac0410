"""E3SM's tracers: teams with scratch memory beside a flat range, and CUDA C++ and C by hand.

    python -m benchmarks.seeds.tracer_phase [--space NAME] [--record FILE] [--quick]
                                            [--only WORD] [--turns N]

The kernels are after AALTracerPhase and CaarFunctorImpl of E3SM's dynamical core, whose tuning for
GPUs is told in https://github.com/E3SM-Project/E3SM/issues/4640. "tracers" is an Euler step in flux
form with the limiter that keeps mass: threads of a team have levels, lanes have the 4 x 4 points of
an element, and sums over points join. "omega" is vertical velocity: threads have points, lanes have
levels, and two scans go down a column. The flat forms give an index to a level, and to a column.
Results are compared with NumPy's before anything is timed.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.turns import Contestant, Maker
from benchmarks.seeds import setting as s
from benchmarks.seeds.tracer_kernels import (
    ITERATIONS,
    POINTS,
    TOLERANCE,
    omega,
    omega_flat,
    running_pressure,
    tracer_flat,
    tracer_phase,
)

Array = np.ndarray[Any, np.dtype[np.float64]]

PERIOD = 61  # elements, with which states repeat
TRACERS = 10
DT, TOP = 0.02, 200.0
FLAT, AUTO = "flat range", "execspace, auto"
# Levels of a team and lanes; a team of all levels has threads that go through them.
TRACER_SHAPES = ((4, 16), (8, 16), (16, 16), (8, 8), (16, 8))
OMEGA_SHAPES = ((16, 32), (16, 16), (16, 8), (8, 32))
HAND_LEVELS = (2, 4, 8, 12, 24)  # of a block


@dataclass(frozen=True)
class State:
    """A state of some elements, and by NumPy what follows from it.

    Attributes
    ----------
    q, least, most : arrays
        Mass of tracers, (elements * tracers, levels, points), and bounds of their ratios.
    dp, v0, v1 : arrays of (elements, levels, points)
    metdet, rmetdet, mp : arrays of (elements, points)
    dvv : array of (4, 4)
    """

    q: Array
    dp: Array
    v0: Array
    v1: Array
    metdet: Array
    rmetdet: Array
    mp: Array
    dvv: Array
    least: Array
    most: Array


def derivatives() -> tuple[Array, Array]:
    """Derivatives of Lagrange's polynomials at 4 points of Gauss and Lobatto, and their weights."""
    nodes = np.array([-1, -1 / np.sqrt(5), 1 / np.sqrt(5), 1])
    dvv = np.zeros((4, 4))
    for j in range(4):
        others = nodes[np.arange(4) != j]
        polynomial = np.poly(others) / np.prod(nodes[j] - others)
        dvv[:, j] = np.polyval(np.polyder(polynomial), nodes)
    return dvv, np.array([1, 5, 5, 1]) / 6


def state(elements: int, levels: int) -> State:
    """Winds, and tracers in clouds with sharp edges, which the limiter has to keep in bounds."""
    random = np.random.default_rng(3)
    dvv, w = derivatives()
    metdet = random.uniform(0.9, 1.1, (elements, POINTS))
    shape = (elements, levels, POINTS)
    dp = 101000 / levels * random.uniform(0.9, 1.1, shape)
    v0, v1 = random.uniform(-1, 1, shape), random.uniform(-1, 1, shape)
    ratio = random.random((elements, TRACERS, levels, POINTS))
    ratio = np.where(ratio < 0.3, 0.0, ratio)
    q = (ratio * dp[:, None]).reshape(elements * TRACERS, levels, POINTS)
    bounds = ratio.reshape(q.shape)
    return State(
        q, dp, v0, v1, metdet, 1 / metdet, np.outer(w, w).reshape(-1) * metdet, dvv,
        bounds.min(axis=2), bounds.max(axis=2),
    )  # fmt: skip


def divergence(st: State, flux0: Array, flux1: Array) -> Array:
    """Of fluxes on points, which are the last dimension."""
    square = (*flux0.shape[:-1], 4, 4)
    along = np.einsum("jm,...im->...ij", st.dvv, flux0.reshape(square))
    across = np.einsum("im,...mj->...ij", st.dvv, flux1.reshape(square))
    found: Array = (along + across).reshape(flux0.shape)
    return found


def stepped(st: State) -> Array:
    """What tracer_phase computes, by NumPy."""
    q = st.q.reshape(len(st.dp), TRACERS, *st.q.shape[1:])
    here = st.metdet[:, None, None] * q
    d = st.rmetdet[:, None, None] * divergence(st, here * st.v0[:, None], here * st.v1[:, None])
    x = ((q - DT * d) / st.dp[:, None]).reshape(st.q.shape)
    weight = np.repeat(st.mp[:, None] * st.dp, TRACERS, axis=0)
    air, mass = weight.sum(axis=2, keepdims=True), (weight * x).sum(axis=2, keepdims=True)
    low = np.minimum(st.least[..., None], mass / air)
    high = np.maximum(st.most[..., None], mass / air)
    done = np.zeros_like(mass, dtype=bool)
    for _ in range(ITERATIONS):
        after = np.where(done, x, np.clip(x, low, high))
        excess = ((x - after) * weight).sum(axis=2, keepdims=True)
        x = after
        done |= abs(excess) <= TOLERANCE * abs(mass)
        free = np.where(excess > 0, x < high, x > low) & ~done
        room = np.where(free, weight, 0.0).sum(axis=2, keepdims=True)
        x = x + np.where(free, excess / np.where(room > 0, room, 1.0), 0.0)
    dp: Array = np.repeat(st.dp, TRACERS, axis=0)
    return x * dp


def by_columns(array: Array) -> Array:
    """(elements, levels, points) as (elements, points, levels)."""
    return np.ascontiguousarray(array.transpose(0, 2, 1))


def velocity(st: State) -> Array:
    """What omega computes, by NumPy, as (elements, points, levels)."""
    pressure = TOP + np.cumsum(st.dp, axis=1) - 0.5 * st.dp
    mass = st.metdet[:, None] * st.dp
    d = st.rmetdet[:, None] * divergence(st, mass * st.v0, mass * st.v1)
    square = pressure.reshape(*pressure.shape[:2], 4, 4)
    slope0 = np.einsum("jm,...im->...ij", st.dvv, square).reshape(pressure.shape)
    slope1 = np.einsum("im,...mj->...ij", st.dvv, square).reshape(pressure.shape)
    above = np.cumsum(d, axis=1) - 0.5 * d
    return by_columns((st.v0 * slope0 + st.v1 * slope1 - above) / pressure)


class Work:
    """A kernel on a number of elements: its Views, what is right, and who computes it."""

    def __init__(self, setting: s.Setting, kind: str, elements: int, levels: int) -> None:
        self.setting, self.kind, self.elements, self.levels = setting, kind, elements, levels
        few = min(PERIOD, elements)
        st = state(few, levels)
        if kind == "omega":
            arrays = [*map(by_columns, (st.dp, st.v0, st.v1)), st.metdet, st.rmetdet]
            self.right = velocity(st)
        else:
            arrays = [st.q, st.dp, st.v0, st.v1, st.metdet, st.rmetdet, st.mp]
            self.right = stepped(st)
        ends = [] if kind == "omega" else [st.least, st.most]
        repeated = [*map(self._repeat, arrays), st.dvv, *map(self._repeat, ends)]
        self.inputs = [setting.copied(array) for array in repeated]
        shape = (elements * len(self.right) // few, *self.right.shape[1:])
        self.out = setting.view(shape, label="out")
        self.nbytes = 8.0 * (self.out.size + sum(view.size for view in self.inputs))

    def _repeat(self, array: Array) -> Array:
        each = len(array) // min(PERIOD, self.elements)
        return np.resize(array, (self.elements * each, *array.shape[1:]))

    def contestant(
        self, name: str, call: Callable[[], Any], wait: Callable[[], Any], **about: Any
    ) -> Contestant:
        """Somebody who computes `out`, and gets it checked."""

        def check() -> dict[str, Any]:
            es.deep_copy(self.out, np.nan)
            self.setting.space.fence()
            call()
            wait()
            found = s.on_host(self.out)
            for first in range(0, len(found), len(self.right)):
                part = found[first : first + len(self.right)]
                apart = float(abs(part - self.right[: len(part)]).max())
                scale = float(abs(self.right).max())
                assert apart <= 1e-11 * scale, f"{name}: {apart} of {scale} apart at {first}"
            return about

        return Contestant(name, call, wait, check)

    # -- execspace ---------------------------------------------------------------------------------

    def launch(self, size: Any, lanes: Any, blocks: int = 1) -> Callable[[], Any]:
        """Teams of a size, for all levels of an element or for one of `blocks` parts."""
        space = self.setting.space
        if self.kind == "omega":
            policy = es.TeamPolicy(self.elements, size, lanes, space=space)
            return partial(es.parallel_for, policy, omega, *self.inputs, TOP, self.out)
        policy = es.TeamPolicy(self.elements * TRACERS * blocks, size, lanes, space=space)
        return partial(
            es.parallel_for, policy, tracer_phase, *self.inputs, DT, TRACERS, blocks, self.out
        )

    def shapes(self) -> Mapping[str, Callable[[], Any]]:
        """Launches to choose from: on hosts of one thread, elsewhere of the sizes above."""
        if self.setting.kind != "cuda":
            lanes = ("auto", 1, 4, 8)
            return {f"team of 1, {n} lanes": self.launch(1, n) for n in lanes}
        found = {}
        for size, width in OMEGA_SHAPES if self.kind == "omega" else TRACER_SHAPES:
            found[f"{size} x {width}"] = self.launch(size, width)
            if self.kind != "omega":
                blocks = -(-self.levels // size)
                found[f"{size} x {width}, {blocks} blocks"] = self.launch(size, width, blocks)
        return found

    def ours(self) -> Contestant:
        """The fastest of all shapes."""
        fence, calls, refused = self.setting.space.fence, {}, {}
        for name, call in self.shapes().items():
            try:
                call()
            except es.PolicyError as error:
                refused[name] = str(error)
            else:
                calls[name] = call
        fence()
        best = s.fastest(calls, fence)
        return self.contestant(s.OURS, calls[best], fence, variant=best, refused=refused)

    def auto(self) -> Contestant:
        """What a program gets that asks for nothing."""
        return self.contestant(AUTO, self.launch("auto", "auto"), self.setting.space.fence)

    def flat(self) -> Contestant:
        """A range of two dimensions with private arrays, or two of them."""
        space = self.setting.space
        if self.kind == "tracers":
            policy = es.MDRangePolicy((self.elements * TRACERS, self.levels), space=space)
            call = partial(
                es.parallel_for, policy, tracer_flat, *self.inputs, DT, TRACERS, self.out
            )
            return self.contestant(FLAT, call, space.fence)
        policy = es.MDRangePolicy((self.elements, POINTS), space=space)
        pressure = self.setting.view(self.out.shape, label="pressure")

        def both() -> None:
            es.parallel_for(policy, running_pressure, self.inputs[0], TOP, pressure)
            es.parallel_for(policy, omega_flat, *self.inputs, pressure, self.out)

        return self.contestant(FLAT, both, space.fence)

    # -- by hand -----------------------------------------------------------------------------------

    def cuda(self) -> Contestant:
        """CUDA C++: a block for an element, or for levels of a tracer."""
        module = s.cuda_module("tracers", f"LEVELS={self.levels}")
        arrays = [s.device_array(view) for view in (*self.inputs, self.out)]
        if self.kind == "omega":
            kernel = module.get_function("omega")
            arguments = (*arrays, np.float64(TOP))
            calls = {"512": partial(kernel, (self.elements,), (32 * POINTS,), arguments)}
        else:
            kernel, calls = module.get_function("tracer_phase"), {}
            arguments = (*arrays, np.float64(DT), np.int32(TRACERS))
            for each in HAND_LEVELS:
                grid = self.elements * TRACERS * -(-self.levels // each)
                shared = 8 * 2 * POINTS * each
                calls[f"{each} x 16"] = partial(
                    kernel, (grid,), (POINTS, each), arguments, shared_mem=shared
                )
        best = s.fastest(calls, s.synchronize)
        return self.contestant(s.CUDA, calls[best], s.synchronize, variant=best)

    def c(self) -> Contestant:
        """C with OpenMP, on as many threads, called through ctypes."""
        function = getattr(
            s.c_library("tracers"), "omega" if self.kind == "omega" else "tracer_phase"
        )
        scalar, counts = TOP, [self.elements, self.levels]
        if self.kind != "omega":
            scalar, counts = DT, [self.elements, TRACERS, self.levels]
        call = partial(
            function, *map(s.address, (*self.inputs, self.out)), ctypes.c_double(scalar),
            *map(ctypes.c_long, counts),
            ctypes.c_int(s.threads_of(self.setting)),
        )  # fmt: skip
        return self.contestant(s.C, call, lambda: None)

    def makers(self) -> dict[str, Maker]:
        """All who take part on this space."""
        found: dict[str, Maker] = {s.OURS: self.ours, AUTO: self.auto, FLAT: self.flat}
        if self.setting.kind == "cuda":
            found[s.CUDA] = self.cuda
        elif self.setting.kind == "host":
            found[s.C] = self.c
        return found


def sizes(setting: s.Setting, levels: int) -> tuple[int, ...]:
    """Numbers of elements: those of E3SM's runs, 6 ne^2, on a GPU."""
    if setting.quick:
        return (3,)
    if setting.kind == "cuda":
        return (54, 600, 2400) if levels == 72 else (600,)
    return (24, 150) if levels == 72 else (24,)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if somebody failed or was wrong."""
    setting, options = s.setting_of(s.options_parser(__doc__), arguments)
    bench = s.Bench(setting)
    for kind in ("tracers", "omega"):
        for levels in (72, 128):
            for elements in sizes(setting, levels):
                # A kernel without tracers gets as many elements as there are tracers more.
                count = elements * (4 if kind == "omega" and not setting.quick else 1)
                name = f"{kind}, {count} elements, {levels} levels"
                if setting.wants(name):
                    work = Work(setting, kind, count, levels)
                    bench.measure(name, work.makers(), work.nbytes)
    title = f"E3SM's tracers on {setting.space.name}"
    return bench.finish(options.record, title, tracers=TRACERS, points=POINTS)


if __name__ == "__main__":
    sys.exit(main())
