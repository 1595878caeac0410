/* Loops by hand for costs.py, with pointers that may overlap and with restrict ones. The loops are in
   functions of their own, for what OpenMP outlines forgets what restrict has promised. */
#include <math.h>
#include <omp.h>

#define APART __attribute__((noinline)) static void

#define LOOPS(SUFFIX, RESTRICT)                                                                 \
    APART triads_##SUFFIX(double a, const double *RESTRICT x, const double *RESTRICT y,         \
                          double *RESTRICT z, long first, long end) {                           \
        for (long i = first; i < end; ++i) z[i] = x[i] + a * y[i];                              \
    }                                                                                           \
    void triad_##SUFFIX(double a, const double *x, const double *y, double *z, long n,          \
                        int threads) {                                                          \
        _Pragma("omp parallel num_threads(threads)")                                            \
        {                                                                                       \
            const long t = omp_get_thread_num(), of = omp_get_num_threads();                    \
            triads_##SUFFIX(a, x, y, z, t * n / of, (t + 1) * n / of);                          \
        }                                                                                       \
    }                                                                                           \
    APART cosine_##SUFFIX(double a, const double *RESTRICT x, double *RESTRICT y, long first,   \
                          long end, int times) {                                                \
        for (long i = first; i < end; ++i)                                                      \
            for (int l = 0; l < times; ++l) y[i] = a * cos(x[i]) + y[i];                        \
    }                                                                                           \
    void cosines_##SUFFIX(double a, const double *x, double *y, long n, int times,              \
                          int threads) {                                                        \
        _Pragma("omp parallel num_threads(threads)")                                            \
        {                                                                                       \
            const long t = omp_get_thread_num(), of = omp_get_num_threads();                    \
            cosine_##SUFFIX(a, x, y, t * n / of, (t + 1) * n / of, times);                      \
        }                                                                                       \
    }
LOOPS(restrict, restrict)
LOOPS(plain, )
