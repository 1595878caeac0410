// E3SM's tracers by hand, for tracer_phase.py. LEVELS is defined by the caller.
#define POINTS 16
#define ITERATIONS 15

// The sum over the 16 lanes of a level, the same bits in all of them.
__device__ __forceinline__ double over_points(unsigned mask, double v) {
    for (int d = 8; d > 0; d /= 2) v += __shfl_xor_sync(mask, v, d);
    return v;
}

// A block has blockDim.y levels of a tracer in an element, a level for half a warp.
extern "C" __global__ void __launch_bounds__(1024)
tracer_phase(const double *__restrict__ q, const double *__restrict__ dp,
             const double *__restrict__ v0, const double *__restrict__ v1,
             const double *__restrict__ metdet, const double *__restrict__ rmetdet,
             const double *__restrict__ mp, const double *__restrict__ dvv,
             const double *__restrict__ least, const double *__restrict__ most,
             double *__restrict__ out, double dt, int tracers) {
    extern __shared__ double shared[];
    const int p = threadIdx.x, row = p / 4, column = p % 4;
    const int blocks = (LEVELS + blockDim.y - 1) / blockDim.y;
    const int t = blockIdx.x / blocks, k = (blockIdx.x % blocks) * blockDim.y + threadIdx.y;
    const int e = t / tracers;
    if (k >= LEVELS) return;  // the lanes of a level leave together
    const unsigned mask = 0xffffu << ((threadIdx.y % 2) * 16);
    double *flux0 = shared + threadIdx.y * 2 * POINTS, *flux1 = flux0 + POINTS;
    const long long at = ((long long)t * LEVELS + k) * POINTS + p;
    const long long of = ((long long)e * LEVELS + k) * POINTS + p;
    const double mine = q[at], h = dp[of], here = metdet[e * POINTS + p] * mine;
    flux0[p] = here * v0[of];
    flux1[p] = here * v1[of];
    const double weight = mp[e * POINTS + p] * h, air = over_points(mask, weight);
    __syncwarp(mask);
    double divergence = 0.0;
#pragma unroll
    for (int m = 0; m < 4; ++m) {
        divergence += dvv[4 * column + m] * flux0[4 * row + m];
        divergence += dvv[4 * row + m] * flux1[4 * m + column];
    }
    double x = (mine - dt * rmetdet[e * POINTS + p] * divergence) / h;
    const double mass = over_points(mask, weight * x);
    const double low = fmin(least[(long long)t * LEVELS + k], mass / air);
    const double high = fmax(most[(long long)t * LEVELS + k], mass / air);
    for (int n = 0; n < ITERATIONS; ++n) {
        const double after = fmin(fmax(x, low), high);
        const double excess = over_points(mask, (x - after) * weight);
        x = after;
        if (fabs(excess) <= 5e-14 * fabs(mass)) break;
        const bool open = excess > 0 ? x < high : x > low;
        const double room = over_points(mask, open ? weight : 0.0);
        if (open) x += excess / room;
    }
    out[at] = x * h;
}

__device__ __forceinline__ double prefix(double value, int lane) {
    for (int w = 1; w < 32; w *= 2) {
        const double other = __shfl_up_sync(~0u, value, w);
        if (lane >= w) value += other;
    }
    return value;
}

// An element for a block, a point for a warp, whose lanes share the levels.
extern "C" __global__ void __launch_bounds__(32 * POINTS)
omega(const double *__restrict__ dp, const double *__restrict__ v0, const double *__restrict__ v1,
      const double *__restrict__ metdet, const double *__restrict__ rmetdet,
      const double *__restrict__ dvv, double *__restrict__ out, double top) {
    __shared__ double pressure[POINTS][LEVELS];
    const int p = threadIdx.x / 32, lane = threadIdx.x % 32, row = p / 4, column = p % 4;
    const long long first = (long long)blockIdx.x * POINTS * LEVELS, own = first + p * LEVELS;
    const double *area = metdet + blockIdx.x * POINTS;
    double above = top;
    for (int k = lane; k - lane < LEVELS; k += 32) {
        const double h = k < LEVELS ? dp[own + k] : 0.0, sum = prefix(h, lane);
        if (k < LEVELS) pressure[p][k] = above + sum - 0.5 * h;
        above += __shfl_sync(~0u, sum, 31);
    }
    __syncthreads();
    double d0[4], d1[4], a0[4], a1[4];
#pragma unroll
    for (int m = 0; m < 4; ++m) {
        d0[m] = dvv[4 * column + m];
        d1[m] = dvv[4 * row + m];
        a0[m] = d0[m] * area[4 * row + m];
        a1[m] = d1[m] * area[4 * m + column];
    }
    const double per = rmetdet[blockIdx.x * POINTS + p];
    above = 0.0;
    for (int k = lane; k - lane < LEVELS; k += 32) {
        double d = 0.0, slope0 = 0.0, slope1 = 0.0;
        if (k < LEVELS) {
#pragma unroll
            for (int m = 0; m < 4; ++m) {
                const long long a = first + (4 * row + m) * LEVELS + k;
                const long long b = first + (4 * m + column) * LEVELS + k;
                d += a0[m] * dp[a] * v0[a] + a1[m] * dp[b] * v1[b];
                slope0 += d0[m] * pressure[4 * row + m][k];
                slope1 += d1[m] * pressure[4 * m + column][k];
            }
            d *= per;
        }
        const double sum = prefix(d, lane);
        if (k < LEVELS) {
            const double wind = v0[own + k] * slope0 + v1[own + k] * slope1;
            out[own + k] = (wind - above - sum + 0.5 * d) / pressure[p][k];
        }
        above += __shfl_sync(~0u, sum, 31);
    }
}
