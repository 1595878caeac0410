"""A thousand small kernels, each of which needs what the one before has stored, and a fence.

They are launched one by one, as bound launches, or recorded in a graph and submitted. Beside them
are the same kernels of CuPy, NumPy, Numba and pyopencl, and a CUDA graph that CuPy has captured.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.optional import NotThere, cupy_on_device, library
from benchmarks.common.own_memory import own_memory

from .peers import SIZE, opencl_buffer
from .rows import DEVICES, Missing, Row, attempt

KERNELS = 1000
GROUP = "chain"

CUDA_ADVANCE = (
    'extern "C" __global__ void advance(double* x, long n)'
    "{ long i = blockIdx.x * 64l + threadIdx.x; if (i < n) x[i] += 1.0; }"
)
OPENCL_ADVANCE = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void advance(__global double* x, uint n) {
    const uint i = get_global_id(0);
    if (i < n) x[i] += 1.0;
}
"""


@es.kernel
def advance(i, x):
    x[i] += 1.0


def chains(space: Any) -> list[Row | Missing]:
    """The rows of a space: microseconds of one of the kernels."""
    kind = space.name.partition(":")[0]
    found: list[Row | Missing] = list(_own(space))
    if kind == "cuda":
        found += [_maybe("CuPy: RawKernel", _cupy), _maybe("CuPy: CUDA graph", _cupy_graph)]
    elif kind == "opencl":
        found.append(_maybe("pyopencl: enqueue", partial(_pyopencl, space)))
    if kind not in DEVICES:
        found += [_maybe("NumPy: add", _numpy), _maybe("Numba: njit", _numba)]
    return found


def _name(of: str) -> str:
    return f"{KERNELS} kernels, {of}"


def _maybe(of: str, make: Callable[[str], Row]) -> Row | Missing:
    return attempt(_name(of), GROUP, lambda: make(_name(of)))


def _row(
    name: str, call: Callable[[], Any], numbers: Callable[[], Any], *, peer: bool = True
) -> Row:
    """A row whose calls end with a fence; the check is that each has added 1 a thousand times."""

    def check() -> None:
        before = np.array(numbers())
        call()
        found = np.asarray(numbers())
        assert (found == before + KERNELS).all(), f"{before[0]:g} became {found[0]:g}"

    return Row(name, call, peer, group=GROUP, check=check, each=KERNELS)


# -- execspace -------------------------------------------------------------------------------------


def _own(space: es.ExecutionSpace) -> list[Row]:
    policy = es.RangePolicy(SIZE, space=space)
    x = es.View(SIZE, space=space, memory=own_memory(space))
    bound = es.bind(policy, advance, x)
    graphs = [es.Graph(space), es.Graph(space)]
    for graph in graphs:
        with graph:
            for _ in range(KERNELS):
                es.parallel_for(policy, advance, x)
    replay, fused = graphs[0].instantiate(), graphs[1].instantiate(fuse=True)

    def launches() -> None:
        for _ in range(KERNELS):
            es.parallel_for(policy, advance, x)
        space.fence()

    def bounds() -> None:
        for _ in range(KERNELS):
            bound()
        space.fence()

    def submit(ready: Any) -> None:
        ready.submit()
        space.fence()

    calls: dict[str, Callable[[], None]] = {
        "launches": launches,
        "bound": bounds,
        "graph": partial(submit, replay),
        "graph, fused": partial(submit, fused),
    }
    return [_row(_name(of), call, x.to_numpy, peer=False) for of, call in calls.items()]


# -- others ----------------------------------------------------------------------------------------


def _numpy(name: str) -> Row:
    x = np.zeros(SIZE)

    def call() -> None:
        for _ in range(KERNELS):
            np.add(x, 1.0, x)

    return _row(name, call, lambda: x)


def _numba(name: str) -> Row:
    x = np.zeros(SIZE)

    def advance_all(x: Any) -> None:
        for i in range(x.size):
            x[i] += 1.0

    compiled = library("numba").njit(advance_all)

    def call() -> None:
        for _ in range(KERNELS):
            compiled(x)

    return _row(name, call, lambda: x)


def _cupy(name: str) -> Row:
    cupy = cupy_on_device()
    x, raw = cupy.zeros(SIZE), cupy.RawKernel(CUDA_ADVANCE, "advance")
    given, stream = (x, np.int64(SIZE)), cupy.cuda.get_current_stream()

    def call() -> None:
        for _ in range(KERNELS):
            raw((1,), (64,), given)
        stream.synchronize()

    return _row(name, call, lambda: x.get())


def _cupy_graph(name: str) -> Row:
    cupy = cupy_on_device()
    if not hasattr(cupy.cuda.Stream, "begin_capture"):
        raise NotThere(f"CuPy {cupy.__version__} does not capture streams")
    x, raw = cupy.zeros(SIZE), cupy.RawKernel(CUDA_ADVANCE, "advance")
    given, stream = (x, np.int64(SIZE)), cupy.cuda.Stream(non_blocking=True)
    with stream:
        raw((1,), (64,), given)  # compiled before it is captured
        stream.synchronize()
        stream.begin_capture()
        for _ in range(KERNELS):
            raw((1,), (64,), given)
        graph = stream.end_capture()

    def call() -> None:
        graph.launch(stream)
        stream.synchronize()

    return _row(name, call, lambda: x.get())


def _pyopencl(space: Any, name: str) -> Row:
    cl = library("pyopencl")
    if "fp64" not in space.device.handle.extensions:
        raise NotThere("the device has no float64")
    found = np.zeros(SIZE)
    x = opencl_buffer(space, found)
    kernel = cl.Program(space.device.context, OPENCL_ADVANCE).build().advance
    kernel.set_args(x, np.uint32(SIZE))
    queue = space.queue.handle

    def call() -> None:
        for _ in range(KERNELS):
            cl.enqueue_nd_range_kernel(queue, kernel, (SIZE,), (SIZE,))
        queue.finish()

    def numbers() -> Any:
        cl.enqueue_copy(queue, found, x)
        return found

    return _row(name, call, numbers)
