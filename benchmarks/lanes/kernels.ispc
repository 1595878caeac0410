/* The kernels of kernels.py in ISPC's language: each a foreach over its last index.
 *
 * REAL is float or double, UINT uint32 or uint64, BITS 32 or 64. Arguments are those of kernels.c.
 */
#define R(x) ((REAL)(x##d))

export void nbody_loop(uniform int begin, uniform int end, uniform int n,
                       uniform REAL acceleration[], const uniform REAL position[],
                       const uniform REAL mass[], uniform REAL softening) {
    foreach (i = begin ... end) {
        const REAL x = position[3 * i], y = position[3 * i + 1], z = position[3 * i + 2];
        REAL ax = 0, ay = 0, az = 0;
        for (uniform int j = 0; j < n; ++j) {
            const REAL dx = position[3 * j] - x, dy = position[3 * j + 1] - y,
                       dz = position[3 * j + 2] - z;
            const REAL inverse = 1 / sqrt(dx * dx + dy * dy + dz * dz + softening);
            const REAL pull = mass[j] * inverse * inverse * inverse;
            ax += pull * dx;
            ay += pull * dy;
            az += pull * dz;
        }
        acceleration[3 * i] = ax;
        acceleration[3 * i + 1] = ay;
        acceleration[3 * i + 2] = az;
    }
}

export void mandelbrot_loop(uniform int begin, uniform int end, uniform int width,
                            uniform int32 steps[], const uniform REAL re[],
                            const uniform REAL im[], uniform int limit) {
    for (uniform int i = begin; i < end; ++i)
        foreach (j = 0 ... width) {
            const REAL a = re[j], b = im[i];
            REAL x = a, y = b;
            int n = 0;
            while (n < limit && x * x + y * y <= 4) {
                const REAL t = x * x - y * y + a;
                y = 2 * x * y + b;
                x = t;
                ++n;
            }
            steps[i * width + j] = n;
        }
}

static inline REAL normal(REAL d) {
    const REAL k = 1 / (1 + R(0.2316419) * abs(d));
    REAL tail = k * (R(0.319381530) + k * (R(-0.356563782) + k * (R(1.781477937) +
                k * (R(-1.821255978) + k * R(1.330274429)))));
    tail = R(0.3989422804014327) * exp(R(-0.5) * d * d) * tail;
    return d > 0 ? 1 - tail : tail;
}

export void black_scholes_loop(uniform int begin, uniform int end, uniform REAL call[],
                               uniform REAL put[], const uniform REAL spot[],
                               const uniform REAL strike[], const uniform REAL years[]) {
    foreach (i = begin ... end) {
        const REAL root = R(0.3) * sqrt(years[i]);
        const REAL first = (log(spot[i] / strike[i]) + R(0.065) * years[i]) / root;
        const REAL paid = strike[i] * exp(R(-0.02) * years[i]);
        const REAL n1 = normal(first), n2 = normal(first - root);
        call[i] = spot[i] * n1 - paid * n2;
        put[i] = paid * (1 - n2) - spot[i] * (1 - n1);
    }
}

struct Vector { REAL x, y, z; };
struct Sphere { Vector centre; REAL radius, mirror; };

static inline Vector vector(REAL x, REAL y, REAL z) {
    Vector made;
    made.x = x;
    made.y = y;
    made.z = z;
    return made;
}
static inline Vector operator+(Vector a, Vector b) {
    return vector(a.x + b.x, a.y + b.y, a.z + b.z);
}
static inline Vector operator-(Vector a, Vector b) {
    return vector(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline Vector operator*(REAL s, Vector a) { return vector(s * a.x, s * a.y, s * a.z); }
static inline REAL dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static inline int nearest(const uniform Sphere spheres[], uniform int count, Vector origin,
                          Vector direction, REAL &best) {
    int found = -1;
    best = R(1e9);
    for (uniform int k = 0; k < count; ++k) {
        const Vector to_centre = spheres[k].centre - origin;
        const REAL along = dot(to_centre, direction);
        const REAL gap = spheres[k].radius * spheres[k].radius - dot(to_centre, to_centre) +
                         along * along;
        if (gap > 0) {
            const REAL distance = along - sqrt(gap);
            if (R(1e-3) < distance && distance < best) {
                best = distance;
                found = k;
            }
        }
    }
    return found;
}

static inline bool in_shadow(const uniform Sphere spheres[], uniform int count, Vector origin,
                             Vector direction) {
    for (uniform int k = 0; k < count; ++k) {
        const Vector to_centre = spheres[k].centre - origin;
        const REAL along = dot(to_centre, direction);
        const REAL gap = spheres[k].radius * spheres[k].radius - dot(to_centre, to_centre) +
                         along * along;
        if (gap > 0 && along - sqrt(gap) > R(1e-3)) return true;
    }
    return false;
}

export void ray_tracer_loop(uniform int begin, uniform int end, uniform int width,
                            uniform int count, uniform REAL image[],
                            const uniform Sphere spheres[], const uniform Vector camera[],
                            const uniform Vector light[], const uniform REAL across[],
                            const uniform REAL down[]) {
    for (uniform int i = begin; i < end; ++i)
        foreach (j = 0 ... width) {
            Vector origin = camera[0];
            Vector direction = camera[3] + across[j] * camera[1] + down[i] * camera[2];
            direction = (1 / sqrt(dot(direction, direction))) * direction;
            REAL brightness = 0, weight = 1;
            for (uniform int bounce = 0; bounce < 3; ++bounce) {
                REAL distance;
                const int k = nearest(spheres, count, origin, direction, distance);
                if (k < 0) {
                    brightness += weight * (R(0.5) + R(0.5) * direction.y);
                    break;
                }
                origin = origin + distance * direction;
                const Vector outward = (1 / spheres[k].radius) * (origin - spheres[k].centre);
                REAL lit = max(dot(outward, light[0]), (varying REAL)0);
                if (lit > 0)
                    if (in_shadow(spheres, count, origin, light[0])) lit = 0;
                brightness += weight * (1 - spheres[k].mirror) * (R(0.1) + lit);
                weight *= spheres[k].mirror;
                direction = direction - (2 * dot(direction, outward)) * outward;
            }
            image[i * width + j] = brightness;
        }
}

export void lj_loop(uniform int begin, uniform int end, uniform int most, uniform REAL force[],
                    const uniform REAL position[], const uniform int32 count[],
                    const uniform int32 neighbours[], uniform REAL cutoff2) {
    foreach (i = begin ... end) {
        const REAL x = position[3 * i], y = position[3 * i + 1], z = position[3 * i + 2];
        REAL fx = 0, fy = 0, fz = 0;
        const int number = count[i];
        for (int k = 0; k < number; ++k) {
            const int j = neighbours[i * most + k];
            const REAL dx = x - position[3 * j], dy = y - position[3 * j + 1],
                       dz = z - position[3 * j + 2];
            const REAL r2 = dx * dx + dy * dy + dz * dz;
            if (r2 < cutoff2) {
                const REAL inverse2 = 1 / r2;
                const REAL inverse6 = inverse2 * inverse2 * inverse2;
                const REAL strength = 48 * inverse6 * (inverse6 - R(0.5)) * inverse2;
                fx += strength * dx;
                fy += strength * dy;
                fz += strength * dz;
            }
        }
        force[3 * i] = fx;
        force[3 * i + 1] = fy;
        force[3 * i + 2] = fz;
    }
}

/* Of a private array with constant subscripts, in registers once it is inlined. */
static inline void rotate(REAL a[9], const uniform int p, const uniform int q) {
    const REAL off = a[3 * p + q];
    if (off != 0) {
        const REAL theta = (a[4 * q] - a[4 * p]) / (2 * off);
        REAL t = 1 / (abs(theta) + sqrt(theta * theta + 1));
        if (theta < 0) t = -t;
        const REAL c = 1 / sqrt(t * t + 1);
        const REAL s = t * c;
        for (uniform int k = 0; k < 3; ++k) {
            const REAL u = a[3 * k + p], v = a[3 * k + q];
            a[3 * k + p] = c * u - s * v;
            a[3 * k + q] = s * u + c * v;
        }
        for (uniform int k = 0; k < 3; ++k) {
            const REAL u = a[3 * p + k], v = a[3 * q + k];
            a[3 * p + k] = c * u - s * v;
            a[3 * q + k] = s * u + c * v;
        }
    }
}

export void eigen3_loop(uniform int begin, uniform int end, uniform REAL values[],
                        const uniform REAL matrices[]) {
    foreach (i = begin ... end) {
        REAL a[9];
        for (uniform int k = 0; k < 9; ++k) a[k] = matrices[9 * i + k];
        for (uniform int sweep = 0; sweep < 4; ++sweep) {
            rotate(a, 0, 1);
            rotate(a, 0, 2);
            rotate(a, 1, 2);
        }
        const REAL low = min(a[0], a[4]), high = max(a[0], a[4]), last = a[8];
        values[3 * i] = min(low, last);
        values[3 * i + 1] = max(low, min(high, last));
        values[3 * i + 2] = max(high, last);
    }
}

/* Numbers, velocities and weights. */
#define D2Q9(X) \
    X(0, 0, 0, 4.0d / 9) \
    X(1, 1, 0, 1.0d / 9) X(2, 0, 1, 1.0d / 9) X(3, -1, 0, 1.0d / 9) X(4, 0, -1, 1.0d / 9) \
    X(5, 1, 1, 1.0d / 36) X(6, -1, 1, 1.0d / 36) X(7, -1, -1, 1.0d / 36) X(8, 1, -1, 1.0d / 36)

export void lbm_loop(uniform int begin, uniform int end, uniform int rows, uniform int columns,
                     uniform REAL new_[], const uniform REAL old[], uniform REAL omega) {
    const uniform int plane = rows * columns;
    for (uniform int y = begin; y < end; ++y)
        foreach (x = 1 ... columns - 1) {
            REAL density = 0, u = 0, v = 0;
#define STREAM(k, cx, cy, w) \
            const REAL f##k = old[k * plane + (y - (cy)) * columns + x - (cx)]; \
            density += f##k; \
            u += (cx) * f##k; \
            v += (cy) * f##k;
            D2Q9(STREAM)
            u /= density;
            v /= density;
            const REAL square = R(1.5) * (u * u + v * v);
            REAL along, rest;
#define COLLIDE(k, cx, cy, w) \
            along = 3 * ((cx) * u + (cy) * v); \
            rest = (REAL)(w) * density * (1 + along + R(0.5) * along * along - square); \
            new_[k * plane + y * columns + x] = f##k + omega * (rest - f##k);
            D2Q9(COLLIDE)
        }
}

static inline uint32 fmix32(uint32 h) {
    h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
    h = (h ^ (h >> 13)) * 0xC2B2AE35u;
    return h ^ (h >> 16);
}

static inline uint64 fmix64(uint64 h) {
    h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCDull;
    h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53ull;
    return h ^ (h >> 33);
}

export void ising_loop(uniform int begin, uniform int end, uniform int rows, uniform int columns,
                       uniform int8 spins[], const uniform REAL accept[], uniform int colour,
                       uniform int step) {
    for (uniform int i = begin; i < end; ++i)
        foreach (j = 0 ... columns / 2) {
            const int x = 2 * j + (i + colour) % 2;
            const int above = spins[(i > 0 ? i - 1 : rows - 1) * columns + x];
            const int below = spins[(i < rows - 1 ? i + 1 : 0) * columns + x];
            const int left = spins[i * columns + (x > 0 ? x - 1 : columns - 1)];
            const int right = spins[i * columns + (x < columns - 1 ? x + 1 : 0)];
            const int spin = spins[i * columns + x];
            const int along = spin * (above + below + left + right);
            const uint32 h = fmix32((uint32)(i * columns + x) ^ fmix32((varying uint32)step));
            const float u = (float)(int)(h >> 8) * (1.0f / 16777216.0f);
            if (u < accept[(along + 4) >> 1]) spins[i * columns + x] = (int8)-spin;
        }
}

export void spmv_loop(uniform int begin, uniform int end, uniform REAL y[],
                      const uniform int32 first[], const uniform int32 columns[],
                      const uniform REAL values[], const uniform REAL x[]) {
    foreach (row = begin ... end) {
        REAL total = 0;
        const int last = first[row + 1];
        for (int k = first[row]; k < last; ++k) total += values[k] * x[columns[k]];
        y[row] = total;
    }
}

#define LENGTH 48

export void smith_waterman_loop(uniform int begin, uniform int end, uniform int32 score[],
                                const uniform uint8 first[], const uniform uint8 second[]) {
    foreach (pair = begin ... end) {
        int32 row[LENGTH];
        for (uniform int j = 0; j < LENGTH; ++j) row[j] = 0;
        int32 best = 0;
        for (uniform int i = 0; i < LENGTH; ++i) {
            const uint8 letter = first[pair * LENGTH + i];
            int32 diagonal = 0, left = 0;
            for (uniform int j = 0; j < LENGTH; ++j) {
                const int32 here = diagonal + (letter == second[pair * LENGTH + j] ? 3 : -1);
                diagonal = row[j];
                left = max(max(0, here), max(diagonal - 2, left - 2));
                row[j] = left;
                best = max(best, left);
            }
        }
        score[pair] = best;
    }
}

/* Philox4x32-10 (Salmon, Moraes, Dror and Shaw, Proc. SC11, 2011): half of a block, by a draw. */
static inline uint64 philox(uniform uint64 seed, uint64 index, uniform uint64 draw) {
    uint32 c0 = (uint32)index, c1 = (uint32)(index >> 32);
    uint32 c2 = (uint32)(draw / 2), c3 = (uint32)((draw / 2) >> 32);
    uniform uint32 k0 = (uint32)seed, k1 = (uint32)(seed >> 32);
    for (uniform int round = 0; round < 10; ++round) {
        const uint64 a = (uint64)c0 * 0xD2511F53u, b = (uint64)c2 * 0xCD9E8D57u;
        c0 = (uint32)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32)b;
        c2 = (uint32)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return draw % 2 ? c2 | ((uint64)c3 << 32) : c0 | ((uint64)c1 << 32);
}

static inline REAL uniform_real(uniform uint64 seed, uint64 index, uniform uint64 draw) {
    const uint64 bits = philox(seed, index, draw);
#if BITS == 32
    return (float)(int32)(bits >> 40) * (1.0f / 16777216.0f);
#else
    return (double)(int64)(bits >> 11) * (1.0d / 9007199254740992.0d);
#endif
}

export void random_loop(uniform int begin, uniform int end, uniform REAL share[],
                        uniform int seed, uniform int darts) {
    foreach (i = begin ... end) {
        int hits = 0;
        for (uniform int n = 0; n < darts; ++n) {
            const REAL x = uniform_real(seed, i, 2 * n), y = uniform_real(seed, i, 2 * n + 1);
            if (x * x + y * y < 1) ++hits;
        }
        share[i] = (REAL)((double)hits / darts);
    }
}

export void integer_hash_loop(uniform int begin, uniform int end, uniform UINT hashes[],
                              const uniform UINT keys[], uniform int rounds) {
    foreach (i = begin ... end) {
        UINT h = keys[i];
        for (uniform int round = 0; round < rounds; ++round)
#if BITS == 32
            h = fmix32(h);
#else
            h = fmix64(h);
#endif
        hashes[i] = h;
    }
}
