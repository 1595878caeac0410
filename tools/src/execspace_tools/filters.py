"""Tools that pass on some of the launches to another tool: of chosen kernels, or every n-th."""

from __future__ import annotations

import random
import re
from typing import Any

from execspace import ToolError
from execspace.profiling import Wrapper


class KernelFilter(Wrapper):
    """Tells another tool of kernels whose label or name matches, or does not match, a pattern.

    Parameters
    ----------
    tool : str or tool
        The other tool, with its options if it has some.
    match : str
        Regular expression that the label of a launch, or the name of its kernel, must contain.
        Empty: all do.
    exclude : str
        Regular expression that neither of the two may contain. Empty: none does.

    Raises
    ------
    ToolError
        If both are empty, or one is not a regular expression, or there is no such tool.

    Notes
    -----
    Library calls and graphs are launches, too; a graph has a label only. Compilations are told if
    the kernel's own name is as wanted, whatever its launches are called. All other events, such as
    copies, fences and regions, are told.

    After kernel-filter of Kokkos Tools: https://github.com/kokkos/kokkos-tools

    Examples
    --------
    >>> import execspace as es
    >>> from execspace_tools.filters import KernelFilter
    >>> policy = es.RangePolicy(4, space="oracle")
    >>> with es.profile(KernelFilter("kernel-timer", match="^solve")) as found:
    ...     for label in ("set up", "solve x", "solve y"):
    ...         es.parallel_for(policy, lambda i: None, label=label)
    >>> sorted(row.label for row in found["KernelFilter"].tool.records())
    ['solve x', 'solve y']
    """

    def __init__(self, tool: Any = "kernel-timer", match: str = "", exclude: str = "") -> None:
        if not match and not exclude:
            raise ToolError(
                "Profiling tool 'kernel-filter' has neither match= nor exclude= and would leave "
                "out nothing; give one, such as 'kernel-filter:match=^solve:tool=kernel-timer'."
            )
        self._match, self._exclude = _compiled("match", match), _compiled("exclude", exclude)
        super().__init__(tool)

    def wants_launch(self, pattern: str, name: str, label: str, space: str) -> bool:
        return self._wants(label, name)

    def wants_compile(self, kernel: str, space: str) -> bool:
        return self._wants(kernel)

    def _wants(self, *names: str) -> bool:
        if self._match is not None and not any(map(self._match.search, names)):
            return False
        return self._exclude is None or not any(map(self._exclude.search, names))

    def told(self) -> str:
        return f"kernel-filter: {super().told()}"


def _compiled(option: str, pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern) if pattern else None
    except re.error as error:
        raise ToolError(
            f"Profiling tool 'kernel-filter': {option}={pattern!r} is not a regular expression: "
            f"{error}."
        ) from None


class Sampler(Wrapper):
    """Tells another tool of a sample of the launches, so that it takes less time.

    Of each kernel, which is told apart by space, pattern and label, the first launch and then
    every n-th are taken; and of these each with the given probability.

    Parameters
    ----------
    tool : str or tool
        The other tool, with its options if it has some.
    every : int
        1 takes all.
    probability : float
        More than 0, at most 1.
    seed : int
        Of the random numbers: the same program has the same sample.

    Raises
    ------
    ToolError
        If `every` or `probability` is out of range, or there is no such tool.

    Notes
    -----
    Counts and totals that the other tool tells are those of the sample. The sample is of launches
    alone: all other events, such as copies, fences and regions, are told.

    After kokkos-sampler of Kokkos Tools: https://github.com/kokkos/kokkos-tools

    Examples
    --------
    >>> import execspace as es
    >>> from execspace_tools.filters import Sampler
    >>> policy = es.RangePolicy(4, space="oracle")
    >>> with es.profile(Sampler("kernel-timer", every=3)) as found:
    ...     for _ in range(7):
    ...         es.parallel_for(policy, lambda i: None, label="step")
    >>> found["Sampler"].tool.records()[0].calls
    3
    """

    def __init__(
        self,
        tool: Any = "kernel-timer",
        every: int = 10,
        probability: float = 1.0,
        seed: int = 0,
    ) -> None:
        if every < 1:
            raise ToolError(
                f"Profiling tool 'sampler': every={every}; expected 1, which takes all, or more."
            )
        if not 0 < probability <= 1:
            raise ToolError(
                f"Profiling tool 'sampler': probability={probability:g}; expected more than 0 and "
                f"at most 1."
            )
        self._every, self._probability = every, probability
        self._random = random.Random(seed)
        self._counts: dict[tuple[str, str, str], int] = {}
        super().__init__(tool)

    def wants_launch(self, pattern: str, name: str, label: str, space: str) -> bool:
        key = space, pattern, label
        count = self._counts.get(key, 0)
        self._counts[key] = count + 1
        if count % self._every:
            return False
        return self._probability == 1 or self._random.random() < self._probability

    def told(self) -> str:
        return f"sampler: {super().told()}; counts and totals are of these"
