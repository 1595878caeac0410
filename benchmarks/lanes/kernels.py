"""Twelve kernels as a scientist writes them, whose calls have loops, branches or gathers.

Elements of the Views decide in which precision a kernel computes. `kernels.c` and `kernels.ispc`
have the same loops; `cases.py` has the data.
"""

from __future__ import annotations

import math

import execspace as es

# Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17.
P1, P2, P3, P4, P5 = 0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429
SLOPE, DENSITY = 0.2316419, 0.3989422804014327
RATE, VOLATILITY = 0.02, 0.3

NEAR, FAR = 1e-3, 1e9  # distances between which a ray can hit
BOUNCES, AMBIENT = 3, 0.1

PAIRS = ((0, 1), (0, 2), (1, 2))  # of a row and a column above the diagonal
SWEEPS = 4

D2Q9 = (  # velocities and weights
    (0, 0, 4 / 9),
    (1, 0, 1 / 9), (0, 1, 1 / 9), (-1, 0, 1 / 9), (0, -1, 1 / 9),
    (1, 1, 1 / 36), (-1, 1, 1 / 36), (-1, -1, 1 / 36), (1, -1, 1 / 36),
)  # fmt: skip

LENGTH = 48  # of sequences
MATCH, MISMATCH, GAP = 3, -1, 2


@es.kernel
def nbody(i, acceleration, position, mass, softening):
    """Acceleration by the gravity of all bodies, with Plummer's softening."""
    x, y, z = position[i, 0], position[i, 1], position[i, 2]
    ax = ay = az = 0.0
    for j in range(position.shape[0]):
        dx, dy, dz = position[j, 0] - x, position[j, 1] - y, position[j, 2] - z
        inverse = 1.0 / math.sqrt(dx * dx + dy * dy + dz * dz + softening)
        pull = mass[j] * inverse * inverse * inverse
        ax += pull * dx
        ay += pull * dy
        az += pull * dz
    acceleration[i, 0], acceleration[i, 1], acceleration[i, 2] = ax, ay, az


@es.kernel
def mandelbrot(i, j, steps, re, im, limit):
    """How often z -> z^2 + c goes before |z| is greater than 2."""
    a, b = re[j], im[i]
    x, y = a, b
    n = 0
    while n < limit and x * x + y * y <= 4.0:
        x, y = x * x - y * y + a, 2.0 * x * y + b
        n += 1
    steps[i, j] = n


@es.function
def normal(d):
    """Cumulative normal distribution, to seven digits."""
    k = 1.0 / (1.0 + SLOPE * abs(d))
    tail = k * (P1 + k * (P2 + k * (P3 + k * (P4 + k * P5))))
    tail = DENSITY * math.exp(-0.5 * d * d) * tail
    return 1.0 - tail if d > 0.0 else tail


@es.kernel
def black_scholes(i, call, put, spot, strike, years):
    """Prices of European options (Black and Scholes, J. Polit. Econ. 81, 1973)."""
    root = VOLATILITY * math.sqrt(years[i])
    first = math.log(spot[i] / strike[i]) + (RATE + 0.5 * VOLATILITY**2) * years[i]
    first = first / root
    paid = strike[i] * math.exp(-RATE * years[i])
    n1, n2 = normal(first), normal(first - root)
    call[i] = spot[i] * n1 - paid * n2
    put[i] = paid * (1.0 - n2) - spot[i] * (1.0 - n1)


class Vector(es.Record):
    """What vectors of both precisions can do."""

    def __add__(self, other):
        return type(self)(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other):
        return type(self)(self.x - other.x, self.y - other.y, self.z - other.z)

    def __rmul__(self, number):
        return type(self)(number * self.x, number * self.y, number * self.z)

    def dot(self, other):
        """Inner product."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def unit(self):
        """The vector of length 1 in the same direction."""
        return (1.0 / math.sqrt(self.dot(self))) * self


class Vector64(Vector):
    """A vector of float64."""

    x: es.float64
    y: es.float64
    z: es.float64


class Vector32(Vector):
    """A vector of float32."""

    x: es.float32
    y: es.float32
    z: es.float32


class Sphere64(es.Record):
    """A sphere, and which part of the light it reflects."""

    centre: Vector64
    radius: es.float64
    mirror: es.float64


class Sphere32(es.Record):
    """The same in float32."""

    centre: Vector32
    radius: es.float32
    mirror: es.float32


@es.function
def nearest(spheres, origin, direction):
    """Distance along a ray to the first sphere, and its number; -1 if there is none."""
    best, found = FAR, -1
    for k in range(len(spheres)):
        to_centre = spheres[k].centre - origin
        along = to_centre.dot(direction)
        gap = spheres[k].radius * spheres[k].radius - to_centre.dot(to_centre) + along * along
        if gap > 0.0:
            distance = along - math.sqrt(gap)
            if NEAR < distance < best:
                best, found = distance, k
    return best, found


@es.function
def in_shadow(spheres, origin, direction):
    """Whether some sphere is on a ray."""
    for k in range(len(spheres)):
        to_centre = spheres[k].centre - origin
        along = to_centre.dot(direction)
        gap = spheres[k].radius * spheres[k].radius - to_centre.dot(to_centre) + along * along
        if gap > 0.0 and along - math.sqrt(gap) > NEAR:
            return True
    return False


@es.kernel
def ray_tracer(i, j, image, spheres, camera, light, across, down):
    """Brightness of a pixel: mirroring spheres in a distant light, with shadows.

    After Whitted (Commun. ACM 23, 1980). `camera` has its place, and where right, up and ahead are.
    """
    origin = camera[0].copy()
    direction = (camera[3] + across[j] * camera[1] + down[i] * camera[2]).unit()
    brightness, weight = 0.0, 1.0
    for _ in range(BOUNCES):
        distance, k = nearest(spheres, origin, direction)
        if k < 0:
            brightness += weight * (0.5 + 0.5 * direction.y)
            break
        origin = origin + distance * direction
        outward = (1.0 / spheres[k].radius) * (origin - spheres[k].centre)
        lit = max(outward.dot(light[0]), 0.0)
        if lit > 0.0 and in_shadow(spheres, origin, light[0]):
            lit = 0.0
        brightness += weight * (1.0 - spheres[k].mirror) * (AMBIENT + lit)
        weight *= spheres[k].mirror
        direction = direction - (2.0 * direction.dot(outward)) * outward
    image[i, j] = brightness


@es.kernel
def lj(i, force, position, count, neighbours, cutoff2):
    """Force of Lennard-Jones by a list of neighbours, of which some are too far away."""
    x, y, z = position[i, 0], position[i, 1], position[i, 2]
    fx = fy = fz = 0.0
    for k in range(count[i]):
        j = neighbours[i, k]
        dx, dy, dz = x - position[j, 0], y - position[j, 1], z - position[j, 2]
        r2 = dx * dx + dy * dy + dz * dz
        if r2 < cutoff2:
            inverse2 = 1.0 / r2
            inverse6 = inverse2 * inverse2 * inverse2
            strength = 48.0 * inverse6 * (inverse6 - 0.5) * inverse2
            fx += strength * dx
            fy += strength * dy
            fz += strength * dz
    force[i, 0], force[i, 1], force[i, 2] = fx, fy, fz


@es.kernel
def eigen3(i, values, matrices):
    """Eigenvalues of a symmetric matrix, ascending, by cyclic Jacobi rotations.

    Golub and Van Loan, Matrix Computations, section 8.5.
    """
    a = es.local((3, 3), matrices.dtype)
    for p in range(3):
        for q in range(3):
            a[p, q] = matrices[i, p, q]
    for _ in range(SWEEPS):
        for p, q in PAIRS:
            if a[p, q] != 0.0:
                theta = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
                t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
                if theta < 0.0:
                    t = -t
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(3):
                    u, v = a[k, p], a[k, q]
                    a[k, p], a[k, q] = c * u - s * v, s * u + c * v
                for k in range(3):
                    u, v = a[p, k], a[q, k]
                    a[p, k], a[q, k] = c * u - s * v, s * u + c * v
    low, high = min(a[0, 0], a[1, 1]), max(a[0, 0], a[1, 1])
    last = a[2, 2]
    values[i, 0] = min(low, last)
    values[i, 1] = max(low, min(high, last))
    values[i, 2] = max(high, last)


@es.kernel
def lbm(y, x, new, old, omega):
    """A step of the lattice Boltzmann method with BGK's collisions, on D2Q9.

    Qian, d'Humieres and Lallemand (Europhys. Lett. 17, 1992). What has streamed here is collided.
    """
    density = u = v = 0.0
    for k, (cx, cy, _) in enumerate(D2Q9):
        f = old[k, y - cy, x - cx]
        density += f
        u += cx * f
        v += cy * f
    u /= density
    v /= density
    square = 1.5 * (u * u + v * v)
    for k, (cx, cy, w) in enumerate(D2Q9):
        f = old[k, y - cy, x - cx]
        along = 3.0 * (cx * u + cy * v)
        rest = w * density * (1.0 + along + 0.5 * along * along - square)
        new[k, y, x] = f + omega * (rest - f)


@es.function
def fmix32(h):
    """MurmurHash3's finaliser of 32 bits (Appleby, 2011)."""
    h = es.uint32((h ^ (h >> 16)) * 0x85EBCA6B)
    h = es.uint32((h ^ (h >> 13)) * 0xC2B2AE35)
    return h ^ (h >> 16)


@es.function
def fmix64(h):
    """MurmurHash3's finaliser of 64 bits (Appleby, 2011)."""
    h = (h ^ (h >> es.uint64(33))) * es.uint64(0xFF51AFD7ED558CCD)
    h = (h ^ (h >> es.uint64(33))) * es.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> es.uint64(33))


@es.kernel
def ising(i, j, spins, accept, colour, step):
    """Metropolis' step for the spins of one colour of a checkerboard, on a torus.

    Preis et al. (J. Comput. Phys. 228, 2009). The random number is a hash of site and step.
    """
    rows, columns = spins.shape
    x = 2 * j + (i + colour) % 2
    above = spins[i - 1 if i > 0 else rows - 1, x]
    below = spins[i + 1 if i < rows - 1 else 0, x]
    left = spins[i, x - 1 if x > 0 else columns - 1]
    right = spins[i, x + 1 if x < columns - 1 else 0]
    spin = spins[i, x]
    along = spin * (above + below + left + right)
    h = fmix32(es.uint32(i * columns + x) ^ fmix32(es.uint32(step)))
    u = es.float32(h >> 8) * 2.0**-24
    if u < accept[(along + 4) // 2]:
        spins[i, x] = -spin


@es.kernel
def spmv(row, y, first, columns, values, x):
    """A row of a sparse matrix in the format CSR, times a vector."""
    total = 0.0
    for k in range(first[row], first[row + 1]):
        total += values[k] * x[columns[k]]
    y[row] = total


@es.kernel
def smith_waterman(pair, score, first, second):
    """Best local alignment of two sequences (Smith and Waterman, J. Mol. Biol. 147, 1981).

    Gaps cost the same for each place. A private array has a row of the table.
    """
    row = es.local(LENGTH, es.int32)
    best = 0
    for i in range(LENGTH):
        letter = first[pair, i]
        diagonal = left = 0
        for j in range(LENGTH):
            here = diagonal + (MATCH if letter == second[pair, j] else MISMATCH)
            diagonal = row[j]
            left = max(0, here, diagonal - GAP, left - GAP)
            row[j] = left
            best = max(best, left)
    score[pair] = best


@es.kernel
def darts64(i, share, seed, darts):
    """Which share of random points lies in a quarter of a disc, in float64."""
    hits = 0
    for n in range(darts):
        x, y = es.random_uniform(seed, i, 2 * n), es.random_uniform(seed, i, 2 * n + 1)
        if x * x + y * y < 1.0:
            hits += 1
    share[i] = hits / darts


@es.kernel
def darts32(i, share, seed, darts):
    """The same in float32."""
    hits = 0
    for n in range(darts):
        x, y = es.random_uniform32(seed, i, 2 * n), es.random_uniform32(seed, i, 2 * n + 1)
        if x * x + y * y < 1.0:
            hits += 1
    share[i] = hits / darts


@es.kernel
def hash64(i, hashes, keys, rounds):
    """A hash of 64 bits, again and again."""
    h = keys[i]
    for _ in range(rounds):
        h = fmix64(h)
    hashes[i] = h


@es.kernel
def hash32(i, hashes, keys, rounds):
    """A hash of 32 bits, again and again."""
    h = keys[i]
    for _ in range(rounds):
        h = fmix32(h)
    hashes[i] = h
