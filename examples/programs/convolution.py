"""Blur an image: its convolution with a small filter, one index a pixel of the result.

    out[i, j] = sum over p, q of weights[p, q] * image[i + n - 1 - p, j + m - 1 - q]

where the filter, n by m, lies within the image ("valid" in SciPy and MATLAB). The filter is the
Gaussian of Gonzalez and Woods, Digital Image Processing, 4th edition (2018), section 3.5. NumPy
arrays go in and come out: `es.In` and `es.Out` leave them where they are on hosts, and copy them to
a GPU and back. Run it:

    python examples/programs/convolution.py --size 2000 --width 9
    EXECSPACE_DEFAULT=cuda python examples/programs/convolution.py
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt

import execspace as es

SMALL = {"size": 40, "width": 5}

Image = npt.NDArray[np.float64]


@es.kernel
def convolve_pixel(i, j, image, weights, out):
    """One pixel of the result."""
    n, m = weights.shape
    total = 0.0
    for p in range(n):
        for q in range(m):
            total += weights[p, q] * image[i + n - 1 - p, j + m - 1 - q]
    out[i, j] = total


def convolve(image: Image, weights: Image) -> Image:
    """The part of the convolution for which the filter lies within the image."""
    (rows, columns), (n, m) = image.shape, weights.shape
    out = np.empty((rows - n + 1, columns - m + 1))
    # Neighbouring pixels read much the same part of the image: a tile keeps it in the cache.
    pixels = es.MDRangePolicy(out.shape, tile=(64, 64))
    es.parallel_for(pixels, convolve_pixel, es.In(image), es.In(weights), es.Out(out))
    return out


def gaussian(width: int, sigma: float) -> Image:
    """A square filter of weights that sum to 1."""
    x = np.arange(width) - (width - 1) / 2
    row = np.exp(-(x**2) / (2 * sigma**2))
    return np.outer(row, row) / row.sum() ** 2


def rings(size: int) -> Image:
    """A square picture of grey values from 0 to 1: rings that get narrower outwards, and noise."""
    x = np.linspace(-1, 1, size)
    picture = 0.5 + 0.4 * np.cos(60 * (x[:, None] ** 2 + x**2))
    return picture + np.random.default_rng(1).uniform(-0.1, 0.1, picture.shape)


def run(size: int = 1000, width: int = 7) -> dict[str, float]:
    """Blur a picture of size by size pixels by a filter of width by width; compare with NumPy."""
    image, weights = rings(size), gaussian(width, width / 6)
    blurred = convolve(image, weights)

    windows = np.lib.stride_tricks.sliding_window_view(image, weights.shape)
    expected = np.einsum("ijpq,pq->ij", windows, weights[::-1, ::-1])
    # A sum of n products in any order is off by at most n eps times the sum of their sizes, here 1.
    assert np.abs(blurred - expected).max() < 2 * weights.size * np.finfo(float).eps

    # One that is not symmetric: convolution with a 1 off the centre shifts the picture.
    shift = np.zeros((3, 3))
    shift[0, 2] = 1
    assert (convolve(image, shift) == image[2:, :-2]).all()
    return {"contrast before": float(image.std()), "contrast after": float(blurred.std())}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1000, help="pixels of a side of the image")
    parser.add_argument("--width", type=int, default=7, help="pixels of a side of the filter")
    for name, value in run(**vars(parser.parse_args())).items():
        print(f"{name}: {value:.4f}")
