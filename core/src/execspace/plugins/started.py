"""Spaces of this process, those made by name, and all that were given work."""

from __future__ import annotations

from weakref import WeakSet

from ..base import config, pending
from ..base.locks import new_rlock
from ..base.waiting import never_waits
from ..contract.memory import MemorySpace
from ..contract.space import ExecutionSpace
from ..events import dispatch
from ..events.launches import MADE
from ..events.recording import refuse_waiting
from .probing import described

__all__ = ["fence"]

_working: WeakSet[ExecutionSpace] = WeakSet()
_working_lock = new_rlock()  # reentrant for the garbage collector's sake
_left_out: WeakSet[ExecutionSpace] = WeakSet()
_any_noted = False  # spaces have work, or are left out, that are not those of a name


def note(space: ExecutionSpace) -> None:
    """Remember a space that work is given to: it may be made without its name, or an instance."""
    global _any_noted
    known = MADE.get(space.name) is space or (_any_noted and space in _working)
    if known or (never_waits(space) and not config.is_portable()):
        return  # of the latter a fence would wait for nothing
    _any_noted = True
    with _working_lock:
        _working.add(space)


def started() -> list[ExecutionSpace]:
    """Spaces that this process has started, and instances that were given work."""
    with _working_lock:
        spaces = dict.fromkeys((*MADE.values(), *_working))
        return [s for s in spaces if s not in _left_out] if _left_out else list(spaces)


def leave_out(space: ExecutionSpace) -> None:
    """Fence a space no more with all others: in a forked child, one that only its parent can use.

    Takes no lock, for another thread of the parent may have held it.
    """
    global _any_noted
    _any_noted = True
    _left_out.add(space)


def fence(label: str = "") -> None:
    """Wait until all work on all started spaces is done. Blocks.

    Raises
    ------
    Exception
        The first that a space raised, once all were waited for; notes tell of those of others.
    TypeError
        If the label is no text.
    """
    if not isinstance(label, str):
        raise TypeError(
            f"fence({label!r}): expected a label, which is a text; of one space or instance alone "
            f"wait by its own method, space.fence()."
        )
    waited_for_all(label)


def all_idle() -> bool:
    """Whether a fence of all spaces surely has nothing to wait for; nor is anybody told of it."""
    if _any_noted or dispatch.TOOLS or config.is_portable():
        return False
    return all(map(never_waits, list(MADE.values())))


def waited_for_all(label: str, *ordered: MemorySpace) -> bool:
    """As `fence`; False if there is no space that could have anything to wait for.

    `ordered`: memory spaces of a copy that follows, which waits for some spaces itself.
    """
    if dispatch.TOOLS:
        refuse_waiting("A fence")
    if _any_noted or dispatch.TOOLS or config.is_portable():
        spaces = started()
    else:  # without hosts, whose launches are done when they return
        spaces = [s for s in tuple(MADE.values()) if not never_waits(s)]
        if spaces and ordered:
            waiting = [memory.in_order_with() for memory in ordered]
            spaces = [s for s in spaces if s not in waiting]
        if not spaces:
            return False
    failures: list[tuple[ExecutionSpace, Exception]] = []
    for space in spaces:
        try:
            space.fence(label)
        except Exception as failure:  # not the user's Ctrl-C, which ends the waiting
            failures.append((space, failure))
    if config.is_portable():
        pending.fenced_all()  # also what spaces did that are gone, or whose work failed
    if failures:
        try:
            raise _first(failures)
        finally:
            failures.clear()  # which their tracebacks would keep alive
    return True


def _first(failures: list[tuple[ExecutionSpace, Exception]]) -> Exception:
    """The first of some exceptions, with notes on the others."""
    first = failures[0][1]
    for space, failure in failures[1:]:
        text = f"Waiting for space '{space.name}' failed, too: {described(failure)}"
        # A device that is lost may raise the same exception each time.
        if failure is not first and text not in getattr(first, "__notes__", ()):
            first.add_note(text)
    return first


def forget() -> None:
    """Forget all of them."""
    global _any_noted
    _any_noted = False
    MADE.clear()
    _working.clear()
