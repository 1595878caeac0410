"""Copies in which elements change their places: rows with gaps, transposes, blocks of the host.

Elements of 1 to 16 bytes; the others are CuPy, PyTorch and, for rows, cudaMemcpy2DAsync. Copies on
the device are timed by events, on the default stream, which for execspace is ``instance=space``. A
copy of as many bytes as they lie is the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.cuda.arrays import Arrays, array_check
from benchmarks.cuda.timing import Bench, Contestant, NotThere

DTYPES = ("uint8", "int16", "float32", "float64", "complex128")
COPIED = 1 << 28  # bytes
DEVICE_TO_DEVICE = 3  # cudaMemcpyKind
BLOCKS = [1 << k for k in range(20, 31, 2)]  # bytes, of pageable memory


class Pair:
    """Where elements come from and go to: parts of CuPy arrays, or of arrays of the host."""

    def __init__(self, d: Arrays, target: Any, source: Any) -> None:
        self.d, self.target, self.source = d, target, source

    def device(self, of: Any) -> Any:
        """As CuPy array."""
        return self.d.cupy.asarray(of)

    def check(self, _: Any) -> None:
        """Whether the target has all elements."""
        same = self.device(self.target) == self.device(self.source)
        assert bool(same.all()), "elements are wrong"

    def clear(self) -> None:
        """Leave no right element, but by chance."""
        self.target[...] = 99

    def contestant(self, name: str, make: Callable[[], Any], **options: Any) -> Contestant:
        return Contestant(name, make, self.check, self.clear, **options)

    def ours(self, name: str, asynchronous: bool) -> Contestant:
        def make() -> Any:
            pair = es.view_of(self.target), es.view_of(self.source)
            if asynchronous:
                return partial(es.deep_copy, *pair, instance=self.d.space)
            return partial(es.deep_copy, *pair)

        return self.contestant(name, make, ours=True)

    def cupy_copy(self) -> Contestant:
        return self.contestant(
            "cupy.copyto", lambda: partial(self.d.cupy.copyto, self.target, self.source)
        )

    def torch_copy(self) -> Contestant:
        def tensor(array: Any) -> Any:
            if isinstance(array, np.ndarray):
                return self.d.peers.torch.from_numpy(array)
            return self.d.peers.tensor(array)

        return self.contestant(
            "torch copy_", lambda: partial(tensor(self.target).copy_, tensor(self.source))
        )

    def rows(self) -> Contestant:
        """cudaMemcpy2DAsync, where both sides have rows."""

        def make() -> Any:
            runtime = self.d.cupy.cuda.runtime
            if not hasattr(runtime, "memcpy2DAsync"):
                raise NotThere("this CuPy has no memcpy2DAsync")
            t, s = self.target, self.source
            width = t.shape[1] * t.itemsize
            return partial(
                runtime.memcpy2DAsync, t.data.ptr, t.strides[0], s.data.ptr, s.strides[0], width,
                t.shape[0], DEVICE_TO_DEVICE, 0,
            )  # fmt: skip

        return self.contestant("cudaMemcpy2DAsync", make)

    def bound(self, nbytes: int) -> Contestant:
        """As many bytes as they lie, from one scratch array to another."""
        whole = self.d.cupy.zeros((2, nbytes), np.uint8)
        function = self.d.cupy.cuda.runtime.memcpyAsync
        addresses = [part.data.ptr for part in whole]
        call = partial(function, *addresses, nbytes, DEVICE_TO_DEVICE, 0)
        return Contestant(
            "cudaMemcpyAsync, as they lie", lambda: (whole, call)[1], lambda _: None, bound=True
        )


def order(bench: Bench, d: Arrays) -> None:
    """Copies on the device that change places, and of large arrays between host and device."""
    nbytes = min(COPIED, 16 * d.n)
    for name in DTYPES:
        dtype = np.dtype(name)
        n = int((nbytes / dtype.itemsize) ** 0.5) // 64 * 64
        _rows(bench, d, dtype, n)
        _transposes(bench, d, dtype, n)
    for name in ("float32", "float64"):
        _apart(bench, d, np.dtype(name), nbytes)
    _host(bench, d, nbytes)
    _blocks(bench, d, [size for size in BLOCKS if size <= 16 * d.n])


def _random(d: Arrays, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
    """Small numbers."""
    return d.cupy.random.randint(0, 90, shape, dtype=np.int32).astype(dtype)


def _measure(bench: Bench, pair: Pair, name: str, *more: Contestant) -> None:
    nbytes = pair.source.size * pair.source.itemsize
    bench.kernels(
        2 * nbytes,
        [
            pair.ours(name, True), pair.cupy_copy(), pair.torch_copy(), *more, pair.bound(nbytes),
        ],
    )  # fmt: skip


def _rows(bench: Bench, d: Arrays, dtype: np.dtype[Any], n: int) -> None:
    """Long rows, and rows of 24 elements, with gaps of 8 elements and of one."""
    size = dtype.itemsize
    for what, rows, row, gap in (
        ("long rows", n, n - 8, 8), ("long rows, odd", n, n - 1, 1),
        ("rows of 24", n * n // 32, 24, 8),
    ):  # fmt: skip
        source = _random(d, (rows, row + gap), dtype)[:, :row]
        pair = Pair(d, d.cupy.zeros((rows, row), dtype), source)
        _measure(bench, pair, f"{what}, {size} bytes", pair.rows())


def _transposes(bench: Bench, d: Arrays, dtype: np.dtype[Any], n: int) -> None:
    size, xp = dtype.itemsize, d.cupy
    flat = _random(d, (n, n), dtype)
    _measure(bench, Pair(d, xp.zeros((n, n), dtype), flat.T), f"transpose, {size} bytes")
    m = n - 3
    part = flat.reshape(-1)[: m * m].reshape(m, m).T  # whose rows begin at odd places
    _measure(bench, Pair(d, xp.zeros((m, m), dtype), part), f"transpose, odd, {size} bytes")
    shape = (64, n // 8, n // 8)
    cube = flat.reshape(-1)[: shape[0] * shape[1] * shape[2]].reshape(shape)
    reverse = Pair(d, xp.zeros(shape[::-1], dtype), cube.T)
    _measure(bench, reverse, f"right to left, rank 3, {size} bytes")
    inner = Pair(d, xp.zeros((shape[0], shape[2], shape[1]), dtype), cube.transpose(0, 2, 1))
    _measure(bench, inner, f"64 transposes, {size} bytes")


def _apart(bench: Bench, d: Arrays, dtype: np.dtype[Any], nbytes: int) -> None:
    """Every second element."""
    source = _random(d, (nbytes // dtype.itemsize,), dtype)[::2]
    pair = Pair(d, d.cupy.zeros(source.shape, dtype), source)
    _measure(bench, pair, f"every second, {dtype.itemsize} bytes")


def _host(bench: Bench, d: Arrays, nbytes: int) -> None:
    """Pageable memory of the host whose elements lie in another order than on the device."""
    n = int((nbytes / 8) ** 0.5) // 64 * 64
    values = np.random.default_rng(0).integers(0, 90, (n, n)).astype(np.float64)
    device = d.cupy.asfortranarray(d.cupy.zeros((n, n)))
    apart = np.zeros((n, 2 * n))[:, :n]
    for what, host in (("pageable", values), ("pageable with gaps", apart)):
        host[...] = values
        to_device = Pair(d, device, host)
        bench.copies(
            8 * n * n,
            [
                to_device.ours(f"right to left, host to device, {what}", False),
                to_device.torch_copy(),
                to_device.contestant("cupy set", lambda host=host: partial(_set, d, device, host)),
            ],
        )
        to_host = Pair(d, host, device)
        device[...] = d.cupy.asarray(values)
        bench.copies(
            8 * n * n,
            [to_host.ours(f"left to right, device to host, {what}", False), to_host.torch_copy()],
        )


def _set(d: Arrays, device: Any, host: np.ndarray) -> None:
    device[...] = d.cupy.asarray(host)


def _blocks(bench: Bench, d: Arrays, sizes: Sequence[int]) -> None:
    """Blocks of pageable memory of several sizes."""
    for nbytes in sizes:
        host = np.random.default_rng(0).integers(0, 90, nbytes, dtype=np.uint8)
        back, device = np.zeros_like(host), d.cupy.zeros(nbytes, np.uint8)
        name = f"{nbytes >> 20} MiB"
        up = Pair(d, device, host)
        bench.copies(
            nbytes,
            [
                up.ours(f"to device, pageable, {name}", False),
                up.contestant("cupy set", lambda host=host, to=device: partial(to.set, host)),
                up.torch_copy(),
            ],
        )
        device.set(host)
        check, clear = array_check(host, lambda _, back=back: back), lambda back=back: back.fill(99)
        down = Pair(d, back, device)
        bench.copies(
            nbytes,
            [
                down.ours(f"to host, pageable, {name}", False),
                Contestant(
                    "cupy get", lambda back=back, of=device: partial(of.get, out=back), check, clear
                ),
                down.torch_copy(),
            ],
        )
