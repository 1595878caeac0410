"""Reductions and scans that are waited for later: ``blocking=False``.

The numbers of the result go to a View in memory of the space, as with ``out=``. An event tells when
they are there. Spaces whose launches are done when they return launch as ever.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np

from ..base import pending
from ..base.errors import LaunchError
from ..base.forks import forks_wait
from ..base.waiting import never_waits
from ..contract.memory import MemorySpace
from ..contract.ordering import Event
from ..contract.records import ReductionResult
from ..contract.space import ExecutionSpace, TellsResults
from ..events.recording import current
from ..kernels.kernel import kernel_of
from ..reducers.base import as_reducer
from ..views.deep_copy import deep_copy
from ..views.view import View
from .locked import result_by
from .nested_policy import Nested
from .policy_argument import policy_of
from .prepare import KERNEL_FAULTS, Call, asked, key_of, launch, sorted_out, without_frames

__all__ = ["Future"]

_LABEL = "es.Future"


@final
class Future:
    """What a reduction or scan will have given, of a launch with ``blocking=False``.

    Any number of threads may ask. Until it is asked for the result it keeps the memory of that, and
    nothing else.

    Examples
    --------
    >>> import execspace as es
    >>> later = es.parallel_reduce(5, lambda i: (i, -i), reducer=(es.Sum, es.Min), blocking=False)
    >>> later.result()
    (10, -4)
    """

    __slots__ = ("__weakref__", "_event", "_lock", "_read", "_value")

    def __init__(self, event: Event, read: Callable[[], Any] | None, value: Any = None) -> None:
        self._event, self._read, self._value = event, read, value
        self._lock = threading.Lock()

    @property
    def done(self) -> bool:
        """Whether the launch is done, so that `result` need not wait for it; does not block.

        As `Event.done`: of a space that cannot tell False until somebody has waited.
        """
        return self._event.done

    def result(self) -> Any:
        """What the launch would have returned without ``blocking=False``; blocks.

        It waits for this launch and for what the space was given before it, and for nothing that
        came later where the space has events. Of a launch with ``out=`` it is None, and the Views
        have their numbers. Raises what the work has raised.
        """
        with self._lock:
            self._event.wait(_LABEL)
            if self._read is not None:
                self._value = self._read()
                self._read = None
            return self._value

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} is neither true nor false; ask for its result() or done.")

    def __float__(self) -> float:
        raise TypeError(f"{self!r} is no number yet; ask for its result().")

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: it is work of this process. Pickle its result()."
        )

    def __repr__(self) -> str:
        return f"<future on execution space '{self._event.space.name}'>"


def launch_for_later(
    pattern: str,
    policy: Any,
    kernel: Any,
    args: tuple[Any, ...],
    label: str | None,
    reducer: Any,
    out: Any,
) -> Future:
    """Launch a reduction or scan, and return the future of its result.

    Raises what `parallel_reduce` raises, and LaunchError within a kernel that plain Python runs.
    """
    if isinstance(policy, Nested):
        raise LaunchError(
            f"parallel_{pattern} of a {type(policy).__name__} is a part of the kernel around it, "
            f"and has no future; leave out blocking=False."
        )
    if (recorder := current()) is not None:
        raise recorder.refuse(
            f"parallel_{pattern} with blocking=False has a result for later, which nobody knows "
            f"before the graph has run",
            "give a View for it, out=es.View(())",
        )
    if reducer is None:  # which means Sum to `sorted_out`, for explain
        as_reducer(reducer)
    target, scope = kernel_of(kernel)
    policy_key, bounds = policy_of(policy, pattern)
    call = sorted_out(pattern, policy_key, bounds, target, scope, args, reducer, out)
    if out is not None:
        launch(call, policy, label)
        return Future(call.names.plans[call.key].space.record(), None)
    known = call.names.results.get(call.key)
    if known is None:
        known = call.names.results[call.key] = _looked_at(call)
    if known.result is None:
        value = launch(call, policy, label)
        return Future(known.space.record(), None, value)
    view = _view_for(known.result, known.space)
    launch(_with_out(call, reducer, view), policy, label)
    return Future(known.space.record(), partial(_read, known.result, known.space, view))


class _Known(NamedTuple):
    """Where a launch runs, and what it gives; None if it is as well launched without a View."""

    space: ExecutionSpace
    result: ReductionResult | None = None


def _view_for(result: ReductionResult, space: ExecutionSpace) -> View:
    """A View that the numbers of a result fit into."""
    dtype = result.dtypes[0]
    if len(result.dtypes) > 1:
        dtype = np.dtype([(f"n{n}", t) for n, t in enumerate(result.dtypes)], align=True)
    return View(
        result.shape or (), dtype, label=_LABEL, space=space, memory=result.memory, layout="right",
        initialize=False,
    )  # fmt: skip


def _read(result: ReductionResult, space: ExecutionSpace, view: View) -> Any:
    """The result, of which the numbers are in a View."""
    if view.memory_space.host_accessible:
        found = view.memory_space.host_array(view).copy()
    else:
        found = np.empty(view.shape, view.dtype)
        queue = _reader_of(view.memory_space, space)
        deep_copy(found, view, instance=queue)
        queue.fence(_LABEL)
    if result.shape is not None:
        return found
    numbers = found.item()
    return result.make(numbers if len(result.dtypes) > 1 else (numbers,))


def _looked_at(call: Call) -> _Known:
    """What there is to know of a launch before it has a View for its result."""
    space, kernel, spec = asked(call)
    waits = not never_waits(space) or pending.watches(space)
    if not waits or not isinstance(space, TellsResults):
        return _Known(space)
    try:
        with forks_wait():
            result = result_by(space, kernel, spec)
    except KERNEL_FAULTS as error:
        raise without_frames(error) from error.__cause__
    return _Known(space, result)


def _with_out(call: Call, reducer: Any, view: View) -> Call:
    """The call with a View for its result."""
    old = key_of(call.pattern, call.policy, reducer, ())
    new = key_of(call.pattern, call.policy, reducer, (view,))
    return call._replace(
        key=(*new, *call.key[len(old) :]), arguments=(*call.arguments, view), out=(view,)
    )


# A queue of its own for each memory, so that a result waits for nothing that was launched later.
_readers: weakref.WeakKeyDictionary[MemorySpace, ExecutionSpace] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def _reader_of(memory: MemorySpace, space: ExecutionSpace) -> ExecutionSpace:
    with _lock:
        found = _readers.get(memory)
        if found is None:
            found = _readers[memory] = space.instance()
        return found
