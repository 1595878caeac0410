"""Image processing: filters, interpolation, colour spaces, fractals.

Integers of 8 and 16 bits, clamped borders, sorting networks, complex iteration. Checked against
NumPy on whole images, the standard library's colorsys, or exact values.
"""

from __future__ import annotations

import cmath
import colorsys
import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype

IMAGE = np.random.default_rng(1).integers(0, 256, (14, 17), dtype=np.uint8)


# The Sobel operator, as in scikit-image and Warp's image examples: uint8 in, float32 out.
@es.kernel
def sobel(y, x, image, magnitude):
    north, south = y - 1, y + 1
    west, east = x - 1, x + 1
    gx = (es.float32(image[north, east]) - image[north, west]) + (
        es.float32(image[south, east]) - image[south, west]
    )
    gx += 2 * (es.float32(image[y, east]) - image[y, west])
    gy = (es.float32(image[south, west]) - image[north, west]) + (
        es.float32(image[south, east]) - image[north, east]
    )
    gy += 2 * (es.float32(image[south, x]) - image[north, x])
    magnitude[y, x] = math.sqrt(gx * gx + gy * gy)


def test_sobel_agrees_with_shifted_images(space):
    magnitude = np.zeros(IMAGE.shape, np.float32)
    with es.use_space(space):
        interior = es.MDRangePolicy((1, 1), (IMAGE.shape[0] - 1, IMAGE.shape[1] - 1))
        staged.parallel_for(interior, sobel, IMAGE, magnitude)
    p = IMAGE.astype(float)
    across, down = p[:, 2:] - p[:, :-2], p[2:] - p[:-2]
    gx = across[:-2] + 2 * across[1:-1] + across[2:]
    gy = down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]
    np.testing.assert_allclose(magnitude[1:-1, 1:-1], np.hypot(gx, gy), rtol=3e-7)
    assert not magnitude[0].any() and not magnitude[:, -1].any()


# A bilateral filter (Tomasi and Manduchi 1998): a window whose radius is known when compiling.
def test_bilateral_filter_agrees_with_shifted_images(space):
    @es.kernel
    def bilateral(y, x, source, target, radius: es.static, sigma_space, sigma_range):
        height, width = source.shape
        total = weights = 0.0
        for dy in range(-radius, radius + 1):
            for dx in range(-radius, radius + 1):
                v, u = y + dy, x + dx
                if v < 0 or v >= height or u < 0 or u >= width:
                    continue
                step = source[v, u] - source[y, x]
                exponent = (dx * dx + dy * dy) / (2 * sigma_space**2)
                exponent += step * step / (2 * sigma_range**2)
                w = math.exp(-exponent)
                total += w * source[v, u]
                weights += w
        target[y, x] = total / weights

    source = np.random.default_rng(2).random((9, 11))
    target = np.empty_like(source)
    with es.use_space(space):
        policy = es.MDRangePolicy(source.shape)
        staged.parallel_for(policy, bilateral, source, target, 2, 1.5, 0.3)
    padded = np.pad(source, 2, constant_values=np.nan)
    total, weights = np.zeros((2, *source.shape))
    for dy in range(5):
        for dx in range(5):
            shifted = padded[dy : dy + 9, dx : dx + 11]
            near = ((dy - 2) ** 2 + (dx - 2) ** 2) / (2 * 1.5**2)
            w = np.exp(-near - (shifted - source) ** 2 / (2 * 0.3**2))
            weights += np.nan_to_num(w)
            total += np.nan_to_num(w * shifted)
    np.testing.assert_allclose(target, total / weights, rtol=1e-12)


# The median of nine values by a sorting network (Paeth, Graphics Gems, 1990).
def ordered(a, b):
    return min(a, b), max(a, b)


def test_median_filter_by_a_sorting_network(space):
    @es.kernel
    def median_3x3(y, x, image, out):
        a, b, c = image[y - 1, x - 1], image[y - 1, x], image[y - 1, x + 1]
        d, e, f = image[y, x - 1], image[y, x], image[y, x + 1]
        g, h, i = image[y + 1, x - 1], image[y + 1, x], image[y + 1, x + 1]
        b, c = ordered(b, c)
        e, f = ordered(e, f)
        h, i = ordered(h, i)
        a, b = ordered(a, b)
        d, e = ordered(d, e)
        g, h = ordered(g, h)
        b, c = ordered(b, c)
        e, f = ordered(e, f)
        h, i = ordered(h, i)
        d, g = max(a, d), max(g, d)
        f, c = min(f, i), min(c, min(f, i))
        e, h = ordered(e, h)
        b, e = ordered(b, e)
        e = min(e, h)
        g = max(d, g)
        e, c = ordered(e, c)
        g, e = ordered(g, e)
        out[y, x] = min(e, c)

    out = np.zeros_like(IMAGE)
    with es.use_space(space):
        interior = es.MDRangePolicy((1, 1), (IMAGE.shape[0] - 1, IMAGE.shape[1] - 1))
        staged.parallel_for(interior, median_3x3, IMAGE, out)
    windows = np.lib.stride_tricks.sliding_window_view(IMAGE, (3, 3))
    np.testing.assert_array_equal(out[1:-1, 1:-1], np.median(windows, axis=(2, 3)))


# Bilinear interpolation with clamped edges, as in texture look-ups of ray tracers.
def lerp(a, b, t):
    return a + (b - a) * t


@es.kernel
def sample_bilinear(p, image, ys, xs, out):
    rows, columns = image.shape
    y = min(max(ys[p], 0.0), rows - 1.0)
    x = min(max(xs[p], 0.0), columns - 1.0)
    i = min(int(y), rows - 2)
    j = min(math.floor(x), columns - 2)
    low = lerp(image[i, j], image[i, j + 1], x - j)
    high = lerp(image[i + 1, j], image[i + 1, j + 1], x - j)
    out[p] = lerp(low, high, y - i)


def test_bilinear_interpolation_reproduces_bilinear_functions(space):
    def plane(y, x):
        return 2.0 - 0.5 * y + 3.0 * x + 0.25 * x * y

    image = plane(*np.indices((5, 7)))
    rng = np.random.default_rng(3)
    ys, xs = rng.uniform(-1, 6, 60), rng.uniform(-1, 8, 60)
    ys[:2], xs[:2] = (4.0, 0.0), (6.0, 0.0)  # corners
    out = np.empty(60)
    with es.use_space(space):
        staged.parallel_for(60, sample_bilinear, image, ys, xs, out)
    np.testing.assert_allclose(out, plane(np.clip(ys, 0, 4), np.clip(xs, 0, 6)), rtol=1e-13)


# RGB to HSV by Smith's hexcone (1978): a helper with three results.
def rgb_to_hsv(r, g, b):
    value = max(r, g, b)
    chroma = value - min(r, g, b)
    if chroma == 0:
        return 0.0, 0.0, value
    if value == r:
        hue = (g - b) / chroma % 6
    elif value == g:
        hue = (b - r) / chroma + 2
    else:
        hue = (r - g) / chroma + 4
    return hue / 6, chroma / value, value


def test_rgb_to_hsv_agrees_with_colorsys(space):
    def convert(p, rgb, hsv):
        hsv[p, 0], hsv[p, 1], hsv[p, 2] = rgb_to_hsv(rgb[p, 0], rgb[p, 1], rgb[p, 2])

    rgb = np.random.default_rng(4).random((50, 3))
    rgb[:4] = [[0, 0, 0], [0.5, 0.5, 0.5], [1, 0, 0], [1, 0, 1]]
    hsv = np.empty_like(rgb)
    with es.use_space(space):
        staged.parallel_for(len(rgb), convert, rgb, hsv)
    expected = [colorsys.rgb_to_hsv(*colour) for colour in rgb]
    np.testing.assert_allclose(hsv, expected, rtol=1e-13, atol=1e-15)


# The Mandelbrot set by escape times, as in many Numba examples. Returns from within a loop.
def escape_time(c, limit):
    z = 0j
    for n in range(limit):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            return n
    return limit


@es.kernel
def mandelbrot(i, j, x0, y0, step, counts):
    counts[i, j] = escape_time(complex(x0 + i * step, y0 + j * step), 30)


def test_mandelbrot_escape_times_agree_with_whole_array_iteration(space):
    needs_dtype(space, np.complex128)
    nx, ny, step = 15, 11, 0.1875  # powers of two, so that all the points are exact
    counts = np.zeros((nx, ny), np.uint16)
    with es.use_space(space):
        staged.parallel_for(es.MDRangePolicy((nx, ny)), mandelbrot, -2.0, -0.9375, step, counts)
    x, y = np.meshgrid(-2 + step * np.arange(nx), -0.9375 + step * np.arange(ny), indexing="ij")
    c, expected = x + 1j * y, np.full((nx, ny), 30)
    z = np.zeros_like(c)
    for n in range(30):
        z = np.where(expected == 30, z * z + c, z)
        expected[(expected == 30) & (abs(z) >= 2)] = n
    np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(counts, counts[:, ::-1])
    inside = abs(1 - cmath.sqrt(1 - 4 * -0.125)) < 1  # the cardioid has -0.125 in it
    assert inside and counts[10, 5] == 30


# Newton's fractal of z**3 = 1: a loop with break and else.
@es.kernel
def newton_basin(i, j, step, basin):
    z = complex((i + 0.5) * step - 1, (j + 0.5) * step - 1)
    for _ in range(60):
        delta = (z * z * z - 1) / (3 * z * z)
        z -= delta
        if abs(delta) < 1e-13:
            break
    else:
        basin[i, j] = -1
        return
    turns = math.atan2(z.imag, z.real) * 3 / (2 * math.pi)
    basin[i, j] = round(turns) % 3


def test_newton_basins_have_the_symmetry_of_conjugation(space):
    needs_dtype(space, np.complex128)
    n = 10
    basin = np.full((n, n), 7, np.int8)
    with es.use_space(space):
        staged.parallel_for(es.MDRangePolicy((n, n)), newton_basin, 2 / n, basin)
    assert set(np.unique(basin)) == {0, 1, 2}
    np.testing.assert_array_equal(basin[:, ::-1], np.array([0, 2, 1])[basin])
    assert (basin[-1, n // 2 - 1 : n // 2 + 1] == 0).all()  # the neighbours of the root 1


# G.711 mu-law: int16 to uint8 and back, with shifts, masks and a while loop.
@es.kernel
def mu_law_encode(i, samples, codes):
    sample = int(samples[i])
    sign = 0x80 if sample < 0 else 0
    magnitude = min(abs(sample), 32635) + 132
    exponent = 7
    mask = 0x4000
    while exponent > 0 and not magnitude & mask:
        exponent -= 1
        mask >>= 1
    mantissa = (magnitude >> (exponent + 3)) & 0x0F
    codes[i] = ~(sign | exponent << 4 | mantissa) & 0xFF


@es.kernel
def mu_law_decode(i, codes, samples):
    code = ~codes[i]
    magnitude = ((int(code & 0x0F) << 3) + 132 << int(code >> 4 & 7)) - 132
    samples[i] = -magnitude if code & 0x80 else magnitude


def test_mu_law_has_the_published_levels(space):
    codes = np.arange(256).astype(np.uint8)
    levels, again = np.zeros(256, np.int16), np.zeros(256, np.uint8)
    with es.use_space(space):
        staged.parallel_for(256, mu_law_decode, codes, levels)
        staged.parallel_for(256, mu_law_encode, levels, again)
    assert levels[[0x00, 0x0F, 0x10, 0x7F, 0x80, 0xFE, 0xFF]].tolist() == [
        *(-32124, -16764, -15996, 0, 32124, 8, 0)
    ]
    again[0x7F] = 0x7F  # minus zero is encoded as zero
    np.testing.assert_array_equal(again, codes)


def test_mu_law_errors_are_at_most_half_a_step(space):
    samples = np.linspace(-32768, 32767, 300).astype(np.int16)
    codes, decoded = np.zeros(300, np.uint8), np.zeros(300, np.int16)
    with es.use_space(space):
        staged.parallel_for(300, mu_law_encode, samples, codes)
        staged.parallel_for(300, mu_law_decode, codes, decoded)
    clipped = np.clip(samples.astype(int), -32635, 32635)
    step = 2.0 ** np.floor(np.log2(abs(clipped) + 132)) / 16
    assert (abs(decoded - clipped) <= step / 2).all()
    assert abs(decoded[0]) == pytest.approx(32124)
