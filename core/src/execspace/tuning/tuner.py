"""tune: the search for one launch, kept on disk, and what it found as a record."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import profiling
from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import LaunchError, PolicyError
from ..base.flags import flag
from ..base.locks import new_rlock
from ..contract.records import Choice
from ..events.recording import refuse_waiting
from ..kernels.kernel import Kernel
from ..launch import prepare
from ..views.view import View
from . import store
from .choices import DEFAULT, candidate_generators, extents_of, is_open, policy_with
from .identity import device_name, kernel_key, shapes_of
from .launches import Launch, Plans, Saved
from .progress import progress_bar
from .search import Found, Measured, Search

__all__ = [
    "Tuning",
    "tune",
]

_SECONDS = 30.0
_searching = new_rlock()


@dataclass(frozen=True, slots=True)
class Tuning:
    """What `tune` found.

    Attributes
    ----------
    kernel, space, device, shapes : str
        Names, and the class of shapes that the choice is for.
    choice : Choice
        Empty if the default stays.
    policy : RangePolicy, MDRangePolicy, TeamPolicy or None
        The policy that was given, with the choice: launches with it need nothing from disk. None
        for a launch that was tuned by EXECSPACE_TUNE=1.
    default_seconds, seconds : float
        Medians of a launch without the choice and with it, measured beside each other.
    candidates : tuple of Measured
        All choices that were measured, with the time of a launch or why it is refused.
    complete : bool
        False if the time limit ended the search.
    record : Record
        What is kept on disk.
    """

    kernel: str
    space: str
    device: str
    shapes: str
    choice: Choice
    policy: Any
    default_seconds: float
    seconds: float
    candidates: tuple[Measured, ...]
    complete: bool
    record: store.Record

    @property
    def speedup(self) -> float:
        """How many times as fast as the default; 1 where that stays."""
        return self.default_seconds / self.seconds

    def __str__(self) -> str:
        usable = sorted((c for c in self.candidates if not c.refused), key=lambda c: c.seconds)
        what = "the default stays" if self.choice == DEFAULT else str(self.choice)
        lines = [
            f"kernel '{self.kernel}' on {self.device}, shapes {self.shapes}: {what}, "
            f"{1e3 * self.seconds:.4g} ms; default {1e3 * self.default_seconds:.4g} ms "
            f"({self.speedup:.2f} times as fast)"
        ]
        lines += [f"  {1e3 * c.seconds:10.4g} ms  {c.choice}" for c in usable[:10]]
        refused = len(self.candidates) - len(usable)
        rest = len(usable) - 10
        lines += [f"  and {rest} slower ones"] if rest > 0 else []
        lines += [f"  {refused} refused by the space"] if refused else []
        lines += [] if self.complete else ["  the time limit ended the search: seconds=..."]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from ..base import html

        what = "the default stays" if self.choice == DEFAULT else str(self.choice)
        note = (
            f"{1e3 * self.seconds:.4g} ms; default {1e3 * self.default_seconds:.4g} ms "
            f"({self.speedup:.2f} times as fast)"
        )
        usable = sorted((c for c in self.candidates if not c.refused), key=lambda c: c.seconds)
        fastest = usable[0].seconds if usable else 0.0
        rows: list[list[html.Cell]] = [
            [
                f"{1e3 * c.seconds:.4g}",
                html.tinted(f"{c.seconds / fastest:.2f}", fastest / c.seconds),
                str(c.choice),
            ]
            for c in usable
        ]
        refused = [[str(c.choice), c.refused] for c in self.candidates if c.refused]
        parts = [
            html.paragraph(
                f"Kernel '{self.kernel}' on {self.device}, shapes {self.shapes}: {what}", "head"
            ),
            html.paragraph(note),
        ]
        if not self.complete:
            parts.append(html.paragraph("The time limit ended the search: seconds=...", "faint"))
        parts.append(
            html.table(
                ["ms", "to the fastest", "choice"], rows, title="Candidates",
                note="their fastest launches", right=(0, 1),
            )
        )  # fmt: skip
        if refused:
            parts.append(
                html.table(["choice", "why"], refused, title="Refused by the space", wrap=(1,))
            )
        return html.page(*parts)


def tune(
    policy: Any,
    kernel: Kernel | Callable[..., Any],
    /,
    *args: Any,
    pattern: str = "for",
    reducer: Any = None,
    out: View | tuple[View, ...] | None = None,
    seconds: float = _SECONDS,
    keep: bool = True,
    progress: bool | None = None,
) -> Tuning:
    """Find the fastest tile, calls of a thread, block, or team size for a launch, by measurement.

    Launches it many times; afterwards all Views are what they were. Later launches of this kernel
    with such arguments and about this shape, on this device, use what was found, also in other
    processes, unless EXECSPACE_TUNE=0. Options that the policy gives stay as they are. Blocks.

    Parameters
    ----------
    policy, kernel, *args
        As for `parallel_for`.
    pattern : {"for", "reduce", "scan"}, default "for"
    reducer, out
        As for `parallel_reduce`. Given a reducer, the pattern "for" means "reduce".
    seconds : float, default 30
        After this time no further candidate is begun.
    keep : bool, default True
        Keep what is found on disk, in place of what was kept before.
    progress : bool, optional
        Show a bar on standard error; by default where that is a terminal.

    Returns
    -------
    Tuning
        Its `policy` has the choice; `print` shows what was measured.

    Raises
    ------
    PolicyError
        If the policy leaves nothing open, or the range is empty.
    LaunchError
        If the kernel prints, or an argument of this function makes no sense.
    MemoryError
        If there is no memory for copies of the Views that the kernel changes.
    OSError
        If what is found cannot be written.

    Notes
    -----
    The default stays unless another choice wins three of four launches beside it, and two percent
    of the time. Reductions with another size of block join in another order, so results of floats
    may differ in their last digits from those before.

    As the tuners of Kokkos' team sizes and tiles, which need a tool of their own:
    https://kokkos.org/kokkos-core-wiki/API/core/tuning.html

    Examples
    --------
    >>> import execspace as es
    >>> @es.kernel
    ... def scale(i, j, x):
    ...     x[i, j] *= 2.0
    >>> x = es.View((64, 64), label="x")
    >>> found = es.tune(es.MDRangePolicy((64, 64)), scale, x, keep=False)
    >>> found.seconds <= found.default_seconds
    True
    """
    refuse_waiting("es.tune, which measures launches,")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise LaunchError(f"tune: seconds={brief(seconds)}; expected a number above 0.")
    keep = flag(keep, "keep", "tune", LaunchError)
    progress = None if progress is None else flag(progress, "progress", "tune", LaunchError)
    found = prepare.planned(
        policy, kernel, args, pattern, reducer, out, with_tuned=False, with_elements=True
    )
    plans = Plans(found.plan, found.kernel, found.spec)
    launch = Launch(plans, found.bounds, found.arguments)
    spec = found.spec.policy
    if not is_open(spec):
        raise PolicyError(
            f"tune: the policy {policy!r} gives what could be chosen; leave out tile=, "
            f"items_per_thread= and launch_bounds=, or a size of teams."
        )
    if not all(extents_of(spec, launch.bounds)):
        raise PolicyError(f"tune: the range of {policy!r} is empty; there is nothing to measure.")
    effects = found.plan.effects
    if effects is not None and effects.prints:
        raise LaunchError(
            f"tune: kernel '{found.kernel.name}' prints, which each of many launches would do; "
            f"take es.printf out of it while it is tuned."
        )
    if prepare.INSTEAD is not None and prepare.INSTEAD.skips:
        return _unmeasured(launch, policy)
    tuning = tune_launch(launch, policy, float(seconds), keep, progress)
    if keep:  # plans that were made before look for it, too
        found.owner.forget(found.spec)
    return tuning


def tune_launch(
    launch: Launch,
    policy: Any = None,
    seconds: float = _SECONDS,
    keep: bool = True,
    progress: bool | None = None,
) -> Tuning:
    """Search for a compiled launch; parameters and errors as of `tune`."""
    space, plans = launch.space, launch.plans
    name = plans.kernel.name
    stages = candidate_generators(space, plans.default, launch.bounds)
    # One at a time: two searches would measure, and put back, each other's Views.
    with (
        _one_search(),
        profiling.region(f"tuning of {name}"),
        progress_bar(f"tuning {name}", progress) as tell,
    ):
        saved = Saved(launch)
        try:
            found = Search(launch, saved, seconds, tell).run(stages)
        finally:
            saved.restore()
    tuning = _tuning(launch, policy, found)
    if keep:
        keep_record(launch, tuning.record)
    return tuning


def _unmeasured(launch: Launch, policy: Any) -> Tuning:
    """While the program is precompiled: Views hold nothing that a kernel could be launched on."""
    return _tuning(launch, policy, Found(DEFAULT, math.nan, math.nan, (), False))


class _Thread(threading.local):
    searching = False


_thread = _Thread()


def is_searching() -> bool:
    """Whether this thread is within a search, whose own copies shall not be tuned."""
    return _thread.searching


@contextmanager
def _one_search() -> Iterator[None]:
    with _searching:
        before, _thread.searching = _thread.searching, True
        try:
            yield
        finally:
            _thread.searching = before


def keep_record(launch: Launch, record: store.Record) -> None:
    """Keep what was found for a launch; OSError if it cannot be written."""
    key = kernel_key(launch.plans.kernel, launch.plans.spec)
    store.keep(device_name(launch.space), store.key_of(key, record.shapes), record)


def _tuning(launch: Launch, policy: Any, found: Found) -> Tuning:
    chosen = None if policy is None else policy_with(policy, found.choice)
    name, spec = launch.plans.kernel.name, launch.plans.spec
    shapes = shapes_of(launch.policy, launch.bounds, launch.arguments)
    record = store.Record(
        name, shapes, ", ".join(map(str, spec.arguments)), found.choice, found.default_seconds,
        found.seconds, time.strftime("%Y-%m-%dT%H:%M:%S"),
    )  # fmt: skip
    return Tuning(
        name, launch.space.name, device_name(launch.space), shapes, found.choice, chosen,
        found.default_seconds, found.seconds, found.candidates, found.complete, record,
    )  # fmt: skip
