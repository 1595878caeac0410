/* E3SM's tracers in C with OpenMP, for tracer_phase.py: as tracer_kernels.py has them. */
#include <math.h>

enum { POINTS = 16, ITERATIONS = 15 };

void tracer_phase(const double *restrict q, const double *restrict dp, const double *restrict v0,
                  const double *restrict v1, const double *restrict metdet,
                  const double *restrict rmetdet, const double *restrict mp,
                  const double *restrict dvv, const double *restrict least,
                  const double *restrict most, double *restrict out, double dt, long elements,
                  long tracers, long levels, int threads) {
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads)
    for (long t = 0; t < elements * tracers; ++t)
        for (long k = 0; k < levels; ++k) {
            const long e = t / tracers, at = (t * levels + k) * POINTS;
            const double *restrict h = dp + (e * levels + k) * POINTS, *restrict s = q + at;
            const double *restrict u = v0 + (e * levels + k) * POINTS;
            const double *restrict v = v1 + (e * levels + k) * POINTS;
            const double *restrict area = metdet + e * POINTS, *restrict per = rmetdet + e * POINTS;
            double flux0[POINTS], flux1[POINTS], weight[POINTS], x[POINTS], d[POINTS];
            double air = 0, mass = 0;
#pragma omp simd reduction(+ : air)
            for (int p = 0; p < POINTS; ++p) {
                const double here = area[p] * s[p];
                flux0[p] = here * u[p];
                flux1[p] = here * v[p];
                weight[p] = mp[e * POINTS + p] * h[p];
                air += weight[p];
            }
            for (int row = 0; row < 4; ++row)
#pragma omp simd
                for (int column = 0; column < 4; ++column) {
                    double sum = 0;
                    for (int m = 0; m < 4; ++m)
                        sum += dvv[4 * column + m] * flux0[4 * row + m]
                               + dvv[4 * row + m] * flux1[4 * m + column];
                    d[4 * row + column] = sum;
                }
#pragma omp simd reduction(+ : mass)
            for (int p = 0; p < POINTS; ++p) {
                x[p] = (s[p] - dt * per[p] * d[p]) / h[p];
                mass += weight[p] * x[p];
            }
            const double mean = mass / air, l = least[t * levels + k], g = most[t * levels + k];
            const double low = l < mean ? l : mean, high = g > mean ? g : mean;
            for (int n = 0; n < ITERATIONS; ++n) {
                double excess = 0, room = 0;
#pragma omp simd reduction(+ : excess)
                for (int p = 0; p < POINTS; ++p) {
                    const double over = x[p] < low ? low : x[p];
                    const double after = over > high ? high : over;
                    excess += (x[p] - after) * weight[p];
                    x[p] = after;
                }
                if (fabs(excess) <= 5e-14 * fabs(mass)) break;
                if (excess > 0) {
#pragma omp simd reduction(+ : room)
                    for (int p = 0; p < POINTS; ++p) room += x[p] < high ? weight[p] : 0.0;
                    const double share = excess / room;
#pragma omp simd
                    for (int p = 0; p < POINTS; ++p) x[p] += x[p] < high ? share : 0.0;
                } else {
#pragma omp simd reduction(+ : room)
                    for (int p = 0; p < POINTS; ++p) room += x[p] > low ? weight[p] : 0.0;
                    const double share = excess / room;
#pragma omp simd
                    for (int p = 0; p < POINTS; ++p) x[p] += x[p] > low ? share : 0.0;
                }
            }
#pragma omp simd
            for (int p = 0; p < POINTS; ++p) out[at + p] = x[p] * h[p];
        }
}

void omega(const double *restrict dp, const double *restrict v0, const double *restrict v1,
           const double *restrict metdet, const double *restrict rmetdet,
           const double *restrict dvv, double *restrict out, double top, long elements, long levels,
           int threads) {
#pragma omp parallel num_threads(threads)
    {
        double pressure[POINTS * levels], d[levels];
#pragma omp for schedule(static)
        for (long e = 0; e < elements; ++e) {
            const long first = e * POINTS * levels;
            const double *restrict h = dp + first, *restrict u = v0 + first, *restrict v = v1 + first;
            const double *restrict area = metdet + e * POINTS;
            for (int p = 0; p < POINTS; ++p) {
                double above = top;
                for (long k = 0; k < levels; ++k) {
                    pressure[p * levels + k] = above + 0.5 * h[p * levels + k];
                    above += h[p * levels + k];
                }
            }
            for (int p = 0; p < POINTS; ++p) {
                const int row = p / 4, column = p % 4;
                const double per = rmetdet[e * POINTS + p];
#pragma omp simd
                for (long k = 0; k < levels; ++k) {
                    double sum = 0;
                    for (int m = 0; m < 4; ++m) {
                        const long a = (4 * row + m) * levels + k, b = (4 * m + column) * levels + k;
                        sum += dvv[4 * column + m] * area[4 * row + m] * h[a] * u[a]
                               + dvv[4 * row + m] * area[4 * m + column] * h[b] * v[b];
                    }
                    d[k] = per * sum;
                }
                double above = 0;
                double *restrict to = out + first + p * levels;
                for (long k = 0; k < levels; ++k) {
                    to[k] = -above - 0.5 * d[k];
                    above += d[k];
                }
#pragma omp simd
                for (long k = 0; k < levels; ++k) {
                    double slope0 = 0, slope1 = 0;
                    for (int m = 0; m < 4; ++m) {
                        slope0 += dvv[4 * column + m] * pressure[(4 * row + m) * levels + k];
                        slope1 += dvv[4 * row + m] * pressure[(4 * m + column) * levels + k];
                    }
                    const long at = p * levels + k;
                    to[k] = (to[k] + u[at] * slope0 + v[at] * slope1) / pressure[at];
                }
            }
        }
    }
}
