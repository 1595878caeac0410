"""Every exception and warning that execspace raises on purpose.

One sentence says what is wrong, with names in quotes and expected against got; the next
says what to do. Each class also derives from the built-in exception a Python user would
catch, so `except ValueError` keeps working.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import ports

__all__ = [
    "BackendCompileError",
    "ConfigError",
    "ContextLostError",
    "DTypeError",
    "ExecspaceError",
    "KernelAssertionError",
    "KernelError",
    "KernelSyntaxError",
    "KernelTypeError",
    "LaunchError",
    "PluginError",
    "PluginWarning",
    "PolicyError",
    "ReadOnlyError",
    "SpaceAccessError",
    "SpaceError",
    "SpaceUnavailableError",
    "ToolError",
    "UnknownSpaceError",
    "ViewError",
    "ViewIndexError",
    "ViewTypeError",
]


class ExecspaceError(Exception):
    """Base of all errors raised by execspace and its backends.

    IPython and notebooks show them without execspace's own frames; EXECSPACE_TRACEBACK=full shows
    all. `rich.print` highlights the source in their messages.
    """

    @property
    def _render_traceback_(self) -> Callable[[], list[str]]:
        """What IPython calls for lines to print; where there is none it renders as usual."""
        if not ports.has_short_tracebacks():
            raise AttributeError("_render_traceback_")
        return lambda: ports.short_traceback(self)

    def __rich__(self) -> Any:
        return ports.rich_message(self)


class DTypeError(ExecspaceError, TypeError):
    """A dtype does not exist or cannot be stored in a View."""


class ViewError(ExecspaceError, ValueError):
    """Shapes, layouts or indices of a View do not fit."""


class ViewIndexError(ViewError, IndexError):
    """An index lies outside a View."""


class ViewTypeError(ViewError, TypeError):
    """Something is not an array that a View can be made of, or means more than its elements."""


class ReadOnlyError(ExecspaceError, AttributeError):
    """An attribute of a View, a policy or another value cannot be assigned."""


class PolicyError(ExecspaceError, ValueError):
    """Bounds, tiles or options of an execution policy are not valid."""


class LaunchError(ExecspaceError, TypeError):
    """A kernel was launched with arguments that it cannot take."""


class SpaceError(ExecspaceError, RuntimeError):
    """An execution or memory space cannot be used."""


class UnknownSpaceError(SpaceError, LookupError):
    """No installed plugin provides a space of this name."""


class SpaceUnavailableError(SpaceError):
    """The space exists, but this machine or installation cannot run it."""


class SpaceAccessError(SpaceError):
    """Memory was used from a space (or the host) that cannot reach it."""


class ContextLostError(SpaceError):
    """A fault of a kernel, such as an illegal address, took all memory and work of a device.

    Raised for each later use of the device, too: the program must be started again.
    """


class ConfigError(ExecspaceError, ValueError):
    """An environment variable has a value that it cannot have; the message names it."""


class PluginError(ExecspaceError):
    """A plugin could not be loaded or broke the plugin contract."""


class ToolError(PluginError):
    """A profiling tool cannot be had, or a region is left that nobody entered."""


class PluginWarning(UserWarning):
    """A plugin was left out; the program goes on without it."""


class KernelError(ExecspaceError):
    """A kernel cannot be compiled. The message shows file, line, column and a caret."""


class KernelSyntaxError(KernelError, SyntaxError):
    """The kernel uses Python that has no meaning in a kernel, or a name that is not defined."""

    def __str__(self) -> str:  # SyntaxError.__str__ would add its own, unset, location
        return str(self.args[0]) if self.args else ""


class KernelTypeError(KernelError, TypeError):
    """The types in a kernel do not fit together."""


class KernelAssertionError(ExecspaceError, AssertionError):
    """An `assert` in a kernel failed; the message names the line and the indices."""


class BackendCompileError(KernelError, RuntimeError):
    """The backend's own compiler refused generated code: a defect, please report it."""


def shown(number: int) -> str:
    """An integer for a message; one of many digits by its size."""
    bits = number.bit_length()
    return str(number) if bits <= 128 else f"an integer of {bits} bits"
