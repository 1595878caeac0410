"""Metadata: what a program says of itself, and what is known of where it runs, for tools."""

from __future__ import annotations

import platform
from importlib.metadata import entry_points

from ..base import config
from ..base.brief import brief
from ..base.errors import ToolError
from ..base.version import __version__
from ..events import dispatch
from ..events.launches import MADE

Fact = str | int | float | bool
_declared: dict[str, Fact] = {}


def metadata(key: str, value: Fact) -> None:
    """Declare a fact of this run, such as its problem and its size; tools keep it.

    It is kept without tools as well, for those that are attached later. A key that is declared
    again has its new value. Does not block.

    Parameters
    ----------
    key : str
    value : str, int, float or bool

    Raises
    ------
    ToolError
        If the key is no text, or empty, or the value is of another type.

    Notes
    -----
    Kokkos: ``Kokkos::Tools::declareMetadata``,
    https://kokkos.org/kokkos-core-wiki/API/core/profiling/profiling.html

    Examples
    --------
    >>> import execspace as es
    >>> es.profiling.metadata("mesh", "hillslope, 344 x 403")
    >>> es.profiling.known_metadata()["mesh"]
    'hillslope, 344 x 403'
    """
    if not isinstance(key, str) or not key:
        raise ToolError(f"metadata({brief(key)}, ...); expected a key, which is a text.")
    if not isinstance(value, str | int | float):
        raise ToolError(
            f"metadata('{key}', {brief(value)}); expected a str, int, float or bool, got "
            f"{type(value).__name__}. Convert it, as with str()."
        )
    _declared[key] = value
    dispatch.emit("on_metadata", key, value)  # in a pause as well: it is no matter of time


def known_metadata() -> dict[str, Fact]:
    """All that is known now: of the process, then what it declared with `metadata`.

    Returns
    -------
    dict
        "execspace", "python", "numpy", "platform", each installed distribution with a plugin of
        execspace, with their versions; "spaces", those that were started, or "none"; each
        EXECSPACE_* variable that is not at its default; and what was declared, which goes first
        where a key is the same.

    Notes
    -----
    It looks through what is installed, which takes some milliseconds: nothing does it without a
    tool that asks. Does not block.

    Examples
    --------
    >>> import execspace as es
    >>> es.profiling.known_metadata()["execspace"] == es.__version__
    True
    """
    import numpy

    found: dict[str, Fact] = {
        "execspace": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "platform": platform.platform(),
    }
    for entry in entry_points(group="execspace"):
        if entry.dist is not None:
            found[entry.dist.name] = entry.dist.version
    found["spaces"] = ", ".join(sorted(MADE.copy())) or "none"
    for name, variable in config.VARIABLES.copy().items():
        value = config.get(name)
        if value is not None and value != variable.default:
            found[f"EXECSPACE_{name}"] = value
    return found | _declared
