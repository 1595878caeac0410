"""Tools around other tools: they pass events on, but for launches that they leave out."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..base.locks import new_rlock
from ..events.dispatch import Call
from ..events.work import Work
from .runs import make_tool
from .specs import ToolSpecs
from .tools import Tool, bound


class Wrapper(Tool):
    """Base of tools that tell another tool of some of the launches only.

    `wants_launch` decides at the beginning of each; its end and its time follow. All other
    events are passed on, but for those of compilations, which `wants_compile` decides.

    Parameters
    ----------
    tool : str or tool
        Name of an installed tool, with options where it has some; or an object with methods of
        `ToolSpecs`. In text, an option called ``tool`` takes all that follows it, options of the
        other tool included: ``"sampler:every=5:tool=trace:limit=1000"``.

    Attributes
    ----------
    tool : tool
        The other tool.
    name : str
        What it is called.
    launches, passed : int
        How many launches there were, and of how many the other tool was told.

    Raises
    ------
    ToolError
        If there is no such tool, or its methods are not those of events.

    Notes
    -----
    Nothing is copied and nothing fenced. For a tool with ``device_times = True`` an asynchronous
    space marks all its launches, also those that are left out.

    Examples
    --------
    >>> import execspace as es
    >>> class Launches(es.profiling.Tool):
    ...     labels = ()
    ...     def on_kernel_begin(self, label):
    ...         self.labels += (label,)
    >>> class Reductions(es.profiling.Wrapper):
    ...     def wants_launch(self, pattern, name, label, space):
    ...         return pattern == "parallel_reduce"
    >>> inner = Launches()
    >>> with es.profile(Reductions(inner)):
    ...     es.parallel_for(4, lambda i: None, label="left out")
    ...     total = es.parallel_reduce(4, lambda i: i, label="told")
    >>> inner.labels
    ('told',)
    """

    def __init__(self, tool: Any) -> None:
        self.name, self.tool = make_tool(tool)
        self.device_times = bool(getattr(self.tool, "device_times", False))
        self.launches = self.passed = 0
        self._calls = bound(self.tool)
        self._lock = new_rlock()
        self._left_out: set[int] = set()  # whose end is still to come
        self._untimed: set[int] = set()  # whose time is still to come
        for event in self._calls:
            if not hasattr(Wrapper, event):
                setattr(self, event, self._passing(event))

    @property
    def passes_on_to(self) -> Any:
        """The other tool, for `attach`."""
        return self.tool

    # -- what is passed on ------------------------------------------------------------------------

    def wants_launch(self, pattern: str, name: str, label: str, space: str) -> bool:
        """Whether the other tool is told of a launch; `pattern` of a graph is "graph"."""
        return True

    def wants_compile(self, kernel: str, space: str) -> bool:
        """Whether it is told that a kernel, by its own name, was compiled or loaded."""
        return True

    def on_kernel_begin(
        self, pattern: str, name: str, label: str, space: str, queue: int, policy: Any, id: int,
        work: Callable[[], Work | None],
    ) -> None:  # fmt: skip
        if self._begins(pattern, name, label, space, id):
            self._tell("on_kernel_begin", pattern, name, label, space, queue, policy, id, work)

    def on_kernel_end(self, id: int) -> None:
        if not self._took(self._left_out, id):
            self._tell("on_kernel_end", id)

    def on_graph_begin(self, label: str, space: str, queue: int, kernels: int, id: int) -> None:
        if self._begins("graph", label, label, space, id):
            self._tell("on_graph_begin", label, space, queue, kernels, id)

    def on_graph_end(self, id: int) -> None:
        if not self._took(self._left_out, id):
            self._tell("on_graph_end", id)

    def on_device_time(self, id: int, start: float, end: float) -> None:
        if not self._took(self._untimed, id):
            self._tell("on_device_time", id, start, end)

    def on_compile(self, kernel: str, space: str, seconds: float, from_disk: bool) -> None:
        if self.wants_compile(kernel, space):
            self._tell("on_compile", kernel, space, seconds, from_disk)

    def _begins(self, pattern: str, name: str, label: str, space: str, id: int) -> bool:
        with self._lock:
            self.launches += 1
            wanted = self.wants_launch(pattern, name, label, space)
            if wanted:
                self.passed += 1
            else:
                self._left_out.add(id)
                if self.device_times:
                    self._untimed.add(id)
            return wanted

    def _took(self, numbers: set[int], id: int) -> bool:
        """Whether a number was there; it is not any more."""
        found = id in numbers  # nobody else asks for this one
        if found:
            numbers.discard(id)
        return found

    def _tell(self, event: str, *args: Any) -> None:
        _call(self._calls.get(event, ()), args)

    def _passing(self, event: str) -> Callable[..., None]:
        """A method for an event that is always passed on, with all its arguments."""
        calls = self._calls[event]

        @wraps(getattr(ToolSpecs, event))
        def passing(*args: Any) -> None:
            _call(calls, args)

        return passing

    # -- what it says -----------------------------------------------------------------------------

    def told(self) -> str:
        """A line on what was left out, below the report of the other tool."""
        return f"{self.passed} of {self.launches} launches were told to '{self.name}'"

    def finish(self) -> None:
        if hasattr(self.tool, "finish"):
            self.tool.finish()

    def report(self) -> str:
        text = self.tool.report() if hasattr(self.tool, "report") else ""
        return "\n\n".join(part for part in (text.rstrip(), self.told()) if part)

    def _repr_html_(self) -> str | None:
        from ..base import html

        made = getattr(self.tool, "_repr_html_", None)
        if made is None:
            return None  # the report is shown instead
        return html.page(made(), html.paragraph(self.told()))


def _call(calls: tuple[Call, ...], args: tuple[Any, ...]) -> None:
    for _, call, wanted in calls:
        if wanted is None:
            call(*args)
        else:
            call(*[args[n] for n in wanted])
