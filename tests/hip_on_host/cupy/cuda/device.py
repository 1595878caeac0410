"""Devices, by their number."""

from __future__ import annotations

from typing import Any

from cupy_backends.cuda.api import runtime


class Device:
    """A device; the current one of the thread within a block."""

    def __init__(self, device: int | None = None) -> None:
        self.id = runtime.getDevice() if device is None else int(device)
        self._before: list[int] = []

    def __enter__(self) -> Device:
        self._before.append(runtime.getDevice())
        runtime.setDevice(self.id)
        return self

    def __exit__(self, *error: Any) -> None:
        runtime.setDevice(self._before.pop())

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def use(self) -> None:
        runtime.setDevice(self.id)

    def synchronize(self) -> None:
        runtime.deviceSynchronize()

    @property
    def attributes(self) -> dict[str, int]:
        """What the real one has here are the values of other attributes."""
        return {"": runtime.deviceGetAttribute(0, self.id)}

    @property
    def compute_capability(self) -> str:
        return str(runtime.deviceGetAttribute(0, self.id))
