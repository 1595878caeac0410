"""Under EXECSPACE_CHECK=portable: memory of host spaces that is out of reach as that of a device.

It is ordinary memory of the process; only who may touch it differs. So what a GPU would refuse is
refused without one, by the same lines of core.
"""

from __future__ import annotations

from typing import Any

from ..contract.forward import ExecutionSpace
from ..contract.memory import HostSpace, MemorySpace


class ApartMemory(HostSpace):
    """Memory of one host space, which neither the host nor any other space reaches.

    `fill` and `copy` with an instance wait for what its space says is under way, without a fence: a
    device would not wait.
    """

    kinds = frozenset(("device",))
    host_accessible = False

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: it is memory of this process. Pickle the name of its "
            f"space, and take es.space(name).memory_space where that arrives."
        )

    def reaches(self, other: MemorySpace) -> bool:
        return other is self or other.host_accessible

    def copy(self, dst: Any, src: Any, instance: ExecutionSpace | None) -> None:
        if instance is not None:
            instance.synchronize("deep_copy")
        super().copy(dst, src, None)

    def fill(self, dst: Any, value: Any, instance: ExecutionSpace | None) -> None:
        if instance is not None:
            instance.synchronize("deep_copy")
        super().fill(dst, value, None)

    to_dlpack = MemorySpace.to_dlpack
    dlpack_device = MemorySpace.dlpack_device


class SharedMemory(ApartMemory):
    """Memory of one host space that the host reaches, too; a fence lies between the two."""

    kinds = frozenset(("shared", "pinned"))
    host_accessible = True

    to_dlpack = HostSpace.to_dlpack
    dlpack_device = HostSpace.dlpack_device
