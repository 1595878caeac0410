"""The rows: small operations of execspace, and what the libraries underneath take for the same.

Each row is a function that is timed in batches; what it needs is made once, before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.optional import (
    NotThere,
    cupy_on_device,
    library,
    torch_on_device,
)

from .chains import chains
from .peers import SIZE, launches_of_pyopencl, launches_on_cuda, launches_on_hosts
from .rows import DEVICES, Missing, Row, attempt


@es.kernel
def triad(i, x, y, z):
    x[i] = y[i] + 2.0 * z[i]


@es.kernel
def product(i, x, y):
    return x[i] * y[i]


def rows(space: es.ExecutionSpace) -> list[Row | Missing]:
    """The rows of a space."""
    on_host = es.HOST in space.memory_spaces
    kind = space.name.partition(":")[0]
    is_host = kind not in DEVICES  # OpenCL's device may be the host, but who uses it has pyopencl
    policy = es.RangePolicy(SIZE, space=space)

    def by(host: float | None, device: float | None) -> float | None:
        return host if on_host else device

    a, b, c = (es.View(SIZE, space=space) for _ in range(3))
    A = es.View((SIZE, SIZE), space=space)
    array = np.zeros(SIZE)
    result = es.View((), space=space)
    wait = space.fence
    bound = es.bind(policy, triad, a, b, c)
    found: list[Row | Missing] = [
        Row(
            "launch, 3 Views", lambda: es.parallel_for(policy, triad, a, b, c), drain=wait,
            group="launch",
        ),
        Row("launch, bound", bound, drain=wait, group="launch"),
        Row(
            "reduce to a number", lambda: es.parallel_reduce(policy, product, a, b), group="reduce"
        ),
        Row(
            "reduce into a View",
            lambda: es.parallel_reduce(policy, product, a, b, out=result),
            drain=wait,
        ),
        Row(
            "View", lambda: es.View(SIZE, space=space), target=by(2.0, 7.0), drain=wait,
            group="View",
        ),
        Row(
            "View, not initialized",
            lambda: es.View(SIZE, space=space, initialize=False),
            target=by(2.0, 4.0),
        ),
        Row("subview of rank 1", lambda: a[2:50], target=by(0.8, 2.0), group="subview"),
        Row("subview of rank 2", lambda: A[3, :], target=by(0.8, 2.0)),
        Row(
            "deep_copy", lambda: es.deep_copy(a, b), target=by(1.5, 14.0),
            group="copy" if is_host else "copy, wait",
        ),
        Row(
            "deep_copy from NumPy", lambda: es.deep_copy(a, array), target=by(None, 11.0),
            group="set",
        ),
        Row(
            "deep_copy to NumPy", lambda: es.deep_copy(array, a), target=by(None, 14.0),
            group="get",
        ),
        Row(
            "deep_copy on an instance", lambda: es.deep_copy(a, b, instance=space),
            target=by(None, 5.0), drain=wait, group="copy",
        ),
        Row(
            "fill by deep_copy", lambda: es.deep_copy(a, 1.0), target=by(1.0, None),
            group="fill" if is_host else "",
        ),
        Row(
            "fill on an instance", lambda: a.fill(1.0), target=by(None, 6.0), drain=wait,
            group="fill",
        ),
        Row("fence, idle", lambda: space.fence(), target=by(0.4, 2.5), group="fence"),
        Row("fence of all, idle", lambda: es.fence()),
        Row("RangePolicy", lambda: es.RangePolicy(SIZE, space=space), target=0.5),
        Row("MDRangePolicy", lambda: es.MDRangePolicy((1, 1), (9, 9), space=space), target=0.5),
        Row("TeamPolicy", lambda: es.TeamPolicy(4, 2, space=space), target=0.5),
    ]  # fmt: skip
    if on_host:
        one, two, three = (np.zeros(SIZE) for _ in range(3))
        found += [
            Row("launch, 2 Views, 1 array", lambda: es.parallel_for(policy, triad, a, b, one)),
            Row(
                "launch, 3 arrays", lambda: es.parallel_for(policy, triad, one, two, three),
                group="launch",
            ),
            _on_tensors(policy, lambda: library("torch"), "cpu", wait),
        ]  # fmt: skip
    if is_host:
        found += launches_on_hosts()
    found += _of_numpy(is_host)
    if kind == "opencl":
        found += [_in_buffers(space, policy, wait), *launches_of_pyopencl(space)]
    if kind == "cuda":
        found += launches_on_cuda()
        found += _of_cupy()
        found += _on_arrays(policy, a, b, wait)
        found.append(_on_tensors(policy, torch_on_device, "cuda", wait))
    return found + chains(space)


def _of_numpy(compared: bool) -> list[Row | Missing]:
    """NumPy's; where the space is a device they show what the interpreter takes."""
    x, y = np.zeros(SIZE), np.zeros(SIZE)
    calls: dict[str, tuple[Callable[[], Any], str]] = {
        "zeros": (lambda: np.zeros(SIZE), "View"),
        "slice": (lambda: x[2:50], "subview"),
        "copyto": (lambda: np.copyto(x, y), "copy"),
        "fill": (lambda: x.fill(1.0), "fill"),
        "dot": (lambda: x.dot(y), "reduce"),
    }
    return [
        Row(f"NumPy: {name}", call, True, group=group if compared else "")
        for name, (call, group) in calls.items()
    ]


def _of_cupy() -> list[Row | Missing]:
    """CuPy's, where it is installed."""
    try:
        cupy = cupy_on_device()
    except NotThere as reason:
        return [Missing("CuPy: empty, zeros, slice, copyto, set, get, fill, dot", str(reason))]
    x, y = (cupy.zeros(SIZE) for _ in range(2))
    host = np.zeros(SIZE)
    wait = cupy.cuda.get_current_stream().synchronize
    return [
        Row("CuPy: empty", lambda: cupy.empty(SIZE), True),
        Row("CuPy: zeros", lambda: cupy.zeros(SIZE), True, None, wait, "View"),
        Row("CuPy: slice", lambda: x[2:50], True, group="subview"),
        Row("CuPy: copyto", lambda: cupy.copyto(x, y), True, None, wait, "copy"),
        Row("CuPy: copyto, wait", lambda: (cupy.copyto(x, y), wait()), True, group="copy, wait"),
        Row("CuPy: set, wait", lambda: (x.set(host), wait()), True, group="set"),
        Row("CuPy: get", lambda: x.get(), True, group="get"),
        Row("CuPy: fill", lambda: x.fill(1.0), True, None, wait, "fill"),
        Row("CuPy: synchronize", wait, True, group="fence"),
        Row("CuPy: dot, to a number", lambda: float(x.dot(y)), True, group="reduce"),
    ]


def _in_buffers(space: Any, policy: Any, wait: Any) -> Row:
    """A launch on memory of the kind that pyopencl's own has, also where the device is the host."""
    a, b, c = (es.View(SIZE, space=space, memory="device") for _ in range(3))
    return Row(
        "launch, 3 Views in buffers", lambda: es.parallel_for(policy, triad, a, b, c), drain=wait,
        group="launch",
    )  # fmt: skip


def _on_arrays(policy: Any, a: Any, b: Any, wait: Any) -> list[Row | Missing]:
    """Launches of execspace on arrays of CuPy."""
    try:
        cupy = cupy_on_device()
    except NotThere as reason:
        return [Missing("launch, CuPy arrays", str(reason), peer=False)]
    x, y, z = (cupy.zeros(SIZE) for _ in range(3))
    return [
        Row(
            "launch, 2 Views, 1 CuPy array", lambda: es.parallel_for(policy, triad, a, b, z),
            drain=wait,
        ),
        Row(
            "launch, 3 CuPy arrays", lambda: es.parallel_for(policy, triad, x, y, z), drain=wait,
            group="launch",
        ),
    ]  # fmt: skip


def _on_tensors(policy: Any, of: Callable[[], Any], device: str, wait: Any) -> Row | Missing:
    """Launches of execspace on tensors of PyTorch."""
    name = "launch, 3 PyTorch tensors"

    def make() -> Row:
        torch = of()
        x, y, z = (torch.zeros(SIZE, dtype=torch.float64, device=device) for _ in range(3))
        return Row(
            name, lambda: es.parallel_for(policy, triad, x, y, z), drain=wait, group="launch"
        )

    return attempt(name, "launch", make)._replace(peer=False)
