"""The same solver by others: NumPy and Numba on hosts, CuPy on NVIDIA GPUs, JAX on both."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common.optional import NotThere, cupy_on_device, jax_in_float64, library
from benchmarks.common.turns import Contestant

Compare = Callable[[Any], dict[str, Any]]
DEVICES = ("hip", "opencl")  # where none of these works on the same device for certain

LAPLACIAN = """
extern "C" __global__ void laplacian(int n, const double* __restrict__ p, double* __restrict__ q) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int i = blockIdx.z;
    if (k >= n || j >= n) return;
    const long long row = n, plane = row * n, at = i * plane + j * row + k;
    double t = 6.0 * p[at];
    if (i > 0) t -= p[at - plane];
    if (i < n - 1) t -= p[at + plane];
    if (j > 0) t -= p[at - row];
    if (j < n - 1) t -= p[at + row];
    if (k > 0) t -= p[at - 1];
    if (k < n - 1) t -= p[at + 1];
    q[at] = t;
}
"""
BLOCK = (64, 4)


def makers(
    space: Any, b: Any, iterations: int, compare: Compare
) -> dict[str, Callable[[], Contestant]]:
    """Contestants that may be there on the device of a space."""
    kind = space.name.partition(":")[0]
    if kind in DEVICES:
        return {}
    jax = partial(_jax, b, iterations, compare, kind != "cuda")
    if kind != "cuda":
        return {  # NumPy comes last: the threads of its BLAS spin the longest
            "JAX: fori_loop": jax,
            "Numba: loops by hand": partial(_numba, b, iterations, compare, space.concurrency),
            "NumPy": partial(_numpy, b, iterations, compare),
        }
    vectors, by_hand = "CuPy: vector operations", "CuPy: ElementwiseKernel"
    return {
        vectors: partial(_cupy, vectors, b, iterations, compare, False),
        by_hand: partial(_cupy, by_hand, b, iterations, compare, True),
        "JAX: fori_loop": jax,
    }


def _numpy(b: Any, iterations: int, compare: Compare) -> Contestant:
    """Vector operations on arrays that are there already."""
    from .solver import apply

    x, r, p, q, t = (np.empty_like(b) for _ in range(5))
    state = {"rr": 0.0}

    def reset() -> None:
        x.fill(0.0)
        r[...] = p[...] = b
        state["rr"] = float(np.vdot(r, r))

    def call() -> None:
        for _ in range(iterations):
            apply(p, q)
            alpha = state["rr"] / np.vdot(p, q)
            np.subtract(r, np.multiply(q, alpha, t), r)
            new = np.vdot(r, r)
            beta, state["rr"] = new / state["rr"], new
            np.add(x, np.multiply(p, alpha, t), x)
            np.add(r, np.multiply(p, beta, p), p)

    def check() -> dict[str, Any]:
        reset()
        call()
        return compare(x)

    return Contestant("NumPy", call, lambda: None, check, reset, iterations)


def _numba(b: Any, iterations: int, compare: Compare, threads: int) -> Contestant:
    """Three loops, as few as there can be, on as many threads as the space has."""
    numba = library("numba")
    if threads > numba.config.NUMBA_NUM_THREADS:
        raise NotThere(f"Numba has {numba.config.NUMBA_NUM_THREADS} threads, and not {threads}")
    prange = numba.prange if threads > 1 else range

    def multiply(p: Any, q: Any) -> Any:
        n, total = p.shape[0], 0.0
        for i in prange(n):
            for j in range(n):
                for k in range(n):
                    t = 6.0 * p[i, j, k]
                    t -= p[i - 1, j, k] if i > 0 else 0.0
                    t -= p[i + 1, j, k] if i < n - 1 else 0.0
                    t -= p[i, j - 1, k] if j > 0 else 0.0
                    t -= p[i, j + 1, k] if j < n - 1 else 0.0
                    t -= p[i, j, k - 1] if k > 0 else 0.0
                    t -= p[i, j, k + 1] if k < n - 1 else 0.0
                    q[i, j, k] = t
                    total += p[i, j, k] * t
        return total

    def less(alpha: Any, q: Any, r: Any) -> Any:
        total = 0.0
        for i in prange(r.size):
            r[i] -= alpha * q[i]
            total += r[i] * r[i]
        return total

    def both(alpha: Any, beta: Any, r: Any, x: Any, p: Any) -> None:
        for i in prange(x.size):
            x[i] += alpha * p[i]
            p[i] = r[i] + beta * p[i]

    multiply, less, both = map(numba.njit(parallel=threads > 1), (multiply, less, both))
    x, r, p, q = (np.empty_like(b) for _ in range(4))
    flat_x, flat_r, flat_p, flat_q = (v.reshape(-1) for v in (x, r, p, q))
    state = {"rr": 0.0}

    def reset() -> None:
        x.fill(0.0)
        r[...] = p[...] = b
        state["rr"] = float(np.vdot(r, r))

    def call() -> None:
        before = numba.get_num_threads()
        numba.set_num_threads(threads)
        for _ in range(iterations):
            alpha = state["rr"] / multiply(p, q)
            new = less(alpha, flat_q, flat_r)
            beta, state["rr"] = new / state["rr"], new
            both(alpha, beta, flat_r, flat_x, flat_p)
        numba.set_num_threads(before)

    def check() -> dict[str, Any]:
        reset()
        call()
        return compare(x)

    return Contestant("Numba: loops by hand", call, lambda: None, check, reset, iterations)


def _cupy(name: str, b: Any, iterations: int, compare: Compare, by_hand: bool) -> Contestant:
    """A stencil by hand; the rest as vector operations, or as kernels of one pass each."""
    cupy = cupy_on_device()
    n, start = b.shape[0], cupy.asarray(b)
    x, r, p, q = (cupy.empty_like(start) for _ in range(4))
    flat_r, flat_p, flat_q = (v.ravel() for v in (r, p, q))  # views of the same memory
    kernel = cupy.RawKernel(LAPLACIAN, "laplacian")
    grid = (-(-n // BLOCK[0]), -(-n // BLOCK[1]), n)
    given = (np.int32(n), p, q)
    less = cupy.ElementwiseKernel("float64 a, float64 q", "float64 r", "r -= a * q", "less")
    both = cupy.ElementwiseKernel(
        "float64 a, float64 b, float64 r", "float64 x, float64 p",
        "x += a * p; p = r + b * p", "both",
    )  # fmt: skip
    state: dict[str, Any] = {}

    def reset() -> None:
        x.fill(0.0)
        r[...] = start
        p[...] = start
        state["rr"] = cupy.dot(flat_r, flat_r)

    def call() -> None:
        for _ in range(iterations):
            kernel(grid, BLOCK, given)
            alpha = state["rr"] / cupy.dot(flat_p, flat_q)
            if by_hand:
                less(alpha, q, r)
            else:
                cupy.subtract(r, alpha * q, out=r)
            new = cupy.dot(flat_r, flat_r)
            beta, state["rr"] = new / state["rr"], new
            if by_hand:
                both(alpha, beta, r, x, p)
            else:
                cupy.add(x, alpha * p, out=x)
                cupy.add(r, beta * p, out=p)

    def check() -> dict[str, Any]:
        reset()
        call()
        return compare(x.get())

    wait = cupy.cuda.get_current_stream().synchronize
    return Contestant(name, call, wait, check, reset, iterations)


def _jax(b: Any, iterations: int, compare: Compare, on_host: bool) -> Contestant:
    """All iterations as one compiled loop."""
    jax, device = jax_in_float64(on_host)
    jnp = jax.numpy

    def apply(p: Any) -> Any:
        t, padded = 6.0 * p, jnp.pad(p, 1)
        for axis in range(3):
            for first in (0, 2):
                part = [slice(1, -1)] * 3
                part[axis] = slice(first, first + p.shape[axis])
                t -= padded[tuple(part)]
        return t

    def body(_: Any, state: Any) -> Any:
        x, r, p, rr = state
        q = apply(p)
        alpha = rr / jnp.vdot(p, q)
        r = r - alpha * q
        new = jnp.vdot(r, r)
        return x + alpha * p, r, r + new / rr * p, new

    @jax.jit
    def solve(start: Any) -> Any:
        state = jnp.zeros_like(start), start, start, jnp.vdot(start, start)
        return jax.lax.fori_loop(0, iterations, body, state)[0]

    start = jax.device_put(b, device)
    result: list[Any] = [start]

    def call() -> None:
        result[0] = solve(start)

    def wait() -> None:
        result[0].block_until_ready()

    def check() -> dict[str, Any]:
        call()
        return compare(np.asarray(result[0]))

    return Contestant("JAX: fori_loop", call, wait, check, None, iterations)
