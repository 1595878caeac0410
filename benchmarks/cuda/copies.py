"""Copies between host and device, and on the device: es.deep_copy, CuPy, PyTorch, cudaMemcpy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.cuda.arrays import Arrays, array_check
from benchmarks.cuda.timing import Bench, Call, Contestant

COPIED = 2**27  # float64 in a copy: 1 GiB
DEVICE_TO_DEVICE = 3  # cudaMemcpyKind


class Buffers:
    """Where copies come from and go to; what is pinned is made when it is first asked for."""

    def __init__(self, d: Arrays) -> None:
        self.d, self.n = d, min(COPIED, 2 * d.n)
        self.source = np.arange(self.n, dtype=np.float64)
        self.host = np.zeros(self.n)
        self.full, self.device = d.cupy.asarray(self.source), d.cupy.zeros(self.n)

    @cached_property
    def view(self) -> es.View:
        """A View of pinned memory, with the numbers of the source."""
        view = es.View(self.n, es.float64, space=self.d.space, memory="pinned", label="pinned")
        es.deep_copy(view, self.source)
        return view

    @cached_property
    def array(self) -> np.ndarray:
        """CuPy's pinned memory, with the numbers of the source."""
        import cupyx

        array = cupyx.empty_pinned(self.n)
        array[...] = self.source
        return array

    @cached_property
    def tensor(self) -> Any:
        """PyTorch's pinned memory, with the numbers of the source."""
        torch = self.d.peers.torch
        tensor = torch.empty(self.n, dtype=torch.float64, pin_memory=True)
        return tensor.copy_(torch.from_numpy(self.source))

    def torch(self, target: Callable[[], Any], source: Callable[[], Any]) -> Call:
        """PyTorch's copy between arrays or tensors."""
        return partial(self._tensor(target()).copy_, self._tensor(source()), non_blocking=True)

    def _tensor(self, array: Any) -> Any:
        peers = self.d.peers
        if isinstance(array, np.ndarray):
            return peers.torch.from_numpy(array)
        return peers.tensor(array) if isinstance(array, self.d.cupy.ndarray) else array


def copy(bench: Bench, d: Arrays) -> None:
    """One GiB, or twice the size of the other sections' arrays if that is less."""
    b = Buffers(d)
    device, full, nbytes = b.device, b.full, 8 * b.n
    bench.copies(
        nbytes,
        [
            _to_device(
                "copy to device, pageable", b, lambda: _ours(d.view(device), b.source), True
            ),
            _to_device("cupy set", b, lambda: partial(device.set, b.source)),
            _to_device("torch copy_", b, lambda: b.torch(lambda: device, lambda: b.source)),
        ],
    )
    host = lambda: b.host  # noqa: E731
    bench.copies(
        nbytes,
        [
            _to_host("copy to host, pageable", b, host, lambda: _ours(b.host, d.view(full)), True),
            _to_host("cupy get", b, host, lambda: partial(full.get, out=b.host)),
            _to_host("torch copy_", b, host, lambda: b.torch(host, lambda: full)),
        ],
    )
    bench.copies(
        nbytes,
        [
            _to_device("copy to device, pinned", b, lambda: _ours(d.view(device), b.view), True),
            _to_device("cupy set", b, lambda: partial(device.set, b.array)),
            _to_device("torch copy_", b, lambda: b.torch(lambda: device, lambda: b.tensor)),
        ],
    )
    bench.copies(
        nbytes,
        [
            _to_host(
                "copy to host, pinned", b, lambda: b.view, lambda: _ours(b.view, d.view(full)), True
            ),
            _to_host("cupy get", b, lambda: b.array, lambda: partial(full.get, out=b.array)),
            _to_host(
                "torch copy_", b, lambda: b.tensor, lambda: b.torch(lambda: b.tensor, lambda: full)
            ),
        ],
    )

    def memcpy() -> Call:
        function = d.cupy.cuda.runtime.memcpyAsync
        return partial(function, device.data.ptr, full.data.ptr, nbytes, DEVICE_TO_DEVICE, 0)

    def queued() -> Call:
        views = d.view(device), d.view(full)
        return partial(es.deep_copy, *views, instance=d.space)

    bench.copies(
        2 * nbytes,  # read and written
        [
            _to_device("copy on the device, queued", b, queued, True),
            _to_device("cudaMemcpyAsync", b, memcpy),
        ],
    )
    bench.copies(
        2 * nbytes,
        [
            _to_device("copy on the device", b, lambda: _ours(d.view(device), d.view(full)), True),
            _to_device("cudaMemcpyAsync", b, memcpy),
            _to_device("cupy.copyto", b, lambda: partial(d.cupy.copyto, device, full)),
            _to_device("torch copy_", b, lambda: b.torch(lambda: device, lambda: full)),
        ],
    )


def _ours(target: Any, source: Any) -> Call:
    return partial(es.deep_copy, target, source)


def _to_device(name: str, b: Buffers, make: Callable[[], Any], ours: bool = False) -> Contestant:
    def check(_: Any) -> None:
        assert bool((b.device == b.full).all()), "elements are wrong"

    return Contestant(name, make, check, lambda: b.device.fill(-1.0), ours)


def _to_host(
    name: str, b: Buffers, target: Callable[[], Any], make: Callable[[], Any], ours: bool = False
) -> Contestant:
    """`target` is host memory: an array, a tensor or a View."""

    def clear() -> None:
        memory = target()
        if isinstance(memory, es.View):
            es.deep_copy(memory, -1.0)
        else:
            memory[...] = -1.0

    def found(_: Any) -> np.ndarray:
        memory = target()
        if not isinstance(memory, es.View):
            return np.asarray(memory)
        host = np.empty(b.n)
        es.deep_copy(host, memory)
        return host

    return Contestant(name, make, array_check(b.source, found), clear, ours)
