"""The section `scatter`: contributions of many indices to few elements, through a ScatterView.

By hand each block counts in shared memory and adds what it has to the result; atomicAdd on the
result itself is the other way. PyTorch has index_add_, and bincount for counts.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.cuda.arrays import Arrays, all_equal
from benchmarks.cuda.timing import Bench, Call, Contestant

COUNT = 1 << 24
TARGETS = (10, 256, 4096, 1 << 20)
CPP = {"int32": "int", "float32": "float", "float64": "double"}
SHARED = 48 * 1024  # bytes that a block has without asking

SOURCE = """
template <typename T>
__global__ void shared(const int *__restrict__ keys, const T *__restrict__ loads, T *bins,
                       long long n, int targets) {
    extern __shared__ char memory[];
    T *own = (T *)memory;
    for (int t = threadIdx.x; t < targets; t += blockDim.x) own[t] = 0;
    __syncthreads();
    const long long step = gridDim.x * (long long)blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step)
        atomicAdd(own + keys[i], loads[i]);
    __syncthreads();
    for (int t = threadIdx.x; t < targets; t += blockDim.x)
        if (own[t] != T(0)) atomicAdd(bins + t, own[t]);
}

template <typename T>
__global__ void direct(const int *__restrict__ keys, const T *__restrict__ loads, T *bins,
                       long long n, int targets) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(bins + keys[i], loads[i]);
}
"""


@es.kernel
def contribute(i, keys, loads, bins):
    bins[keys[i]] += loads[i]


def scatter(bench: Bench, d: Arrays) -> None:
    """Sums of integers and floats by key. Bytes are those of keys and contributions."""
    cupy = d.cupy
    names = {(how, t): f"{how}<{cpp}>" for how in ("shared", "direct")
             for t, cpp in CPP.items()}  # fmt: skip
    module = cupy.RawModule(
        code=SOURCE, options=("-std=c++17",), name_expressions=tuple(names.values())
    )
    processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    random = np.random.default_rng(2)
    for targets in TARGETS:
        keys = cupy.asarray(random.integers(0, targets, COUNT, dtype=np.int32))
        for dtype in CPP:
            loads = cupy.asarray(random.integers(1, 4, COUNT, dtype=np.int8)).astype(dtype)
            bins = cupy.zeros(targets, dtype)
            kernels = {how: module.get_function(names[how, dtype]) for how in ("shared", "direct")}
            _case(bench, d, keys, loads, bins, kernels, processors)


def _case(
    bench: Bench, d: Arrays, keys: Any, loads: Any, bins: Any, kernels: Any, processors: int
) -> None:
    cupy, targets = d.cupy, bins.size
    expected = cupy.bincount(keys, loads.astype(np.float64), minlength=targets).astype(bins.dtype)
    arguments = (keys, loads, bins, np.int64(keys.size), np.int32(targets))
    view = es.View(targets, bins.dtype, space=d.space, label="bins")
    buffers = es.ScatterView(view, space=d.space)

    def ours() -> Call:
        policy = es.RangePolicy(0, keys.size, space=d.space)
        keyed, loaded = d.view(keys), d.view(loads)
        return partial(es.parallel_for, policy, contribute, keyed, loaded, buffers.access())

    def check_ours(_: Any) -> None:
        es.deep_copy(view, 0)
        buffers.contribute(view)
        found = np.empty(targets, bins.dtype)
        es.deep_copy(found, view)
        all_equal(cupy.asarray(found), expected)

    def by_hand() -> dict[str, Call]:
        found: dict[str, Call] = {
            f"direct, block {block}": partial(
                kernels["direct"], (-(-keys.size // block),), (block,), arguments
            )
            for block in (128, 256)
        }
        nbytes = bins.nbytes
        for block in (256, 512, 1024):
            for each in (1, 2, 4):
                if nbytes <= SHARED:
                    found[f"shared, block {block}, {each} a processor"] = partial(
                        kernels["shared"], (each * processors,), (block,), arguments,
                        shared_mem=nbytes,
                    )  # fmt: skip
        return found

    def torch() -> Call:
        tensor = d.peers.tensor
        return partial(tensor(bins).index_add_, 0, tensor(keys), tensor(loads))

    def check(_: Any) -> None:
        all_equal(bins, expected)

    clear = lambda: bins.fill(0)  # noqa: E731
    bench.kernels(
        (4 + bins.itemsize) * keys.size,
        [
            Contestant(
                f"{targets} sums of {bins.dtype}", ours, check_ours, buffers.reset, ours=True
            ),
            Contestant("hand-written", by_hand, check, clear),
            Contestant("torch.index_add_", torch, check, clear),
        ],
    )
