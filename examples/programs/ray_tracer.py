"""Spheres with shadows and reflections, by tracing rays.

A ray goes from the eye through each pixel. Where it enters a sphere, the surface is as bright as
its angle to the light says, or dark if another sphere is in between; a mirror takes a part of the
ray, which goes on from there (T. Whitted, An improved illumination model for shaded display,
Communications of the ACM 23, 1980). The spheres are records. All pixels are compared with those of
a recursive NumPy program.

    python examples/programs/ray_tracer.py --width 1200 --height 800 --output spheres.ppm
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es

SMALL = {"width": 15, "height": 10}

Array = npt.NDArray[Any]

SPHERE = np.dtype([("centre", "f8", 3), ("radius", "f8"), ("colour", "f8", 3), ("mirror", "f8")])
SPHERES = np.array(
    [
        ((0.0, -1000.0, 0.0), 1000.0, (0.7, 0.7, 0.6), 0.1),  # the ground
        ((0.0, 1.0, 0.0), 1.0, (0.9, 0.2, 0.2), 0.3),
        ((-2.1, 0.8, 0.4), 0.8, (0.2, 0.8, 0.3), 0.1),
        ((1.9, 0.7, 0.6), 0.7, (0.2, 0.4, 0.9), 0.5),
        ((0.5, 0.4, 1.7), 0.4, (0.9, 0.8, 0.3), 0.2),
        ((-0.9, 0.3, 1.6), 0.3, (0.8, 0.8, 0.8), 0.8),
    ],
    SPHERE,
)
EYE = (0.0, 1.5, 7.0)
LIGHT = (-0.48, 0.8, 0.36)  # where it comes from, of length 1
SKY = (0.6, 0.75, 1.0)
AMBIENT, FAR = 0.15, 1e9


@es.function
def dot(a, b):
    """Product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@es.function
def along(a, t, b):
    """The vector a + t b."""
    return a[0] + t * b[0], a[1] + t * b[1], a[2] + t * b[2]


@es.function
def entry(sphere, start, ray):
    """How far it is along a ray, of length 1, to where it enters a sphere; FAR if it does not.

    A ray that starts on a sphere and points away from it does not enter that one again.
    """
    way = along(sphere.centre, -1.0, start)
    middle = dot(way, ray)
    square = middle * middle - dot(way, way) + sphere.radius * sphere.radius
    if square <= 0:
        return FAR
    t = middle - math.sqrt(square)
    return t if t > 0 else FAR


@es.kernel
def trace(i, j, spheres, image, bounces):
    """The colour of a pixel."""
    height, width = image.extent(0), image.extent(1)
    start, ray = EYE, ((2 * j + 1 - width) / height, (0.6 * height - 2 * i - 1) / height, -2.5)
    ray = along((0.0, 0.0, 0.0), 1 / math.sqrt(dot(ray, ray)), ray)
    colour, part = (0.0, 0.0, 0.0), 1.0
    for _ in range(bounces + 1):
        nearest, found = FAR, -1
        for s in range(len(spheres)):
            t = entry(spheres[s], start, ray)
            if t < nearest:
                nearest, found = t, s
        if found < 0:
            colour = along(colour, part, SKY)
            break
        sphere = spheres[found]
        start = along(start, nearest, ray)
        normal = along((0.0, 0.0, 0.0), 1 / sphere.radius, along(start, -1.0, sphere.centre))
        brightness = max(0.0, dot(normal, LIGHT))
        for s in range(len(spheres)):
            if entry(spheres[s], start, LIGHT) < FAR:
                brightness = 0.0
        brightness = AMBIENT + (1 - AMBIENT) * brightness
        colour = along(colour, part * (1 - sphere.mirror) * brightness, sphere.colour)
        part *= sphere.mirror
        ray = along(ray, -2 * dot(ray, normal), normal)
    for c, value in enumerate(colour):
        image[i, j, c] = value


def entries(start: Array, ray: Array) -> Array:
    """What `entry` says, for all spheres (the rows) and all rays, whose vectors are columns."""
    way = SPHERES["centre"][:, :, None] - start
    middle = np.sum(way * ray, axis=1)
    square = middle**2 - np.sum(way**2, axis=1) + SPHERES["radius"][:, None] ** 2
    t = middle - np.sqrt(np.maximum(square, 0))
    return np.where((square > 0) & (t > 0), t, FAR)


def by_numpy(start: Array, ray: Array, bounces: int) -> Array:
    """The colours of all rays; what mirrors show are colours of other rays."""
    colour = np.outer(SKY, np.ones(ray.shape[1]))
    t = entries(start, ray)
    hit = t.min(axis=0) < FAR
    if not hit.any():
        return colour
    sphere, ray = SPHERES[t.argmin(axis=0)[hit]], ray[:, hit]
    point = start[:, hit] + t.min(axis=0)[hit] * ray
    normal = (point - sphere["centre"].T) / sphere["radius"]
    light = np.array(LIGHT)[:, None]
    shadow = entries(point, light).min(axis=0) < FAR
    bright = np.where(shadow, 0, np.maximum(0, np.sum(normal * light, axis=0)))
    colour[:, hit] = (AMBIENT + (1 - AMBIENT) * bright) * sphere["colour"].T
    colour[:, hit] *= 1 - sphere["mirror"]
    if bounces > 0:
        reflected = ray - 2 * np.sum(ray * normal, axis=0) * normal
        colour[:, hit] += sphere["mirror"] * by_numpy(point, reflected, bounces - 1)
    return colour


def run(
    width: int = 300, height: int = 200, bounces: int = 4, output: str | None = None
) -> dict[str, float]:
    """Draw the spheres, check the picture, and write it to a PPM file if one is named."""
    image = np.empty((height, width, 3))
    pixels = es.MDRangePolicy((height, width))
    es.parallel_for(pixels, trace, es.In(SPHERES), es.Out(image), bounces)

    i, j = np.mgrid[:height, :width].reshape(2, -1)
    ray = np.stack([(2 * j + 1 - width) / height, (0.6 * height - 2 * i - 1) / height, 0 * i - 2.5])
    start = np.outer(EYE, np.ones(i.size))
    expected = by_numpy(start, ray / np.linalg.norm(ray, axis=0), bounces).T.reshape(image.shape)
    # The largest rounding errors are those of points on the ground, about 1e-16 of its radius
    # squared, which is 1e-10. Each reflection may magnify them ten times.
    error = np.abs(image - expected).max()
    assert error < 1e-6, error

    if output is not None:
        colours = (255 * np.minimum(image, 1)).astype(np.uint8)
        Path(output).write_bytes(b"P6 %d %d 255\n" % (width, height) + colours.tobytes())
    return {"pixels": width * height, "brightness": float(image.mean()), "error": float(error)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Spheres with shadows and reflections.")
    parser.add_argument("--width", type=int, default=300, help="pixels")
    parser.add_argument("--height", type=int, default=200, help="pixels")
    parser.add_argument("--bounces", type=int, default=4, help="reflections of a ray, at most")
    parser.add_argument("--output", metavar="PPM", help="file for the picture")
    found = run(**vars(parser.parse_args()))
    print(f"{found['pixels']} pixels on {es.default_space().name}")
    print(f"mean brightness {found['brightness']:.4f}, off by at most {found['error']:.1e}")
