/* Reductions of contiguous memory in C with OpenMP, for mdrange_reductions.py; `out` gets up to
   three doubles. Compilers may reorder sums here, as the pragmas say. */
#include <math.h>

#define ENTRY(NAME, TYPE) void NAME(const TYPE *restrict x, const TYPE *restrict y, long n, \
                                    int threads, double *out)

ENTRY(sum, double) {
    double s = 0;
#pragma omp parallel for simd reduction(+ : s) num_threads(threads)
    for (long i = 0; i < n; ++i) s += x[i];
    out[0] = s;
}

ENTRY(sum_float32, float) {
    float s = 0;
#pragma omp parallel for simd reduction(+ : s) num_threads(threads)
    for (long i = 0; i < n; ++i) s += x[i];
    out[0] = s;
}

ENTRY(sum_float32_wide, float) {
    double s = 0;
#pragma omp parallel for simd reduction(+ : s) num_threads(threads)
    for (long i = 0; i < n; ++i) s += x[i];
    out[0] = s;
}

ENTRY(dot, double) {
    double s = 0;
#pragma omp parallel for simd reduction(+ : s) num_threads(threads)
    for (long i = 0; i < n; ++i) s += x[i] * y[i];
    out[0] = s;
}

ENTRY(max, double) {
    double s = -HUGE_VAL;
#pragma omp parallel for simd reduction(max : s) num_threads(threads)
    for (long i = 0; i < n; ++i) s = x[i] > s ? x[i] : s;
    out[0] = s;
}

/* The minimum of each block is vectorised; only a block with a lesser one is searched for it. */
ENTRY(minloc, double) {
    enum { BLOCK = 2048 };
    double least = HUGE_VAL;
    long place = n;
#pragma omp parallel num_threads(threads)
    {
        double v = HUGE_VAL;
        long at = n;
#pragma omp for schedule(static)
        for (long b = 0; b < (n + BLOCK - 1) / BLOCK; ++b) {
            const long first = b * BLOCK, end = first + BLOCK < n ? first + BLOCK : n;
            double m = HUGE_VAL;
#pragma omp simd reduction(min : m)
            for (long i = first; i < end; ++i) m = x[i] < m ? x[i] : m;
            if (m < v) {
                v = m;
                at = first;
                while (x[at] != m) ++at;
            }
        }
#pragma omp critical
        if (v < least || (v == least && at < place)) {
            least = v;
            place = at;
        }
    }
    out[0] = least;
    out[1] = (double)place;
}

ENTRY(three, double) {
    double s = 0, q = 0, m = -HUGE_VAL;
#pragma omp parallel for simd reduction(+ : s, q) reduction(max : m) num_threads(threads)
    for (long i = 0; i < n; ++i) {
        s += x[i];
        q += x[i] * x[i];
        m = x[i] > m ? x[i] : m;
    }
    out[0] = s;
    out[1] = q;
    out[2] = m;
}
