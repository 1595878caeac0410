"""How Views give their memory to others: DLPack, CUDA's interface and the buffer protocol."""

from __future__ import annotations

from typing import Any

from ..base.storage_types import format_of


class GivesArrays:
    """The protocols of a View; its memory space knows how, and never copies in secret."""

    __slots__ = ()

    def __dlpack__(self: Any, **options: Any) -> Any:
        """DLPack capsule over the same memory, which it keeps alive."""
        return self.memory_space.to_dlpack(self, **options)

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        device: tuple[int, int] = self.memory_space.dlpack_device(self)
        return device

    @property
    def __cuda_array_interface__(self: Any) -> dict[str, Any]:
        found: dict[str, Any] | None = self.memory_space.cuda_array_interface(self)
        if found is None:
            raise AttributeError(
                f"View '{self.label}' is in memory space '{self.memory_space.name}', which CUDA "
                f"cannot address."
            )
        return found

    def __buffer__(self: Any, flags: int, /) -> memoryview:  # Python calls it from 3.12 on
        if self.dtype.fields is not None:  # NumPy would lose their gaps on this way
            raise BufferError(f"View '{self.label}' holds records; use np.asarray(A).")
        if format_of(self.dtype) is not None:
            raise BufferError(
                f"View '{self.label}' is of {self.dtype.name}, for which buffers have no name; use "
                f"np.asarray(A)."
            )
        return memoryview(self.__array__())
