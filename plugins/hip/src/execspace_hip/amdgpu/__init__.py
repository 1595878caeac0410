"""The offline model of AMD's GPUs: compiling for one that is not there, code objects, occupancy."""

from __future__ import annotations

from execspace import ExecutionSpace


def target(name: str) -> ExecutionSpace | None:
    """What compiles for a kind of GPU such as "gfx942" and launches nothing."""
    if not name.startswith("gfx"):
        return None
    from .target_space import HipTarget

    return HipTarget(name)
