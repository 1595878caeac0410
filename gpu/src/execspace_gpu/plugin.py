"""What plugins of platforms announce in the same way. Imports nothing heavy."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from execspace import ExecutionSpace, Probe, SpaceEntry
from execspace.base import config

from .claiming import Protocols, claimed_by


def space_entry(
    short: str, kind: str, protocols: Protocols, probe: Callable[[], Probe], **more: Any
) -> SpaceEntry:
    """The entry of a platform's space.

    Parameters
    ----------
    short : str
        Name of the space: "cuda".
    kind : str
        Its class, with the module that is imported when the space is made: "package.space:Cuda".
    protocols : Protocols
    probe : callable
    **more
        As `SpaceEntry` takes it.
    """
    claims = partial(claimed_by, short, protocols=protocols)
    return SpaceEntry(
        short, factory=partial(_made, kind), probe=probe, claims=claims, api_version=(0, 1), **more
    )


def _made(kind: str, device: str | None) -> ExecutionSpace:
    from .space import space_of

    module, _, name = kind.partition(":")
    return space_of(getattr(import_module(module), name), device)


def declare_blocking(short: str, whose: str) -> None:
    """Declare the variable that makes launches block; `whose` GPUs they are on."""
    text = f"1: wait for each kernel on {whose}, so that a fault is reported where it was launched"
    config.declare(config.Variable(f"{short.upper()}_BLOCKING", "0", text))


def describe_devices(runtime: Any, count: int) -> str:
    """The devices of a machine in words."""
    name = runtime.getDeviceProperties(0)["name"].decode()
    return f"{name} and {count - 1} more" if count > 1 else str(name)


def visible_devices(*variables: str) -> Sequence[str]:
    """Numbers of the devices among which ranks of a host are divided, as `SpaceEntry` asks.

    None where the process sees but one, and one of these variables of the platform is set, which
    hides devices: then the launcher may have divided them already, and what the other ranks see
    cannot be known.
    """
    from cupy_backends.cuda.api import runtime

    count = int(runtime.getDeviceCount())
    if count == 1 and any(name in os.environ for name in variables):
        return ()
    return tuple(map(str, range(count)))
