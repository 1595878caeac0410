"""Launches of other libraries: the kernel that execspace's rows launch, on arrays of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common.optional import (
    NotThere,
    cupy_on_device,
    library,
    numba_cuda,
    torch_on_device,
)

from .rows import Missing, Row, attempt

SIZE = 64
GROUP = "launch"

CUDA_TRIAD = (
    'extern "C" __global__ void triad(double* x, double* y, double* z, long n)'
    "{ long i = blockIdx.x * 64l + threadIdx.x; if (i < n) x[i] = y[i] + 2.0 * z[i]; }"
)
OPENCL_TRIAD = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void triad(__global double* x, __global double* y, __global double* z, uint n) {
    const uint i = get_global_id(0);
    if (i < n) x[i] = y[i] + 2.0 * z[i];
}
"""


def launches_on_hosts() -> list[Row | Missing]:
    """Calls that do what a launch on a host does."""
    return [_numpy(), attempt("Numba: njit, 3 arrays", GROUP, _numba)]


def launches_on_cuda() -> list[Row | Missing]:
    """Launches of other libraries on an NVIDIA GPU."""
    makers: dict[str, Callable[[], Row]] = {
        "CuPy: RawKernel, 3 arrays": _cupy,
        "PyTorch: add, 3 tensors": _torch,
        "Triton: 3 tensors": _triton,
        "Numba CUDA: 3 arrays": _numba_cuda,
    }
    return [attempt(name, GROUP, make) for name, make in makers.items()]


def launches_of_pyopencl(space: Any) -> list[Row | Missing]:
    """Launches by pyopencl on the queue of the space."""
    called, set_before = "pyopencl: kernel(queue, ...)", "pyopencl: enqueue, arguments set"
    return [
        attempt(called, GROUP, partial(_pyopencl, space, called, False)),
        attempt(set_before, GROUP, partial(_pyopencl, space, set_before, True)),
    ]


def checked(
    fill: Callable[[], Any], call: Callable[[], Any], wait: Callable[[], Any] | None,
    numbers: Callable[[], Any],
) -> Callable[[], None]:  # fmt: skip
    """A check that one call of the triad leaves 1 + 2*3 in every element that `fill` spoiled."""

    def check() -> None:
        fill()
        call()
        if wait is not None:
            wait()
        found = np.asarray(numbers())
        assert found.shape == (SIZE,) and (found == 7.0).all(), found

    return check


# -- on hosts --------------------------------------------------------------------------------------


def _numpy() -> Row:
    x, y = np.zeros(SIZE), np.zeros(SIZE)
    return Row("NumPy: add", lambda: np.add(x, y, x), True, group=GROUP)


def _numba() -> Row:
    numba = library("numba")

    def triad(x: Any, y: Any, z: Any) -> None:
        for i in range(x.size):
            x[i] = y[i] + 2.0 * z[i]

    call = partial(numba.njit(triad), *_arrays())
    x = call.args[0]
    check = checked(lambda: x.fill(0.0), call, None, lambda: x)
    return Row("Numba: njit, 3 arrays", call, True, group=GROUP, check=check)


def _arrays() -> tuple[Any, Any, Any]:
    return np.zeros(SIZE), np.full(SIZE, 1.0), np.full(SIZE, 3.0)


# -- on NVIDIA GPUs --------------------------------------------------------------------------------


def _cupy() -> Row:
    cupy = cupy_on_device()
    x, y, z = map(cupy.asarray, _arrays())
    raw = cupy.RawKernel(CUDA_TRIAD, "triad")
    given, wait = (x, y, z, np.int64(SIZE)), cupy.cuda.get_current_stream().synchronize
    call = lambda: raw((1,), (64,), given)  # noqa: E731
    check = checked(lambda: x.fill(0.0), call, wait, lambda: x.get())
    return Row("CuPy: RawKernel, 3 arrays", call, True, None, wait, GROUP, check)


def _torch() -> Row:
    torch = torch_on_device()
    x, y, z = (torch.from_numpy(a).cuda() for a in _arrays())
    wait = torch.cuda.synchronize
    call = lambda: torch.add(y, z, alpha=2.0, out=x)  # noqa: E731
    check = checked(x.zero_, call, wait, lambda: x.cpu())
    return Row("PyTorch: add, 3 tensors", call, True, None, wait, GROUP, check)


def _triton() -> Row:
    torch = torch_on_device()
    library("triton")
    from benchmarks.cuda.peers import triad_triton

    x, y, z = (torch.from_numpy(a).cuda() for a in _arrays())
    wait = torch.cuda.synchronize
    call = partial(triad_triton[(1,)], y, z, x, 2.0, SIZE, BLOCK=SIZE)
    check = checked(x.zero_, call, wait, lambda: x.cpu())
    return Row("Triton: 3 tensors", call, True, None, wait, GROUP, check)


def _numba_cuda() -> Row:
    cuda = numba_cuda()

    @cuda.jit
    def triad(x: Any, y: Any, z: Any) -> None:
        i = cuda.grid(1)
        if i < x.size:
            x[i] = y[i] + 2.0 * z[i]

    x, y, z = map(cuda.to_device, _arrays())
    wait, ready = cuda.synchronize, triad[1, 64]
    call = lambda: ready(x, y, z)  # noqa: E731
    check = checked(lambda: x.copy_to_device(np.zeros(SIZE)), call, wait, lambda: x.copy_to_host())
    return Row("Numba CUDA: 3 arrays", call, True, None, wait, GROUP, check)


# -- on OpenCL devices -----------------------------------------------------------------------------


def opencl_buffer(space: Any, numbers: Any) -> Any:
    """A buffer of the context of the space."""
    cl = library("pyopencl")
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(space.device.context, flags, hostbuf=numbers)


def _pyopencl(space: Any, name: str, set_before: bool) -> Row:
    cl = library("pyopencl")
    if "fp64" not in space.device.handle.extensions:
        raise NotThere("the device has no float64")
    buffers = tuple(opencl_buffer(space, a) for a in _arrays())
    kernel = cl.Program(space.device.context, OPENCL_TRIAD).build().triad
    queue, n = space.queue.handle, np.uint32(SIZE)
    kernel.set_args(*buffers, n)

    def with_arguments() -> None:
        kernel(queue, (SIZE,), (SIZE,), *buffers, n)

    def without(kept: Any = buffers) -> None:  # OpenCL does not keep what arguments are set to
        cl.enqueue_nd_range_kernel(queue, kernel, (SIZE,), (SIZE,))

    call = without if set_before else with_arguments
    zeros, found = np.zeros(SIZE), np.zeros(SIZE)

    def numbers() -> Any:
        cl.enqueue_copy(queue, found, buffers[0])
        return found

    check = checked(lambda: cl.enqueue_copy(queue, buffers[0], zeros), call, queue.finish, numbers)
    return Row(name, call, True, None, space.fence, GROUP, check)
