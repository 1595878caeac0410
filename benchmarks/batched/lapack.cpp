/* A call of BLAS or LAPACK for each matrix of a batch; matrices are n x n, column by column. */
typedef void (*Gemm)(const char *, const char *, int *, int *, int *, double *, double *, int *, double *, int *,
                     double *, double *, int *);
typedef void (*Triangle)(const char *, const char *, const char *, const char *, int *, int *, double *, double *, int *,
                         double *, int *);
typedef void (*Trtri)(const char *, const char *, int *, double *, int *, int *);
typedef void (*Getrf)(int *, int *, double *, int *, int *, int *);

#define EACH(name, type, arguments)                                                              \
    extern "C" void name(type function, double *A, double *B, double *C, int *pivots, int *info,  \
                         int n, long number, int threads)                                        \
    {                                                                                            \
        _Pragma("omp parallel for num_threads(threads) schedule(static)")                        \
        for (long k = 0; k < number; ++k) {                                                      \
            double one = 1, zero = 0, *a = A + k * n * n, *b = B + k * n * n, *c = C + k * n * n; \
            (void)one, (void)zero, (void)b, (void)c;                                             \
            function arguments;                                                                  \
        }                                                                                        \
    }

EACH(gemm, Gemm, ("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n))
EACH(trsm, Triangle, ("L", "L", "N", "N", &n, &n, &one, a, &n, b, &n))
EACH(trmm, Triangle, ("L", "L", "N", "N", &n, &n, &one, a, &n, b, &n))
EACH(trtri, Trtri, ("L", "N", &n, a, &n, info + k))
EACH(getrf, Getrf, (&n, &n, a, &n, pivots + k * n, info + k))
