"""Who takes part in the benchmarks of dense matrices, arrays that all know, and what is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from rich.table import Table

import execspace as es
from benchmarks.common.optional import cupy_on_device, library
from benchmarks.common.turns import Contestant, Maker, over, peers_of

DEVICES = ("cuda", "hip", "opencl")
_FEW = 4096  # work items that run at once, on what is no GPU
Call = Callable[[], Any]
Fetch = Callable[[], Any]


def kind_of(space: es.ExecutionSpace) -> str:
    """Whether sizes are those of devices or of hosts."""
    return "device" if space.name.partition(":")[0] in DEVICES else "host"


def contestant(name: str, call: Call, wait: Call, fetch: Fetch, expected: Any) -> Contestant:
    """One who computes what is expected, to rounding errors of the type."""
    rtol = 1e-10 if np.asarray(expected).dtype.itemsize >= 8 else 1e-3

    def check() -> None:
        call()
        wait()
        assert np.allclose(fetch(), expected, rtol=rtol), "the result is wrong"

    return Contestant(name, call, wait, check)


def filled(
    shape: tuple[int, ...], layout: str | None, space: es.ExecutionSpace, dtype: Any = np.float64
) -> es.View:
    """Numbers between 0 and 1, the same on all spaces, by a kernel: copies would take longer."""
    view = es.View(shape, dtype, layout=layout, space=space)
    if len(shape) == 1:
        es.parallel_for(es.RangePolicy(shape[0], space=space), _number, view)
    else:
        es.parallel_for(es.MDRangePolicy(shape, space=space), _numbers, view)
    return view


def _number(i: int, x: Any) -> None:
    x[i] = (i * 7919 % 10007) / 10007


def _numbers(i: int, j: int, x: Any) -> None:
    x[i, j] = ((i * 31 + j * 7919) % 10007) / 10007


def ours_of(
    space: es.ExecutionSpace, call: Callable[[bool | None], Any], fetch: Fetch, expected: Any,
    vendors: bool,
) -> dict[str, Maker]:  # fmt: skip
    """Ours; and what is taken without being told, where vendors have a routine."""
    found: dict[str, Maker] = {}
    for name, wish in (("execspace", False), ("execspace, auto", None)):
        if wish is False or vendors:
            found[name] = partial(
                contestant, name, partial(call, wish), space.fence, fetch, expected
            )
    return found


def peers(space: es.ExecutionSpace) -> dict[str, Any]:
    """Libraries with what takes an array of ours to them, and what waits for them."""
    name = space.name.partition(":")[0]
    if name == "cuda":
        return {"CuPy": _cupy, "PyTorch": _torch}
    if name in DEVICES:
        # An OpenCL device that is the host's processor has NumPy beside it.
        return {"NumPy": _numpy} if space.concurrency < _FEW else {}
    return {"NumPy": _numpy}


def _numpy(*views: es.View) -> tuple[Any, Any, Call]:
    arrays = [view.to_numpy() if view.memory_space is not es.HOST else view for view in views]
    return np, [np.asarray(array) for array in arrays], lambda: None


def _cupy(*views: es.View) -> tuple[Any, Any, Call]:
    cupy = cupy_on_device()
    return cupy, [cupy.asarray(view) for view in views], cupy.cuda.Device().synchronize


def _torch(*views: es.View) -> tuple[Any, Any, Call]:
    torch = library("torch")
    return torch, [torch.from_dlpack(view) for view in views], torch.cuda.synchronize


def with_peers(
    space: es.ExecutionSpace, ours: dict[str, Maker], views: Sequence[es.View], expected: Any,
    calls: Mapping[str, Callable[..., Any]],
) -> dict[str, Maker]:  # fmt: skip
    """Calls of libraries, which return what is compared or None for the last array."""

    def make(who: str) -> Contestant:
        lib, arrays, wait = peers(space)[who](*views)
        call = partial(calls.get(who, calls.get("", lambda *_: None)), lib, *arrays)

        def fetch() -> Any:
            found = call()
            found = arrays[-1] if found is None else found
            wait()
            return np.asarray(found.get() if who == "CuPy" else
                              found.cpu() if who == "PyTorch" else found)  # fmt: skip

        return contestant(who, call, wait, fetch, expected)

    who = [name for name in peers(space) if name in calls or "" in calls]
    return ours | {name: partial(make, name) for name in who}


def table(title: str, outcome: dict[str, dict[str, Any]], rate: str | None = None) -> Table:
    """What everybody took, with a rate such as "GB/s" if there is one, beside the fastest peer."""
    rates = () if rate is None else (rate,)
    found = Table("who", "ms", *rates, "of the fastest peer", title=title)
    fastest = min(peers_of(outcome), key=lambda who: outcome[who]["ms"], default=None)
    for who, one in outcome.items():
        ratio = over(outcome, who, fastest) if fastest else None
        what = one.get("error") or one.get("not_there")
        told = (str(one.get(name, "")) for name in rates)
        shown = "" if ratio is None else f"{ratio:.2f}"
        found.add_row(who, what or f"{one['ms']:.4f}", *told, shown)
    return found
