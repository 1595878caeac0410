"""Launches of a program that is precompiled: they compile, and compute nothing.

``execspace precompile`` puts a `Precompiler` in the place of `prepare`. Only the program knows its
types, captures and policies, so it runs, but its launches are skipped, or over empty ranges where
it needs a result. The thread that launches does what reads the program, a pool of threads the rest.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..base import config
from ..base.dataclass import dataclass
from ..base.errors import KernelError
from ..contract.launch_spec import LaunchSpec
from ..contract.space import CompilesInSteps, ExecutionSpace, Plan
from ..kernels.kernel import Kernel
from ..kernels.locks import LocksWanted
from ..plugins.probing import described
from ..profiling import tools
from ..views.deep_copy import may_overlap
from ..views.view import View
from . import prepare
from .locked import compiled_by
from .plan_around import PlanAround

THREADS = "execspace precompile"  # what the names of the threads that compile begin with


@dataclass
class Compilation:
    """What became of a launch.

    Attributes
    ----------
    kernel, space, pattern, types : str
        What was launched; without pattern and types if it was only compiled, as by `explain`.
    seconds : float
    from_disk : bool or None
        It was found in the cache on disk; None: the space does not tell.
    error : str
        Why there is no plan; empty if there is one, or if it was given up.
    plan : Plan or None
    """

    kernel: str
    space: str
    pattern: str = ""
    types: str = ""
    seconds: float = 0.0
    from_disk: bool | None = None
    error: str = ""
    plan: Plan | None = None


class _OnThread(threading.local):
    compilation: Compilation | None = None


class Precompiler:
    """Makes the plans of a program that is precompiled, and keeps account of them.

    Parameters
    ----------
    jobs : int
        Threads that compile.
    skips : bool
        False: launches compute as usual, and are compiled by the thread that launches.

    Attributes
    ----------
    compilations : list of Compilation
        In the order of the launches.
    """

    def __init__(self, jobs: int, skips: bool = True) -> None:
        self.skips = skips
        self.compilations: list[Compilation] = []
        self._threads: ThreadPoolExecutor | None = ThreadPoolExecutor(jobs, THREADS)
        self._process = os.getpid()
        self._now = _OnThread()

    def start(self) -> None:
        """Make the plans of this process from now on."""
        tools.attach(self)
        prepare.INSTEAD = self

    def finish(self, cancel: bool = False) -> None:
        """Wait for what is being compiled. Blocks. `cancel`: give up what is not begun.

        Later launches, such as those of functions that run at exit, are skipped as before.
        """
        threads, self._threads = self._threads, None
        if threads is not None:
            try:
                threads.shutdown(wait=True, cancel_futures=cancel)
            except KeyboardInterrupt:  # Python would wait for the rest when it ends
                threads.shutdown(wait=False, cancel_futures=True)
                raise

    def on_compile(self, kernel: str, space: str, seconds: float, from_disk: bool) -> None:
        """An event of profiling: all that is compiled, also by `explain`."""
        now = self._now.compilation
        if now is not None and now.from_disk is None:
            now.from_disk = from_disk
        elif now is not None:  # one more for the same launch, such as for Views that overlap
            self.compilations.append(replace(now, seconds=seconds, from_disk=from_disk, plan=None))
        else:
            self.compilations.append(Compilation(kernel, space, "", "", seconds, from_disk))

    # -- plans ------------------------------------------------------------------------------------

    def __call__(self, call: prepare.Call) -> Plan:
        """The plan of a launch."""
        space, kernel, spec = prepare.asked(call)
        made = Compilation(_name(kernel), space.name, spec.pattern, _types(spec))
        self.compilations.append(made)
        try:
            if not self.skips:
                plan = self._compiled(made, space, kernel, spec)
                return prepare.launching(plan, kernel, spec)
            job = self._begun(made, space, kernel, spec)
            if spec.pattern != "for":  # the program needs the result
                job.result()
        except KernelError as error:
            if not self.skips or spec.pattern != "for":
                raise prepare.without_frames(error) from error.__cause__
            job = _failed(error.with_traceback(None))  # whose frames have Views
        return SkippedPlan(self, made, space, kernel, spec, job)

    def _begun(
        self, made: Compilation, space: ExecutionSpace, kernel: Kernel, spec: LaunchSpec
    ) -> Future[Plan]:
        """A plan that may still be in the making."""
        threads = self._threads
        in_steps = isinstance(space, CompilesInSteps) and not spec.team_array
        if threads is None or not self.is_here or not in_steps:
            return _done(self._compiled(made, space, kernel, spec))
        try:
            with self._timed(made):
                second = space.begin_compile(kernel, spec)  # type: ignore[attr-defined]
        except LocksWanted:
            return _done(self._compiled(made, space, kernel, spec))
        try:
            return threads.submit(self._ended, made, space, kernel, second)
        except RuntimeError:  # another thread has just begun to `finish`
            return _done(self._ended(made, space, kernel, second))

    def _compiled(
        self, made: Compilation, space: ExecutionSpace, kernel: Kernel, spec: LaunchSpec
    ) -> Plan:
        return self._ended(made, space, kernel, lambda: compiled_by(space, kernel, spec))

    def _ended(
        self, made: Compilation, space: ExecutionSpace, kernel: Kernel, last: Callable[[], Plan]
    ) -> Plan:
        """The plan that the last step of compilation gives."""
        with self._timed(made):
            plan = prepare.checked(last(), space, kernel)
        made.plan = plan
        return plan

    @property
    def is_here(self) -> bool:
        """Whether this is the process that was started, and no child, which has no such threads."""
        return os.getpid() == self._process

    @contextmanager
    def _timed(self, made: Compilation) -> Iterator[None]:
        """A step of a compilation."""
        begun = time.perf_counter()
        try:
            with self.of(made):
                yield
        except LocksWanted:  # it is compiled again
            raise
        except Exception as error:
            made.error = described(error)
            raise
        finally:
            made.seconds += time.perf_counter() - begun

    @contextmanager
    def of(self, made: Compilation) -> Iterator[None]:
        """What this thread compiles within belongs to that launch."""
        before, self._now.compilation = self._now.compilation, made
        try:
            yield
        finally:
            self._now.compilation = before


def _done(plan: Plan) -> Future[Plan]:
    job: Future[Plan] = Future()
    job.set_result(plan)
    return job


def _failed(error: Exception) -> Future[Plan]:
    job: Future[Plan] = Future()
    job.set_exception(error)
    return job


class SkippedPlan(PlanAround):
    """A plan whose launches compute nothing. It may still be in the making."""

    def __init__(
        self, owner: Precompiler, made: Compilation, space: ExecutionSpace, kernel: Kernel,
        spec: LaunchSpec, job: Future[Plan],
    ) -> None:  # fmt: skip
        self.space, self.spec = space, spec
        self._owner, self._made, self._kernel, self._job = owner, made, kernel, job
        self._is_tuned, self._in_steps = config.is_tuned(), isinstance(space, CompilesInSteps)
        self._chosen: set[Any] = set()

    @property
    def inner(self) -> Plan:  # type: ignore[override]  # which may not be there yet
        """The compiled plan. Blocks."""
        error = self._error
        if error is not None:
            raise error.with_traceback(None)  # the frames of earlier launches have Views
        return self._job.result()

    @property
    def _error(self) -> BaseException | None:
        """Why there is no plan. Blocks until there might be one."""
        if not self._job.done() and not self._owner.is_here:  # nobody works at it here
            self._job = _done(compiled_by(self.space, self._kernel, self.spec))
        return self._job.exception()

    def launch(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """As `Plan.launch`, over an empty range: a result is the identity."""
        with self._owner.of(self._made):
            if not self._in_steps and self._error is None:
                self.inner.ready(bounds, args)
            if self._is_tuned:
                self._choose(bounds, args)
            # On hosts, Views that overlap have a plan of their own.
            if self.spec.pattern != "for" or _overlap(args):
                return self._on_nothing(bounds, args)

    def launch_as(self, label: str, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """As `Plan.launch_as`."""
        return self.launch(bounds, args)

    def ready(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> None:
        """Nothing: that of the compiled plan is called by `launch`."""

    def _on_nothing(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        if self.spec.pattern == "for" and self._error is not None:  # it is in the report
            return None
        rank = self.spec.policy.rank
        lower, tile = bounds[:rank], bounds[2 * rank :]
        return self.inner.launch((*lower, *lower, *tile), args)

    def _choose(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> None:
        """Compile what is tuned for such a launch, too."""
        key = (bounds, *[a.shape for a in args if type(a) is View])
        if key not in self._chosen and self._error is None:
            self._chosen.add(key)
            prepare.tuned(self.inner, self._kernel, self.spec).chosen(bounds, args)


def _overlap(args: tuple[Any, ...]) -> bool:
    """Whether two Views of a launch may have elements in common."""
    views = [a for a in args if type(a) is View]
    return any(
        a.memory_space is b.memory_space and may_overlap(a, b)
        for n, a in enumerate(views)
        for b in views[:n]
    )


def _name(kernel: Kernel) -> str:
    """The name of a kernel; of a lambda with its line."""
    line = kernel.fn.__code__.co_firstlineno
    return f"{kernel.name}:{line}" if kernel.name == "<lambda>" else kernel.name


def _types(spec: LaunchSpec) -> str:
    """Types of arguments, without what nearly all of them have in common."""
    shown = (str(a).partition("@")[0] for a in (*spec.arguments, *spec.out))
    return ", ".join(s.removeprefix("weak ").replace(",right", "") for s in shown)
