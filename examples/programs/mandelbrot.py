"""The Mandelbrot set by escape times: how often z -> z^2 + c goes before |z| is greater than 2.

The kernel is called once for each point: near the set it takes hundreds of steps, else a few.
Coordinates come from NumPy arrays and the picture goes into one, on every space. Try:

    python examples/programs/mandelbrot.py --size 1000 --limit 1000
    EXECSPACE_DEFAULT=serial python examples/programs/mandelbrot.py

Method: H.-O. Peitgen and P. H. Richter, The Beauty of Fractals, Springer, 1986. The area of the
set is that of T. Foerstemann, Numerical estimation of the area of the Mandelbrot set, 2012.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import execspace as es

AREA = 1.5065919
SMALL = {"size": 15, "limit": 30}  # for slow spaces


# Rounding errors grow with each step, so a fused multiply-add would change when points near the
# set escape. Without it the picture is the same on all spaces, and in NumPy, to the last point.
@es.kernel(fma=False)
def escape(i, j, x, y, limit, steps):
    """Steps of the point (x[j], y[i]), at most `limit`."""
    re, im = x[j], y[i]
    n = 0
    while n < limit and re * re + im * im <= 4:
        re, im = re * re - im * im + x[j], 2 * re * im + y[i]
        n += 1
    steps[i, j] = n


def by_numpy(x: NDArray[Any], y: NDArray[Any], limit: int) -> NDArray[np.int64]:
    """The same by NumPy, which takes all points that have not escaped through a step at a time."""
    steps = np.full((y.size, x.size), limit)
    a, b, at = np.tile(x, y.size), np.repeat(y, x.size), np.arange(steps.size)
    re, im = a, b
    for n in range(limit):
        inside = re * re + im * im <= 4
        steps.flat[at[~inside]] = n
        at = at[inside]
        re, im, a, b = (array[inside] for array in (re, im, a, b))
        re, im = re * re - im * im + a, 2 * re * im + b
    return steps


def run(size: int = 400, limit: int = 200) -> dict[str, float]:
    """Draw `size` by `size` points with at most `limit` steps for each, and check them."""
    pixel = 2.5 / size
    x = -2.0 + pixel * (np.arange(size) + 0.5)
    y = -1.25 + pixel * (np.arange(size) + 0.5)
    steps = np.empty((size, size), np.int32)
    points = es.MDRangePolicy(steps.shape)
    es.parallel_for(points, escape, es.In(x), es.In(y), limit, es.Out(steps))

    wrong = np.count_nonzero(steps != by_numpy(x, y, limit))
    assert wrong == 0, f"{wrong} points differ from NumPy's"
    # Points that escape later count as well, which adds 4 / limit, and pixels are in or out as a
    # whole, which makes less than 0.3 pixel: measured for limits of 30 to 1000, sizes of 15 to 500.
    area = float(np.count_nonzero(steps == limit) * pixel**2)
    assert abs(area - AREA) < 5 / limit + pixel, f"area {area}, expected {AREA}"
    return {"points": steps.size, "steps": float(steps.mean()), "area": area}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The Mandelbrot set by escape times.")
    parser.add_argument("--size", type=int, default=400, help="points along each side")
    parser.add_argument("--limit", type=int, default=200, help="most steps of a point")
    found = run(**vars(parser.parse_args()))
    print(f"{found['points']} points on {es.default_space().name}")
    print(f"steps of a point: {found['steps']:.3f} in the mean")
    print(f"area {found['area']:.4f}; that of the set is {AREA:.4f}")
