"""What every case needs to know: the space, the sizes, the C compiler, where data comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from c_loops import Compiler

import execspace as es


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
    """

    space: str
    quick: bool
    compiler: Compiler | None

    def views(
        self, count: int, shape: Sequence[int], layout: str = "right", dtype: Any = es.float64
    ) -> list[es.View]:
        """Views with random numbers in [0, 1)."""
        rng = np.random.default_rng(1)
        made = []
        for n in range(count):
            view = es.View(tuple(shape), dtype, label=f"v{n}", space=self.space, layout=layout)
            np.asarray(view)[...] = rng.random(tuple(shape))
            made.append(view)
        return made
