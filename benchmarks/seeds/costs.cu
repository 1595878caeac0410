// Kernels by hand for costs.py, with pointers that may overlap and with __restrict__ ones.
#define KERNELS(SUFFIX, RESTRICT)                                                               \
    extern "C" __global__ void __launch_bounds__(128)                                           \
    triad_##SUFFIX(double a, const double *RESTRICT x, const double *RESTRICT y,                \
                   double *RESTRICT z, unsigned n) {                                            \
        const unsigned i = blockIdx.x * 128u + threadIdx.x;                                     \
        if (i < n) z[i] = x[i] + a * y[i];                                                      \
    }                                                                                           \
    extern "C" __global__ void __launch_bounds__(128)                                           \
    cosines_##SUFFIX(double a, const double *RESTRICT x, double *RESTRICT y, unsigned n,        \
                     int times) {                                                               \
        const unsigned i = blockIdx.x * 128u + threadIdx.x;                                     \
        if (i < n)                                                                              \
            for (int l = 0; l < times; ++l) y[i] = a * cos(x[i]) + y[i];                        \
    }
KERNELS(restrict, __restrict__)
KERNELS(plain, )

extern "C" __global__ void __launch_bounds__(128)
copy(const double *__restrict__ x, double *__restrict__ z, unsigned n) {
    const unsigned i = blockIdx.x * 128u + threadIdx.x;
    if (i < n) z[i] = x[i];
}
