"""`es.Graph`: what a program launches again and again, recorded or put together of nodes.

A graph belongs to a space. It keeps what it uses alive: Views, arrays and compiled plans.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from ..base.brief import brief
from ..base.errors import LaunchError
from ..contract.space import ExecutionSpace
from ..events import recording
from ..launch.bound import bind
from ..plugins.selection import default_space, resolve, use_space
from ..plugins.started import note
from ..views.view import View
from .copies import copy_step
from .fusing import check_temporary
from .loops import Loop, checked_flag
from .node import AnyGraph, GraphNode, runs_nothing
from .recorder import Recorder, launch_step
from .steps import Definition, Step, name_of, walk

if TYPE_CHECKING:
    from .running import GraphExec

__all__ = [
    "Graph",
    "is_recorded",
    "library_call",
]


def is_recorded() -> bool:
    """Whether what this thread launches now is recorded for a graph, and does not run yet.

    For libraries whose functions do something beside launches. Does not block.

    Examples
    --------
    >>> import execspace as es
    >>> with es.Graph("serial"):
    ...     es.is_recorded()
    True
    >>> es.is_recorded()
    False
    """
    return recording.current() is not None


def library_call(
    name: str, function: Callable[[], object], *, space: str | ExecutionSpace | None = None
) -> None:
    """Call a function at once; while a graph is recorded, have each submission call it instead.

    For libraries whose functions do something beside launches, such as messages.

    Parameters
    ----------
    name : str
        The label of the node.
    function : callable without arguments
        What it does is in order with the space, by streams or because it waits for it: the graph
        does not wait. Of what it finds beforehand it keeps Views, not addresses, which `resize` and
        `realloc` change.
    space : str or ExecutionSpace, optional
        The space, or the instance, that it works on; that of the graph if not given.

    Raises
    ------
    LaunchError
        If there is no such function, or a call of it would run nothing, as one of a coroutine.
    SpaceError
        If a graph is recorded for another space or instance.

    Notes
    -----
    Blocks as the function does. What was recorded before it, and after it, is not run at the same
    time. Kokkos has `cuda_capture` and `hip_capture`, for nodes of what a library enqueues on a
    stream: https://kokkos.org/kokkos-core-wiki/ProgrammingGuide/Graph.html

    Examples
    --------
    >>> import execspace as es
    >>> told = []
    >>> with es.Graph("serial") as graph:
    ...     es.library_call("tell", lambda: told.append("now"))
    >>> told
    []
    >>> graph.submit()
    >>> told
    ['now']
    """
    where = space if space is None else resolve(space)
    if recording.current() is None and callable(function):
        function()
        return
    if not callable(function) or runs_nothing(function):
        raise LaunchError(
            f"library_call '{name}': {brief(function)}; expected a function that does its work "
            f"when it is called without arguments."
        )
    recording.as_one(name_of("library_call", name, "library"), function, where)


class Graph(AnyGraph):
    """Launches and copies that are made once, and submitted any number of times.

    Within ``with graph:`` what this thread launches and copies is recorded and does not run; what
    depends on what follows from the Views that kernels read and write. Or nodes are added by
    `then`, `then_reduce`, `then_scan`, `then_copy` and `then_host`, each after those that one
    names. Both may be mixed.

    Parameters
    ----------
    space : str or ExecutionSpace, optional
        Where it runs; it may be an instance. The default space if not given. Within ``with`` it is
        the default space.
    label : str, default "graph"
        Its name for profiling tools.

    Notes
    -----
    Numbers, global names and captured values are what they were when a launch was added. Views
    that are made while a graph is recorded are made at once, and their first elements are not made
    again by a submission: fill them in the graph, with `deep_copy`. A reduction needs ``out=``.

    Kokkos: https://kokkos.org/kokkos-core-wiki/ProgrammingGuide/Graph.html

    Examples
    --------
    >>> import execspace as es
    >>> def scale(i, x, s):
    ...     x[i] *= s
    >>> def add(i, x, y):
    ...     x[i] += y[i]
    >>> x, y = es.ones(4, space="serial"), es.ones(4, space="serial")
    >>> with es.Graph("serial") as graph:
    ...     es.parallel_for(4, scale, x, 2.0)
    ...     es.parallel_for(4, add, x, y)
    >>> ready = graph.instantiate()
    >>> for _ in range(3):
    ...     ready.submit()
    >>> x.to_numpy()
    array([15., 15., 15., 15.])
    """

    def __init__(self, space: str | ExecutionSpace | None = None, *, label: str = "graph") -> None:
        if not isinstance(label, str) or not label:
            raise LaunchError(f"Graph: label={brief(label)}; expected a text.")
        self.space = default_space() if space is None else resolve(space)
        self.label = label
        self.definition = Definition(self.space, label)
        self._steps = self.definition.steps
        self._open: list[list[Step]] = [self._steps]  # the innermost loop is last
        self._ready: GraphExec | None = None  # of `submit`
        self._is_instantiated = False
        self._recording: ExitStack | None = None
        self._before_recording = 0

    @property
    def graph(self) -> Graph:
        return self

    def _before(self) -> tuple[Step, ...]:
        return ()

    @property
    def nodes(self) -> tuple[GraphNode, ...]:
        """Its nodes, in the order in which they were added."""
        return tuple(GraphNode(self, step) for step in self._steps)

    def __getitem__(self, label: str) -> GraphNode:
        """The node of a label, also within loops: that of its launch, or the name of its kernel.

        Raises
        ------
        LaunchError
            If there is none, or there are several.
        """
        found = [step for step in walk(self._steps) if step.label == label]
        if len(found) != 1:
            known = ", ".join(dict.fromkeys(repr(step.label) for step in walk(self._steps)))
            raise LaunchError(
                f"{self} has {len(found) or 'no'} node{'s' * (len(found) > 1)} with the label "
                f"{label!r}; expected one. Labels are: {known or 'none'}; give launches a label= "
                f"of their own."
            )
        return GraphNode(self, found[0])

    # -- recording --------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        if self._recording is not None:
            raise LaunchError(f"{self} is being recorded already; leave its with block first.")
        self._check_open()
        self._before_recording = len(self._steps)
        with ExitStack() as stack:
            stack.enter_context(use_space(self.space))
            stack.enter_context(recording.recording(Recorder(self, self.space, self._add)))
            self._recording = stack.pop_all()
        return self

    def __exit__(self, *failure: object) -> None:
        stack, self._recording = self._recording, None
        if stack is None:
            raise LaunchError(f"{self} is not being recorded; write `with graph:`.")
        stack.close()
        if failure[0] is not None:  # half of what was to be recorded would be worse than nothing
            del self._steps[self._before_recording :]
            self._open[:] = [self._steps]
            self.definition.version += 1

    # -- loops ------------------------------------------------------------------------------------

    def repeat(self, count: int) -> AbstractContextManager[None]:
        """Record nodes that each submission runs `count` times: ``with graph.repeat(10): ...``."""
        try:
            times = -1 if isinstance(count, bool) else operator.index(count)
        except TypeError:
            times = -1
        if times < 0:
            raise LaunchError(f"{self}: repeat({brief(count)}); expected a number of times.")
        return self._loop(Loop("repeat", count=times))

    def while_(self, flag: View) -> AbstractContextManager[None]:
        """Record nodes that run again for as long as the one element of a View is not zero.

        It is read before each turn, which waits for the space; so a submission blocks.
        """
        return self._loop(Loop("while", flag=checked_flag(self, "while_", flag)))

    def if_(self, flag: View) -> AbstractContextManager[None]:
        """Record nodes that run if the one element of a View is not zero; read as by `while_`."""
        return self._loop(Loop("if", flag=checked_flag(self, "if_", flag)))

    @contextmanager
    def _loop(self, loop: Loop) -> Iterator[None]:
        recorder = recording.current()
        if not isinstance(recorder, Recorder) or recorder.who is not self:
            raise LaunchError(
                f"{self}: a loop takes what is recorded in it; write it within `with graph:`."
            )
        self._open.append(loop.steps)
        try:
            yield
        finally:
            self._open.pop()
        self._add(Step("loop", loop.kind, None, loop))

    # -- adding -----------------------------------------------------------------------------------

    def _bind(
        self,
        after: tuple[Step, ...],
        policy: Any,
        kernel: Any,
        args: tuple[Any, ...],
        pattern: str,
        reducer: Any,
        out: Any,
        label: str | None,
    ) -> GraphNode:
        with use_space(self.space):
            bound = bind(
                policy, kernel, *args, pattern=pattern, reducer=reducer, out=out, label=label
            )
        return self._add(launch_step(self, self.space, bound, label, after))

    def _copy_after(
        self, after: tuple[Step, ...], dst: Any, src: Any, label: str | None, casting: str
    ) -> GraphNode:
        return self._add(copy_step(self, self.space, dst, src, label, after, casting))

    def _host_after(
        self,
        after: tuple[Step, ...],
        function: Callable[..., object],
        args: tuple[Any, ...],
        label: str | None,
    ) -> GraphNode:
        if not callable(function):
            raise LaunchError(f"{self}: then_host of {brief(function)}; expected a function.")
        if runs_nothing(function):
            raise LaunchError(
                f"{self}: then_host of {brief(function)}: a call of it makes a coroutine or a "
                f"generator, and runs nothing; expected a function that does its work when called."
            )
        name = name_of(self, label, str(getattr(function, "__name__", type(function).__name__)))
        return self._add(Step("host", name, after, partial(function, *args)))

    def _add(self, step: Step) -> GraphNode:
        self._check_open()
        self._open[-1].append(step)
        self.definition.version += 1
        return GraphNode(self, step)

    def _check_open(self) -> None:
        if self._is_instantiated:
            raise LaunchError(
                f"{self} was instantiated, and takes no further nodes; make another graph. "
                f"Arguments of its launches can be exchanged: graph['label'].exchange(...)."
            )

    # -- running ----------------------------------------------------------------------------------

    def instantiate(self, *, fuse: bool = False, temporary: Sequence[View] = ()) -> GraphExec:
        """Make the graph ready to be submitted; it takes no further nodes.

        Parameters
        ----------
        fuse : bool, default False
            Compile neighbouring launches over one range into one kernel where that is safe, see
            `es.fuse`. Results are the same to the bit.
        temporary : sequence of View, default ()
            Views that nothing but this graph reads. Where all that use one are fused, it is not
            stored, and its elements are left as they are.

        Raises
        ------
        LaunchError, KernelTypeError, BackendCompileError
        """
        from .running import GraphExec

        self._check_recorded("instantiated")
        check_temporary("instantiate", temporary)
        if temporary and not fuse:
            raise LaunchError(
                f"{self}: instantiate(temporary=...) without fuse=True: Views are stored unless "
                f"launches are fused; give fuse=True, too."
            )
        made = GraphExec(self.definition, fuse=fuse, temporary=temporary)
        self._is_instantiated = True
        return made

    def submit(self) -> None:
        """Run the graph, instantiated as it is at the first time; as `GraphExec.submit`."""
        if self._ready is None:
            self._ready = self.instantiate()
        self._ready.submit()

    def _check_recorded(self, what: str) -> None:
        if self._recording is not None:
            raise LaunchError(f"{self} cannot be {what} while it is recorded; end that first.")
        note(self.space)

    def __reduce__(self) -> Any:
        raise TypeError(f"{self} cannot be pickled: it holds memory and code of this process.")

    def __repr__(self) -> str:
        count = len(self._steps)
        nodes = f"{count} node{'s' * (count != 1)}"
        return f"<graph '{self.label}' of {nodes} on '{self.space.name}'>"
