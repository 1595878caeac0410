// What the neutral names of C++ for GPUs are in CUDA. No header is included.

#define _ES_METHOD __device__ __forceinline__
#define _ES_FUNCTION static _ES_METHOD
#define _ES_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
#define _ES_SHARED(type, name, extents) __shared__ type name extents
#define _ES_GROUP_MEMORY extern __shared__ __align__(16) unsigned char _group_memory[]
#define _ES_ITEM(axis) threadIdx.axis
#define _ES_GROUP_ID(axis) blockIdx.axis
#define _ES_GROUP_SIZE(axis) blockDim.axis
#define _ES_GROUPS(axis) gridDim.axis
#define _ES_FENCE() __threadfence()
#define _ES_BARRIER() __syncthreads()
#define _ES_LANE_SYNC(mask) __syncwarp((unsigned int)(mask))
#define _es_mul_hi(a, b) __umulhi(a, b)

template <typename A, typename B> _ES_FUNCTION A _es_bit_cast(B x) {
    A y;
    memcpy(&y, &x, sizeof(A));
    return y;
}

// CUDA has sums for fewer types than C++; those of integers are the same for signed ones.
template <int size> struct _es_word;
template <> struct _es_word<4> { typedef unsigned int type; };
template <> struct _es_word<8> { typedef unsigned long long type; };
#define _ES_WORD typename _es_word<sizeof(T)>::type
#define _ES_ATOMIC(name, of_cuda) \
    template <typename T> _ES_FUNCTION T _es_atomic_##name(volatile T *p, T v) { \
        return (T)of_cuda((_ES_WORD *)p, (_ES_WORD)v); \
    }
_ES_ATOMIC(add, atomicAdd)
_ES_ATOMIC(and, atomicAnd)
_ES_ATOMIC(or, atomicOr)
_ES_ATOMIC(xor, atomicXor)
_ES_FUNCTION double _es_atomic_add(volatile double *p, double v) {
    return atomicAdd((double *)p, v);
}
template <typename T> _ES_FUNCTION T _es_atomic_sub(volatile T *p, T v) {
    return _es_atomic_add(p, (T)-v);
}
template <typename T> _ES_FUNCTION T _es_atomic_min(volatile T *p, T v) {
    return atomicMin((T *)p, v);
}
template <typename T> _ES_FUNCTION T _es_atomic_max(volatile T *p, T v) {
    return atomicMax((T *)p, v);
}
template <typename T> _ES_FUNCTION T _es_atomic_exchange(volatile T *p, T v) {
    return _es_bit_cast<T>(atomicExch((_ES_WORD *)p, _es_bit_cast<_ES_WORD>(v)));
}
template <typename T> _ES_FUNCTION T _es_atomic_compare_exchange(volatile T *p, T e, T v) {
    return (T)atomicCAS((_ES_WORD *)p, (_ES_WORD)e, (_ES_WORD)v);
}
template <typename T> _ES_FUNCTION T _es_atomic_load(volatile T *p) { return *p; }

// A value of any type is exchanged in words of 32 bits.
template <typename T> _ES_FUNCTION T _es_shuffle(unsigned int mask, T value, int source) {
    constexpr int n = (sizeof(T) + 3) / 4;
    unsigned int words[n] = {0};
    memcpy(words, &value, sizeof(T));
    #pragma unroll
    for (int k = 0; k < n; ++k) words[k] = __shfl_sync(mask, words[k], source);
    memcpy(&value, words, sizeof(T));
    return value;
}

_ES_FUNCTION unsigned short _es_half_of(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
_ES_FUNCTION unsigned short _es_half_of(double x) {
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
    return bits;
}
_ES_FUNCTION float _es_float_of(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
