"""Mathematical functions stay within the bounds of ulp.py on every space."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype

from .compare import load
from .ulp import SAMPLES, TABLES, bound, errors, expected, samples


def measured(space: es.ExecutionSpace, dtype: str) -> dict[str, float]:
    """Greatest error of each function, in ULP; all are in one kernel, to compile once."""
    table = TABLES[dtype]
    lines = ["import math", "import numpy as np", "def functions(i, a, b, o, r):"]
    for n, (name, f) in enumerate(table.items()):
        lines += [f"    x, y = a[{n}, i], b[{n}, i]"] if n == 0 else [
            f"    x = a[{n}, i]", f"    y = b[{n}, i]"
        ]  # fmt: skip
        lines.append(f"    {'r' if name == 'abs' else 'o'}[{n}, i] = {f.text}")
    kernel = es.kernel(fma=False)(load("\n".join(lines) + "\n")["functions"])
    pairs = [samples(f, dtype) for f in table.values()]
    a, b = (np.array(part) for part in zip(*pairs, strict=True))
    o = np.zeros((len(table), SAMPLES), dtype)
    r = np.zeros((len(table), SAMPLES), o.real.dtype)
    staged.parallel_for(es.RangePolicy(SAMPLES, space=space), kernel, a, b, o, r)
    found = {}
    for n, (name, f) in enumerate(table.items()):
        result = r[n] if name == "abs" else o[n]
        found[name] = float(errors(result, expected(f, *pairs[n])).max())
    return found


@pytest.mark.parametrize("dtype", TABLES)
def test_functions_are_within_their_bounds(space, dtype):
    needs_dtype(space, dtype)
    found = measured(space, dtype)
    beyond = {name: e for name, e in found.items() if not e <= bound(name, dtype)}
    assert not beyond
