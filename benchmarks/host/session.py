"""What every case needs to know: the space, the sizes, the C compiler, where data comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.c_loops import Compiler
from benchmarks.common.paired import OURS, Contestant, python_contestant


@dataclass(frozen=True)
class Session:
    """Options of one run.

    Attributes
    ----------
    space : str
        The execution space that is measured.
    quick : bool
        Smaller arrays and fewer turns.
    compiler : Compiler or None
        None skips the comparisons with C.
    memory : str or None
        Kind of memory of the Views, which the host must reach; None takes the space's default.
    """

    space: str
    quick: bool
    compiler: Compiler | None
    memory: str | None = None

    def ours(self, call: Callable[[], Any]) -> Contestant:
        """execspace as a contestant: launches one after the other, then a fence."""
        space = es.space(self.space)
        return python_contestant(OURS, call, fence=space.fence)

    def views(
        self, count: int, shape: Sequence[int], layout: str = "right", dtype: Any = es.float64
    ) -> list[es.View]:
        """Views with random numbers in [0, 1)."""
        rng = np.random.default_rng(1)
        made = []
        for n in range(count):
            view = es.View(
                tuple(shape), dtype, label=f"v{n}", space=self.space, memory=self.memory,
                layout=layout,
            )  # fmt: skip
            np.asarray(view)[...] = rng.random(tuple(shape))
            made.append(view)
        return made
