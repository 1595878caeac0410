"""A kind of GPU that is not there: kernels are compiled for it, and none is launched.

For `explain(target=...)`. A plugin makes its target of `TargetSpace`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from execspace import (
    HOST,
    Kernel,
    LaunchSpec,
    MemorySpace,
    Plan,
    SpaceUnavailableError,
    TeamSizes,
)
from execspace_compiler.launch.device_text import DeviceText
from execspace_compiler.launch.variables import variables_of

from .compiling import Binary, binary, cache_of
from .texts import Texts, TextSpace, lowered_for

Figures = dict[str, dict[str, int]]


class TargetSpace(TextSpace):
    """Compiles for a kind of GPU; arguments are arrays of the host.

    must: what a `TextSpace` must, and `told`.
    """

    @property
    def memory_space(self) -> MemorySpace:
        return HOST

    @abstractmethod
    def told(self, text: DeviceText, code: bytes) -> tuple[Figures, list[str]]:
        """Figures of each kernel, as `Explanation.figures`, and lines on how it runs; must."""

    def compile(self, kernel: Kernel, spec: LaunchSpec) -> TargetPlan:
        """Compile the usual text of a launch.

        Raises
        ------
        KernelSyntaxError, KernelTypeError
            For faults in the kernel.
        BackendCompileError
            If the compiler refuses the generated text, or does not know the target.
        """
        lowered = lowered_for(self, kernel, spec)
        texts = Texts(self, lowered)
        text = texts.text(texts.usual_key)
        found = binary(text, self.compiler, self.arch, self.short)
        return TargetPlan(self, spec, texts, text, found)

    def synchronize(self, label: str = "") -> None:
        """Nothing runs here."""


@dataclass
class TargetPlan(Plan):
    """A compiled launch that cannot be launched; see `execspace.Plan`."""

    space: TargetSpace
    spec: LaunchSpec
    texts: Texts
    text: DeviceText
    binary: Binary

    @property
    def code(self) -> bytes:
        """The machine code."""
        return self.binary.code

    @property
    def source(self) -> str:
        """The generated text."""
        return self.text.source

    @cached_property
    def _told(self) -> tuple[Figures, list[str]]:
        return self.space.told(self.text, self.code)

    @property
    def figures(self) -> Figures:
        """What the compiled kernels need."""
        return self._told[0]

    @property
    def variables(self) -> dict[str, str]:
        """Types of all variables."""
        return variables_of(self.texts.source)

    @property
    def cache(self) -> tuple[str, str]:
        """Key of the entry in the cache on disk, and whether it was found."""
        hit = "on disk" if self.binary.from_disk else ""
        return cache_of(self.binary.key, self.texts.source.kernel, self.space.short, hit)

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """How it goes through a range, and how much of it runs at once."""
        return [*self.texts.mapping(bounds), *self._told[1]]

    def team_sizes(self) -> TeamSizes:
        """Of a TeamPolicy: what is chosen where the policy does not say."""
        assert self.texts.teams is not None
        return self.texts.teams.team_sizes(self.space.limits.threads)

    def launch(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """Always an error."""
        raise SpaceUnavailableError(
            f"Target '{self.space.name}' compiles kernels and launches none; use it with "
            f"explain(target=...)."
        )
