"""Which device of a space a rank takes where it is not named: each rank of a host one of its own.

Only for a space that is chosen by EXECSPACE_DEFAULT without a device, or by priority. What a
program names it gets.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..base import config
from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import PluginError, SpaceUnavailableError
from ..base.local_ranks import LocalRank
from ..contract.entries import SpaceEntry
from .probing import described, is_of_program


@dataclass(frozen=True, slots=True)
class Choice:
    """The name by which a rank takes a space, and what to tell it, if anything."""

    name: str
    warning: str = ""


def choice_for(entry: SpaceEntry) -> Choice:
    """What this process takes of a space that its probe says is usable.

    Raises
    ------
    ConfigError
        If EXECSPACE_LOCAL_RANK or EXECSPACE_LOCAL_SIZE is not valid.
    SpaceUnavailableError, PluginError
        If the plugin cannot say which devices there are, or says what are no names.
    """
    rank = config.local_rank()
    if rank is None or rank.is_alone:
        return Choice(entry.name)
    return choice_among(entry.name, devices_of(entry), rank)


def choice_among(space: str, devices: Sequence[str], rank: LocalRank) -> Choice:
    """What a rank takes of a space with these devices."""
    if not devices:
        return Choice(space)
    number = rank.number % len(devices)
    taken = f"{space}:{devices[number]}"
    if rank.size is None:
        ranks, count = rank.number + 1, f"At least {rank.number + 1} ranks"
    else:
        ranks, count = rank.size, f"{rank.size} ranks"
    warning = ""
    if ranks > len(devices):
        several = "" if len(devices) == 1 else "s"
        warning = (
            f"{count} of this host share {len(devices)} device{several} of space '{space}': local "
            f"rank {rank.number} takes '{taken}', where its work waits for that of others. Start "
            f"as many ranks on a host as it has devices, or run a service through which processes "
            f"use a device at the same time, such as NVIDIA's MPS."
        )
    return Choice(taken if number else space, warning)  # both are the first one


def devices_of(entry: SpaceEntry) -> Sequence[str]:
    """The devices that a plugin names, checked."""
    try:
        found = entry.devices()
    except BaseException as failure:  # sys.exit() in a plugin ends no program
        if is_of_program(failure):
            raise
        raise SpaceUnavailableError(
            f"Space '{entry.name}' cannot say which devices it has: "
            f"{described(failure).rstrip('.')}. Name the device, as EXECSPACE_DEFAULT="
            f"{entry.name}:0, or choose another space."
        ) from failure
    named = isinstance(found, Sequence) and not isinstance(found, str)
    if not named or not all(isinstance(name, str) and name for name in found):
        raise PluginError(
            f"Space '{entry.name}': its devices() returned {brief(found)}, expected a sequence of "
            f"names, such as ('0', '1'). This is a defect of its plugin."
        )
    return found
