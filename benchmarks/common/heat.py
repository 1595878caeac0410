"""Heat steps of 5 points in two dimensions and of 7 in three, for hosts and devices."""

from __future__ import annotations

import execspace as es


@es.kernel
def heat2(i, j, s, a, b):
    around = b[i - 1, j] + b[i + 1, j] + b[i, j - 1] + b[i, j + 1]
    a[i, j] = b[i, j] + s * (around - 4.0 * b[i, j])


@es.kernel
def heat3(i, j, k, s, a, b):
    around = (
        b[i - 1, j, k] + b[i + 1, j, k] + b[i, j - 1, k]
        + b[i, j + 1, k] + b[i, j, k - 1] + b[i, j, k + 1]
    )  # fmt: skip
    a[i, j, k] = b[i, j, k] + s * (around - 6.0 * b[i, j, k])


HEAT = {2: heat2, 3: heat3}
