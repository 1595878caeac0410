"""Kernels of one expression for each element: of assignments of C that Python understands."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ._arrays import ndarray


class ElementwiseKernel:
    """Takes assignments such as "y = x == x ? x : nan"."""

    def __init__(self, in_params: str, out_params: str, operation: str, name: str) -> None:
        self.inputs = [p.split()[-1] for p in in_params.split(",")]
        (self.output,) = (p.split()[-1] for p in out_params.split(","))
        found = re.fullmatch(r"\s*(\w+) = (.*?)(?: \? (.*) : (.*))?;?\s*", operation)
        if found is None or found[1] != self.output:
            raise NotImplementedError(f"the pretended ElementwiseKernel cannot do {operation!r}")
        self.parts = [p for p in found.groups()[1:] if p is not None]
        self.name = name

    def __call__(self, *given: Any) -> Any:
        arguments = [g._host if isinstance(g, ndarray) else g for g in given]
        names = dict(zip(self.inputs, arguments, strict=False))
        values = [eval(p, {}, names) for p in self.parts]
        result = np.where(*values) if len(values) == 3 else values[0]
        out = given[len(self.inputs)]
        out._host[...] = result
        return out
