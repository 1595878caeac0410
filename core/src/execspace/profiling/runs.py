"""Which tools watch a program: `profile`, EXECSPACE_TOOLS and ``execspace run`` choose them."""

from __future__ import annotations

import atexit
import re
import sys
import warnings
from collections.abc import Iterable
from contextlib import suppress
from inspect import Parameter, signature
from types import TracebackType
from typing import Any

from ..base import config, ports
from ..base.brief import brief
from ..base.errors import ToolError
from ..events import timing
from . import listening, tools

__all__ = [
    "profile",
]


def make_tool(choice: Any) -> tuple[str, Any]:
    """A tool and its name, from ``name``, ``name:value``, ``name:option=value:...``, or itself.

    Raises
    ------
    ToolError
        If no plugin has such a tool, it has no such option, or it cannot be made.
    """
    if not isinstance(choice, str):
        if isinstance(choice, type) or not any(
            hasattr(choice, a) for a in ("report", "finish", "on_any", *tools.EVENTS)
        ):
            raise ToolError(
                f"{brief(choice)} is not a profiling tool; expected the name of one, such as "
                f"'kernel-timer', or an object with methods of execspace.profiling.ToolSpecs."
            )
        return type(choice).__name__, choice
    name, _, text = choice.strip().partition(":")
    entries = ports.tool_entries(name)
    entry = entries.get(name)
    if entry is None:
        known = ", ".join(sorted(entries)) or "none"
        from difflib import get_close_matches

        close = get_close_matches(name, entries, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        if not entries:
            hint = " In a checkout, pip install -e tools."
        raise ToolError(f"'{name}' is not a profiling tool; installed tools: {known}.{hint}")
    options = _options(name, entry.factory, text)
    try:
        return name, entry.factory(**options)
    except ToolError:
        raise
    except Exception as failure:
        raise ToolError(
            f"Profiling tool '{name}' failed to start: {type(failure).__name__}: {failure}"
        ) from failure


def _options(name: str, factory: Any, text: str) -> dict[str, Any]:
    """Arguments of a factory from what follows a tool's name."""
    if not text:
        return {}
    known = {
        p.name: p
        for p in signature(factory).parameters.values()
        if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    }
    found: dict[str, Any] = {}
    parts = re.split(r":(?=[A-Za-z_]\w*=)", text)  # a path may have colons of its own
    while parts:
        part = parts.pop(0)
        option, equals, value = part.partition("=")
        if option == "tool" and option in known:
            value = ":".join((value, *parts))  # the other tool has options of its own
            parts.clear()
        if not equals and known:
            option, value = next(iter(known)), part
        if option not in known:
            raise ToolError(
                f"Profiling tool '{name}' has no option '{option}'; options: "
                f"{', '.join(known) or 'none'}."
            )
        found[option] = _converted(name, known[option], value)
    return found


def _converted(name: str, option: Parameter, value: str) -> Any:
    """The text of an option as what its default is."""
    kind = type(option.default)
    if kind is bool:
        if value.lower() in config.TRUE | config.FALSE:
            return value.lower() in config.TRUE
    elif kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    else:
        return value
    raise ToolError(
        f"Profiling tool '{name}': option {option.name}={value!r}; expected "
        f"{'1 or 0' if kind is bool else 'a number'}."
    )


class Profile:
    """Tools that watch a program together; of `profile`.

    Attributes
    ----------
    tools : dict
        The tools by name, in the order in which they were given.
    """

    def __init__(self, choices: Iterable[Any]) -> None:
        self.tools: dict[str, Any] = {}
        for choice in choices:
            name, tool = make_tool(choice)
            if name in self.tools:
                raise ToolError(f"Profiling tool '{name}' is given twice.")
            self.tools[name] = tool
        self._open = False

    def __getitem__(self, name: str) -> Any:
        if name not in self.tools:
            raise ToolError(f"No tool {brief(name)} is here; there are: {', '.join(self.tools)}.")
        return self.tools[name]

    def start(self) -> None:
        """Attach all tools."""
        attached = []
        try:
            for tool in self.tools.values():
                attached.append(tools.attach(tool))
        except ToolError:
            for tool in attached:
                tools.detach(tool)
            raise
        self._open = True

    def finish(self) -> None:
        """Wait for the times that tools want, detach them all, and let them finish. Blocks.

        A tool that raises gives a warning.
        """
        if not self._open:
            return
        self._open = False
        if any(map(listening.is_timed, self.tools.values())):
            try:
                timing.wait_for_times()
            except Exception as error:  # a device that failed; the program was told, or is going to
                warnings.warn(
                    f"Times of the last kernels are not known: {type(error).__name__}: {error}",
                    stacklevel=3,
                )
        heard = {name: t for name, t in self.tools.items() if listening.is_attached(t)}
        for tool in heard.values():
            tools.detach(tool)
        for name, tool in heard.items():
            _ask(name, tool, "finish")

    def report(self) -> str:
        """What all tools have to say, one after the other."""
        texts = (_ask(name, tool, "report") for name, tool in self.tools.items())
        return "\n\n".join(text.rstrip() for text in texts if text)

    def __str__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        from ..base import html

        parts = []
        for name, tool in self.tools.items():
            made = _ask(name, tool, "_repr_html_")
            if made is None and (told := _ask(name, tool, "report")):
                made = html.preformatted(told.rstrip())
            if made:
                parts.append(made)
        return html.page(*parts)


def _ask(name: str, tool: Any, what: str) -> Any:
    """A tool's `finish` or `report`, which it need not have."""
    method = getattr(tool, what, None)
    if method is None:
        return None
    try:
        return method()
    except Exception as error:  # a tool must never break the program that it watches
        warnings.warn(
            f"Profiling tool '{name}' raised in {what}: {type(error).__name__}: {error}",
            stacklevel=4,
        )
        return None


class profile:
    """Watch what runs within a `with` block.

    Parameters
    ----------
    *tools : str or tool
        Names of installed tools (``execspace run --list`` shows them), with options where they
        have some: ``"trace:out.json"``, ``"kernel-timer:sort=calls"``; or objects with methods of
        `profiling.ToolSpecs`. Default: the kernel timer.

    Returns
    -------
    Profile
        Of the `with` block. ``profile["kernel-timer"]`` is a tool, `print` shows all reports.

    Raises
    ------
    ToolError
        If there is no such tool, or it cannot be made.

    Notes
    -----
    The end of the block waits for kernels of which a tool wants the times. Nothing is printed
    unless you ask.

    Examples
    --------
    >>> import execspace as es
    >>> class Copied(es.profiling.Tool):
    ...     nbytes = 0
    ...     def on_copy_begin(self, nbytes):
    ...         self.nbytes += nbytes
    >>> x = es.View(8)
    >>> with es.profile(Copied()) as found:
    ...     es.deep_copy(x, 1.0)
    >>> found["Copied"].nbytes
    64
    """

    def __init__(self, *tools: Any) -> None:
        self._choices = tools or ("kernel-timer",)
        self._open: list[Profile] = []

    def __enter__(self) -> Profile:
        found = Profile(self._choices)
        found.start()
        self._open.append(found)
        return found

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._open.pop().finish()


_of_process: list[Profile] = []


def start_for_process(choices: Iterable[Any]) -> None:
    """Watch the rest of the process; reports go to standard error when it ends."""
    found = Profile(choices)
    found.start()
    _of_process.append(found)
    atexit.unregister(end_of_process)
    atexit.register(end_of_process)


def end_of_process() -> None:
    """Finish the tools of the process and print what they say; once."""
    while _of_process:
        found = _of_process.pop(0)
        found.finish()
        text = found.report()
        if text:
            with suppress(AttributeError, OSError, ValueError):  # it may be gone, or closed
                sys.stdout.flush()
            if sys.stderr is not None:
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()


def drop_for_process() -> None:
    """Detach the tools of the process without a report."""
    while _of_process:
        for tool in _of_process.pop().tools.values():
            tools.detach(tool)
