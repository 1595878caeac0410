"""Geometry: great circles, polygons, rotations, rays, distance fields.

Helpers with several results, functions and lambdas as arguments, records, bools, early returns.
Checked against vector algebra in NumPy, exact distances, or shapes whose answer is known.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

EARTH = 6371.0088


# Great-circle distances by the haversine formula (R. W. Sinnott 1984): a default argument.
def haversine(lat1, lon1, lat2, lon2, radius=EARTH):
    a = math.sin((lat2 - lat1) / 2) ** 2
    a += math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * radius * math.asin(math.sqrt(min(a, 1.0)))


def test_haversine_distances_agree_with_chords(space):
    @es.kernel
    def distances(i, j, places, out):
        lat1, lon1 = math.radians(places[i, 0]), math.radians(places[i, 1])
        lat2, lon2 = math.radians(places[j, 0]), math.radians(places[j, 1])
        if i < j:
            out[i, j] = haversine(lat1, lon1, lat2, lon2)
        else:
            out[i, j] = haversine(lat1, lon1, lat2, lon2, radius=1.0)

    places = np.array([[90, 0], [0, 0], [0, 90], [48.8566, 2.3522], [40.7128, -74.006], [-90, 3]])
    out = np.full((6, 6), np.nan)
    with es.use_space(space):
        staged.parallel_for(es.MDRangePolicy(out.shape), distances, places, out)
    lat, lon = np.radians(places).T
    p = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
    angles = 2 * np.arcsin(np.minimum(np.linalg.norm(p[:, None] - p[None], axis=2) / 2, 1))
    radii = np.where(np.triu(np.ones((6, 6)), 1), EARTH, 1)
    np.testing.assert_allclose(out, radii * angles, rtol=1e-12, atol=1e-12)
    assert out[3, 4] == pytest.approx(5837, abs=1)  # Paris and New York, in km


# Point in polygon by crossings (W. R. Franklin's PNPOLY): a bool that toggles.
@es.kernel
def inside_polygon(p, points, polygon, inside):
    x, y = points[p, 0], points[p, 1]
    within = False
    j = len(polygon) - 1
    for i in range(len(polygon)):
        xi, yi = polygon[i, 0], polygon[i, 1]
        xj, yj = polygon[j, 0], polygon[j, 1]
        if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
            within = not within
        j = i
    inside[p] = within


def test_points_in_an_l_shaped_polygon(space):
    corners = np.array([[0, 0], [4, 0], [4, 1], [1, 1], [1, 3], [0, 3]], float)
    points = np.random.default_rng(1).uniform(-0.5, 4.5, (200, 2))
    inside = np.zeros(200, bool)
    with es.use_space(space):
        staged.parallel_for(200, inside_polygon, points, corners, inside)
    x, y = points.T
    low = (x > 0) & (x < 4) & (y > 0) & (y < 1)
    tall = (x > 0) & (x < 1) & (y > 0) & (y < 3)
    np.testing.assert_array_equal(inside, low | tall)
    assert 10 < inside.sum() < 100


# Rotations by unit quaternions: tuples go into helpers and come out of them.
def hamilton(p, q):
    a, b, c, d = p
    w, x, y, z = q
    return (
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    )


def conjugate(q):
    return q[0], -q[1], -q[2], -q[3]


def test_quaternions_rotate_like_rodrigues_formula(space):
    def rotate(i, axes, angles, vectors, out):
        half = angles[i] / 2
        s = math.sin(half)
        q = (math.cos(half), s * axes[i, 0], s * axes[i, 1], s * axes[i, 2])
        p = (0.0, vectors[i, 0], vectors[i, 1], vectors[i, 2])
        _, out[i, 0], out[i, 1], out[i, 2] = hamilton(hamilton(q, p), conjugate(q))

    rng = np.random.default_rng(2)
    axes, vectors = rng.normal(size=(2, 20, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    angles, out = rng.uniform(-4, 4, 20), np.zeros((20, 3))
    with es.use_space(space):
        staged.parallel_for(20, rotate, axes, angles, vectors, out)
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    along = (axes * vectors).sum(axis=1)[:, None]
    exact = vectors * c + np.cross(axes, vectors) * s + axes * along * (1 - c)
    np.testing.assert_allclose(out, exact, rtol=1e-12, atol=1e-13)


# The nearest of several spheres along a ray, as in small ray tracers: records of vectors.
SPHERE = np.dtype([("x", float), ("y", float), ("z", float), ("r", np.float32)])


def test_rays_hit_the_nearest_of_several_spheres(space):
    def hit(ox, oy, oz, dx, dy, dz, sphere):
        px, py, pz = ox - sphere.x, oy - sphere.y, oz - sphere.z
        b = px * dx + py * dy + pz * dz
        c = px * px + py * py + pz * pz - sphere.r * sphere.r
        discriminant = b * b - c
        if discriminant < 0:
            return math.inf
        root = math.sqrt(discriminant)
        return -b - root if -b - root > 1e-9 else -b + root if -b + root > 1e-9 else math.inf

    @es.kernel
    def trace(i, j, spheres, depth, which):
        nearest, index = math.inf, -1
        for s in range(len(spheres)):
            t = hit(i - 3.0, j - 3.0, -10.0, 0.0, 0.0, 1.0, spheres[s])
            if t < nearest:
                nearest, index = t, s
        depth[i, j] = nearest
        which[i, j] = index

    spheres = np.array([(0, 0, 0, 2.5), (1, 1, -3, 1.5)], SPHERE)
    depth, which = np.zeros((7, 7)), np.zeros((7, 7), np.int8)
    with es.use_space(space):
        staged.parallel_for(es.MDRangePolicy((7, 7)), trace, spheres, depth, which)
    x, y = np.indices((7, 7)) - 3.0
    surfaces = []
    for s in spheres:
        left = float(s["r"]) ** 2 - (x - s["x"]) ** 2 - (y - s["y"]) ** 2
        surfaces.append(np.where(left >= 0, 10 + s["z"] - np.sqrt(np.maximum(left, 0)), np.inf))
    nearest = np.minimum(*surfaces)
    np.testing.assert_allclose(depth, nearest, rtol=1e-14)
    np.testing.assert_array_equal(
        which, np.where(np.isinf(nearest), -1, np.argmin(surfaces, axis=0))
    )
    assert set(which.ravel()) == {-1, 0, 1}


# Sphere tracing (J. C. Hart 1996) of a scene that is a function, as in Warp's example_raymarch.
def sphere_field(x, y, z, radius=1.0):
    return math.sqrt(x * x + y * y + z * z) - radius


def box_field(x, y, z):
    qx, qy, qz = abs(x) - 0.5, abs(y) - 0.5, abs(z) - 0.5
    outside = math.sqrt(max(qx, 0.0) ** 2 + max(qy, 0.0) ** 2 + max(qz, 0.0) ** 2)
    return outside + min(max(qx, qy, qz), 0.0)


def march(field, ox, oy, oz, far=20.0):
    t = 0.0
    for _ in range(200):
        distance = field(ox, oy, oz + t)
        if distance < 1e-10:
            return t
        t += distance
        if t > far:
            break
    return -1.0


@es.kernel
def render(i, j, field, depth):
    depth[i, j] = march(field, -1.2 + 0.4 * i, -1.2 + 0.4 * j, -4.0)


BIG_SPHERE = functools.partial(sphere_field, radius=1.1)


@pytest.mark.parametrize("scene", ["sphere", "big sphere", "box", "carved"])
def test_rays_march_to_the_surface_of_a_distance_field(space, scene):
    fields = {
        "sphere": sphere_field,
        "big sphere": BIG_SPHERE,
        "box": box_field,
        "carved": lambda x, y, z: max(box_field(x, y, z), 0.6 - math.sqrt(x * x + y * y)),
    }
    depth = np.zeros((7, 7))
    with es.use_space(space):
        staged.parallel_for(es.MDRangePolicy((7, 7)), render, fields[scene], depth)
    x, y = np.meshgrid(-1.2 + 0.4 * np.arange(7), -1.2 + 0.4 * np.arange(7), indexing="ij")
    if "sphere" in scene:
        radius = 1.1 if "big" in scene else 1.0
        left = radius**2 - x * x - y * y
        exact = np.where(left > 0, 4 - np.sqrt(np.maximum(left, 0)), -1)
    else:
        there = (abs(x) < 0.5) & (abs(y) < 0.5)
        exact = np.where(there & ((scene == "box") | (x * x + y * y > 0.36)), 3.5, -1)
    np.testing.assert_allclose(depth, exact, atol=1e-8)
