// Reductions of contiguous memory by hand, for mdrange_reductions.py. Threads go through the memory
// with the stride of the grid, UNROLL elements at a time, and join by shuffles within warps. Either
// a second kernel joins the blocks' results ("two passes"), or the block that ends last does ("one").
// `out` is pinned memory of the host, so that nothing has to be copied: up to three doubles.
#define THREADS 256
#define FULL 0xffffffffu
#define INF __longlong_as_double(0x7ff0000000000000LL)

__device__ __forceinline__ double down(double v, int d) { return __shfl_down_sync(FULL, v, d); }
__device__ __forceinline__ float down(float v, int d) { return __shfl_down_sync(FULL, v, d); }
struct Located { double value; long long place; };
__device__ __forceinline__ Located down(Located v, int d) {
    return {__shfl_down_sync(FULL, v.value, d), __shfl_down_sync(FULL, v.place, d)};
}
struct Three { double sum, squares, greatest; };
__device__ __forceinline__ Three down(Three v, int d) {
    return {down(v.sum, d), down(v.squares, d), down(v.greatest, d)};
}

template <class In, class Acc> struct SumOp {
    using T = In; using A = Acc;
    static __device__ A none() { return 0; }
    static __device__ A of(const T *x, const T *, long long i) { return x[i]; }
    static __device__ A join(A a, A b) { return a + b; }
    static __device__ void store(A a, double *out) { out[0] = a; }
};
struct DotOp : SumOp<double, double> {
    static __device__ double of(const double *x, const double *y, long long i) { return x[i] * y[i]; }
};
struct MaxOp : SumOp<double, double> {
    static __device__ double none() { return -INF; }
    static __device__ double join(double a, double b) { return a > b ? a : b; }
};
struct MinLocOp {
    using T = double; using A = Located;
    static __device__ A none() { return {INF, 0x7fffffffffffffffLL}; }
    static __device__ A of(const T *x, const T *, long long i) { return {x[i], i}; }
    static __device__ A join(A a, A b) {
        return b.value < a.value || (b.value == a.value && b.place < a.place) ? b : a;
    }
    static __device__ void store(A a, double *out) { out[0] = a.value; out[1] = (double)a.place; }
};
struct ThreeOp {
    using T = double; using A = Three;
    static __device__ A none() { return {0, 0, -INF}; }
    static __device__ A of(const T *x, const T *, long long i) { return {x[i], x[i] * x[i], x[i]}; }
    static __device__ A join(A a, A b) {
        return {a.sum + b.sum, a.squares + b.squares, a.greatest > b.greatest ? a.greatest : b.greatest};
    }
    static __device__ void store(A a, double *out) {
        out[0] = a.sum; out[1] = a.squares; out[2] = a.greatest;
    }
};

// The join over a block; thread 0 has it.
template <class Op> __device__ typename Op::A of_block(typename Op::A v) {
    __shared__ typename Op::A warps[THREADS / 32];
    for (int d = 16; d > 0; d /= 2) v = Op::join(v, down(v, d));
    __syncthreads();  // whoever was here before has read
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < THREADS / 32 ? warps[threadIdx.x] : Op::none();
        for (int d = THREADS / 64; d > 0; d /= 2) v = Op::join(v, down(v, d));
    }
    return v;
}

// What this block has of x and y.
template <class Op, int UNROLL>
__device__ typename Op::A own(const typename Op::T *__restrict__ x,
                              const typename Op::T *__restrict__ y, long long n) {
    const long long step = (long long)gridDim.x * THREADS;
    typename Op::A sums[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) sums[u] = Op::none();
    long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    for (; i + (UNROLL - 1) * step < n; i += UNROLL * step) {
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) sums[u] = Op::join(sums[u], Op::of(x, y, i + u * step));
    }
    for (; i < n; i += step) sums[0] = Op::join(sums[0], Op::of(x, y, i));
#pragma unroll
    for (int u = 1; u < UNROLL; ++u) sums[0] = Op::join(sums[0], sums[u]);
    return of_block<Op>(sums[0]);
}

template <class Op>
__device__ void finish(const typename Op::A *parts, int count, double *out) {
    typename Op::A v = Op::none();
    for (int k = threadIdx.x; k < count; k += THREADS) v = Op::join(v, parts[k]);
    v = of_block<Op>(v);
    if (threadIdx.x == 0) Op::store(v, out);
}

template <class Op, int UNROLL>
__device__ void one_pass(const typename Op::T *__restrict__ x, const typename Op::T *__restrict__ y,
                         long long n, typename Op::A *parts, unsigned *ticket, double *out) {
    typename Op::A v = own<Op, UNROLL>(x, y, n);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = v;
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    finish<Op>(parts, gridDim.x, out);
}

#define ENTRIES(NAME, OP, UNROLL)                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS)                                          \
    NAME##_parts(const OP::T *__restrict__ x, const OP::T *__restrict__ y, long long n,            \
                 OP::A *parts) {                                                                   \
        OP::A v = own<OP, UNROLL>(x, y, n);                                                        \
        if (threadIdx.x == 0) parts[blockIdx.x] = v;                                               \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS)                                          \
    NAME##_finish(const OP::A *parts, int count, double *out) { finish<OP>(parts, count, out); }   \
    extern "C" __global__ void __launch_bounds__(THREADS)                                          \
    NAME##_one(const OP::T *__restrict__ x, const OP::T *__restrict__ y, long long n,              \
               OP::A *parts, unsigned *ticket, double *out) {                                      \
        one_pass<OP, UNROLL>(x, y, n, parts, ticket, out);                                         \
    }
using SumDouble = SumOp<double, double>;
using SumFloat = SumOp<float, float>;
using SumWide = SumOp<float, double>;
ENTRIES(sum, SumDouble, 4)
ENTRIES(sum_float32, SumFloat, 8)
ENTRIES(sum_float32_wide, SumWide, 8)
ENTRIES(dot, DotOp, 4)
ENTRIES(max, MaxOp, 4)
ENTRIES(minloc, MinLocOp, 4)
ENTRIES(three, ThreeOp, 4)
