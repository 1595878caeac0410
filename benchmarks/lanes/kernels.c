/* The kernels of kernels.py in C: each a loop over its first index, with the body inline.
 *
 * REAL is float or double, UINT uint32_t or uint64_t, BITS 32 or 64. Every function has the part of
 * the range that it runs, then extents that it needs, then the arguments of the kernel in order.
 */
#include <stdint.h>
#include <tgmath.h>

#define R(x) ((REAL)(x))
#define PARALLEL _Pragma("omp parallel for schedule(static)")

void nbody_loop(int begin, int end, int n, REAL *restrict acceleration,
                const REAL *restrict position, const REAL *restrict mass, REAL softening) {
    PARALLEL
    for (int i = begin; i < end; ++i) {
        const REAL x = position[3 * i], y = position[3 * i + 1], z = position[3 * i + 2];
        REAL ax = 0, ay = 0, az = 0;
        for (int j = 0; j < n; ++j) {
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

void mandelbrot_loop(int begin, int end, int width, int32_t *restrict steps,
                     const REAL *restrict re, const REAL *restrict im, int limit) {
    PARALLEL
    for (int i = begin; i < end; ++i)
        for (int j = 0; j < width; ++j) {
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
    const REAL k = 1 / (1 + R(0.2316419) * fabs(d));
    REAL tail = k * (R(0.319381530) + k * (R(-0.356563782) + k * (R(1.781477937) +
                k * (R(-1.821255978) + k * R(1.330274429)))));
    tail = R(0.3989422804014327) * exp(R(-0.5) * d * d) * tail;
    return d > 0 ? 1 - tail : tail;
}

void black_scholes_loop(int begin, int end, REAL *restrict call, REAL *restrict put,
                        const REAL *restrict spot, const REAL *restrict strike,
                        const REAL *restrict years) {
    PARALLEL
    for (int i = begin; i < end; ++i) {
        const REAL root = R(0.3) * sqrt(years[i]);
        const REAL first =
            (log(spot[i] / strike[i]) + R(0.02 + 0.5 * 0.3 * 0.3) * years[i]) / root;
        const REAL paid = strike[i] * exp(R(-0.02) * years[i]);
        const REAL n1 = normal(first), n2 = normal(first - root);
        call[i] = spot[i] * n1 - paid * n2;
        put[i] = paid * (1 - n2) - spot[i] * (1 - n1);
    }
}

typedef struct { REAL x, y, z; } vector;
typedef struct { vector centre; REAL radius, mirror; } sphere;

static inline vector plus(vector a, vector b) {
    return (vector){a.x + b.x, a.y + b.y, a.z + b.z};
}
static inline vector minus(vector a, vector b) {
    return (vector){a.x - b.x, a.y - b.y, a.z - b.z};
}
static inline vector times(REAL s, vector a) { return (vector){s * a.x, s * a.y, s * a.z}; }
static inline REAL dot(vector a, vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static inline int nearest(const sphere *restrict spheres, int count, vector origin,
                          vector direction, REAL *best) {
    int found = -1;
    *best = R(1e9);
    for (int k = 0; k < count; ++k) {
        const vector to_centre = minus(spheres[k].centre, origin);
        const REAL along = dot(to_centre, direction);
        const REAL gap = spheres[k].radius * spheres[k].radius - dot(to_centre, to_centre) +
                         along * along;
        if (gap > 0) {
            const REAL distance = along - sqrt(gap);
            if (R(1e-3) < distance && distance < *best) {
                *best = distance;
                found = k;
            }
        }
    }
    return found;
}

static inline int in_shadow(const sphere *restrict spheres, int count, vector origin,
                            vector direction) {
    for (int k = 0; k < count; ++k) {
        const vector to_centre = minus(spheres[k].centre, origin);
        const REAL along = dot(to_centre, direction);
        const REAL gap = spheres[k].radius * spheres[k].radius - dot(to_centre, to_centre) +
                         along * along;
        if (gap > 0 && along - sqrt(gap) > R(1e-3)) return 1;
    }
    return 0;
}

void ray_tracer_loop(int begin, int end, int width, int count, REAL *restrict image,
                     const sphere *restrict spheres, const vector *restrict camera,
                     const vector *restrict light, const REAL *restrict across,
                     const REAL *restrict down) {
    PARALLEL
    for (int i = begin; i < end; ++i)
        for (int j = 0; j < width; ++j) {
            vector origin = camera[0];
            vector direction =
                plus(plus(camera[3], times(across[j], camera[1])), times(down[i], camera[2]));
            direction = times(1 / sqrt(dot(direction, direction)), direction);
            REAL brightness = 0, weight = 1;
            for (int bounce = 0; bounce < 3; ++bounce) {
                REAL distance;
                const int k = nearest(spheres, count, origin, direction, &distance);
                if (k < 0) {
                    brightness += weight * (R(0.5) + R(0.5) * direction.y);
                    break;
                }
                origin = plus(origin, times(distance, direction));
                const vector outward =
                    times(1 / spheres[k].radius, minus(origin, spheres[k].centre));
                REAL lit = dot(outward, light[0]);
                lit = lit > 0 ? lit : 0;
                if (lit > 0 && in_shadow(spheres, count, origin, light[0])) lit = 0;
                brightness += weight * (1 - spheres[k].mirror) * (R(0.1) + lit);
                weight *= spheres[k].mirror;
                direction = minus(direction, times(2 * dot(direction, outward), outward));
            }
            image[i * width + j] = brightness;
        }
}

void lj_loop(int begin, int end, int most, REAL *restrict force, const REAL *restrict position,
             const int32_t *restrict count, const int32_t *restrict neighbours, REAL cutoff2) {
    PARALLEL
    for (int i = begin; i < end; ++i) {
        const REAL x = position[3 * i], y = position[3 * i + 1], z = position[3 * i + 2];
        REAL fx = 0, fy = 0, fz = 0;
        for (int k = 0; k < count[i]; ++k) {
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

static inline void rotate(REAL *restrict a, int p, int q) {
    const REAL off = a[3 * p + q];
    if (off == 0) return;
    const REAL theta = (a[4 * q] - a[4 * p]) / (2 * off);
    REAL t = 1 / (fabs(theta) + sqrt(theta * theta + 1));
    if (theta < 0) t = -t;
    const REAL c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < 3; ++k) {
        const REAL u = a[3 * k + p], v = a[3 * k + q];
        a[3 * k + p] = c * u - s * v;
        a[3 * k + q] = s * u + c * v;
    }
    for (int k = 0; k < 3; ++k) {
        const REAL u = a[3 * p + k], v = a[3 * q + k];
        a[3 * p + k] = c * u - s * v;
        a[3 * q + k] = s * u + c * v;
    }
}

static inline REAL lesser(REAL a, REAL b) { return b < a ? b : a; }
static inline REAL greater(REAL a, REAL b) { return b > a ? b : a; }

void eigen3_loop(int begin, int end, REAL *restrict values, const REAL *restrict matrices) {
    PARALLEL
    for (int i = begin; i < end; ++i) {
        REAL a[9];
        for (int k = 0; k < 9; ++k) a[k] = matrices[9 * i + k];
        for (int sweep = 0; sweep < 4; ++sweep) {
            rotate(a, 0, 1);
            rotate(a, 0, 2);
            rotate(a, 1, 2);
        }
        const REAL low = lesser(a[0], a[4]), high = greater(a[0], a[4]), last = a[8];
        values[3 * i] = lesser(low, last);
        values[3 * i + 1] = greater(low, lesser(high, last));
        values[3 * i + 2] = greater(high, last);
    }
}

/* Numbers, velocities and weights. */
#define D2Q9(X) \
    X(0, 0, 0, 4.0 / 9) \
    X(1, 1, 0, 1.0 / 9) X(2, 0, 1, 1.0 / 9) X(3, -1, 0, 1.0 / 9) X(4, 0, -1, 1.0 / 9) \
    X(5, 1, 1, 1.0 / 36) X(6, -1, 1, 1.0 / 36) X(7, -1, -1, 1.0 / 36) X(8, 1, -1, 1.0 / 36)

void lbm_loop(int begin, int end, int rows, int columns, REAL *restrict new,
              const REAL *restrict old, REAL omega) {
    const int plane = rows * columns;
    PARALLEL
    for (int y = begin; y < end; ++y)
        for (int x = 1; x < columns - 1; ++x) {
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
            rest = R(w) * density * (1 + along + R(0.5) * along * along - square); \
            new[k * plane + y * columns + x] = f##k + omega * (rest - f##k);
            D2Q9(COLLIDE)
        }
}

static inline uint32_t fmix32(uint32_t h) {
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

static inline uint64_t fmix64(uint64_t h) {
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDu;
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53u;
    return h ^ h >> 33;
}

void ising_loop(int begin, int end, int rows, int columns, int8_t *restrict spins,
                const REAL *restrict accept, int colour, int step) {
    PARALLEL
    for (int i = begin; i < end; ++i)
        for (int j = 0; j < columns / 2; ++j) {
            const int x = 2 * j + (i + colour) % 2;
            const int above = spins[(i > 0 ? i - 1 : rows - 1) * columns + x];
            const int below = spins[(i < rows - 1 ? i + 1 : 0) * columns + x];
            const int left = spins[i * columns + (x > 0 ? x - 1 : columns - 1)];
            const int right = spins[i * columns + (x < columns - 1 ? x + 1 : 0)];
            const int spin = spins[i * columns + x];
            const int along = spin * (above + below + left + right);
            const uint32_t h = fmix32((uint32_t)(i * columns + x) ^ fmix32((uint32_t)step));
            const float u = (float)(h >> 8) * 0x1p-24f;
            if (u < accept[(along + 4) / 2]) spins[i * columns + x] = (int8_t)-spin;
        }
}

void spmv_loop(int begin, int end, REAL *restrict y, const int32_t *restrict first,
               const int32_t *restrict columns, const REAL *restrict values,
               const REAL *restrict x) {
    PARALLEL
    for (int row = begin; row < end; ++row) {
        REAL total = 0;
        for (int k = first[row]; k < first[row + 1]; ++k) total += values[k] * x[columns[k]];
        y[row] = total;
    }
}

#define LENGTH 48

void smith_waterman_loop(int begin, int end, int32_t *restrict score,
                         const uint8_t *restrict first, const uint8_t *restrict second) {
    PARALLEL
    for (int pair = begin; pair < end; ++pair) {
        int32_t row[LENGTH] = {0}, best = 0;
        for (int i = 0; i < LENGTH; ++i) {
            const uint8_t letter = first[pair * LENGTH + i];
            int32_t diagonal = 0, left = 0;
            for (int j = 0; j < LENGTH; ++j) {
                const int32_t here = diagonal + (letter == second[pair * LENGTH + j] ? 3 : -1);
                diagonal = row[j];
                left = left - 2 > 0 ? left - 2 : 0;
                left = here > left ? here : left;
                left = diagonal - 2 > left ? diagonal - 2 : left;
                row[j] = left;
                best = left > best ? left : best;
            }
        }
        score[pair] = best;
    }
}

/* Philox4x32-10 (Salmon, Moraes, Dror and Shaw, Proc. SC11, 2011): half of a block, by a draw. */
static inline uint64_t philox(uint64_t seed, uint64_t index, uint64_t draw) {
    uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32);
    uint32_t c2 = (uint32_t)(draw / 2), c3 = (uint32_t)(draw / 2 >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = (uint64_t)c0 * 0xD2511F53u, b = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return draw % 2 ? c2 | (uint64_t)c3 << 32 : c0 | (uint64_t)c1 << 32;
}

static inline REAL uniform(uint64_t seed, uint64_t index, uint64_t draw) {
    const uint64_t bits = philox(seed, index, draw);
#if BITS == 32
    return (float)(int32_t)(bits >> 40) * 0x1p-24f;
#else
    return (double)(int64_t)(bits >> 11) * 0x1p-53;
#endif
}

void random_loop(int begin, int end, REAL *restrict share, int seed, int darts) {
    PARALLEL
    for (int i = begin; i < end; ++i) {
        int hits = 0;
        for (int n = 0; n < darts; ++n) {
            const REAL x = uniform(seed, i, 2 * n), y = uniform(seed, i, 2 * n + 1);
            if (x * x + y * y < 1) ++hits;
        }
        share[i] = (REAL)((double)hits / darts);
    }
}

void integer_hash_loop(int begin, int end, UINT *restrict hashes, const UINT *restrict keys,
                       int rounds) {
    PARALLEL
    for (int i = begin; i < end; ++i) {
        UINT h = keys[i];
        for (int round = 0; round < rounds; ++round)
#if BITS == 32
            h = fmix32(h);
#else
            h = fmix64(h);
#endif
        hashes[i] = h;
    }
}
