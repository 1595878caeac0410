// What the names of generated HIP text are in CUDA: the text runs on an NVIDIA GPU as it is.
#define _ES_FUNCTION static __device__ __forceinline__
#define _ES_METHOD __device__ __forceinline__
#define _ES_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
#define _ES_SHARED(type, name, extents) __shared__ __align__(16) type name extents
#define _ES_GROUP_MEMORY extern __shared__ __align__(16) unsigned char _group_memory[]
#define _ES_ITEM(axis) threadIdx.axis
#define _ES_GROUP_ID(axis) blockIdx.axis
#define _ES_GROUP_SIZE(axis) blockDim.axis
#define _ES_GROUPS(axis) gridDim.axis
#define _ES_BARRIER() __syncthreads()
#define _ES_FENCE() __threadfence()
#define _ES_LANE_SYNC(mask) __syncwarp((unsigned int)(mask))
#define _ES_STRICT

template <typename A, typename B> _ES_FUNCTION A _es_bit_cast(B x) {
    static_assert(sizeof(A) == sizeof(B), "sizes of _es_bit_cast");
    A a;
    memcpy(&a, &x, sizeof(A));
    return a;
}
template <int size> struct _es_word;
template <> struct _es_word<4> { typedef unsigned int type; };
template <> struct _es_word<8> { typedef unsigned long long type; };
#define _ES_WORD(T) typename _es_word<sizeof(T)>::type

// CUDA has sums for fewer types than the text asks for; those of integers are the same signed.
template <typename T> _ES_FUNCTION T _es_atomic_add(volatile T *p, T v) {
    return (T)atomicAdd((_ES_WORD(T) *)p, (_ES_WORD(T))v);
}
_ES_FUNCTION double _es_atomic_add(volatile double *p, double v) {
    return atomicAdd((double *)p, v);
}
template <typename T> _ES_FUNCTION T _es_atomic_sub(volatile T *p, T v) {
    return _es_atomic_add(p, (T)-v);
}
#define _ES_STEP(name, of_cuda) \
    template <typename T> _ES_FUNCTION T _es_atomic_##name(volatile T *p, T v) { \
        return (T)of_cuda((_ES_WORD(T) *)p, (_ES_WORD(T))v); \
    }
_ES_STEP(and, atomicAnd)
_ES_STEP(or, atomicOr)
_ES_STEP(xor, atomicXor)
template <typename T> _ES_FUNCTION T _es_atomic_min(volatile T *p, T v) {
    return atomicMin((T *)p, v);
}
template <typename T> _ES_FUNCTION T _es_atomic_max(volatile T *p, T v) {
    return atomicMax((T *)p, v);
}
template <typename T> _ES_FUNCTION T _es_atomic_exchange(volatile T *p, T v) {
    return _es_bit_cast<T>(atomicExch((_ES_WORD(T) *)p, _es_bit_cast<_ES_WORD(T)>(v)));
}
template <typename T> _ES_FUNCTION T _es_atomic_load(volatile T *p) { return *p; }
template <typename T> _ES_FUNCTION T _es_atomic_compare_exchange(volatile T *p, T e, T v) {
    return (T)atomicCAS((_ES_WORD(T) *)p, (_ES_WORD(T))e, (_ES_WORD(T))v);
}
_ES_FUNCTION int _es_count(volatile int *p) {
    __threadfence();
    const int before = atomicAdd((int *)p, 1);
    __threadfence();
    return before;
}
_ES_FUNCTION void _es_tell(volatile unsigned long long *p, unsigned long long v) {
    __threadfence();
    *p = v;
}
_ES_FUNCTION unsigned long long _es_told(volatile unsigned long long *p) {
    const unsigned long long v = *p;
    __threadfence();
    return v;
}
template <typename T>
_ES_FUNCTION T _es_lane_value(unsigned long long mask, T value, int source) {
    unsigned int words[(sizeof(T) + 3) / 4] = {0};
    memcpy(words, &value, sizeof(T));
    for (unsigned int &w : words) w = __shfl_sync((unsigned int)mask, w, source);
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
_ES_FUNCTION bool _es_isnan(float x) { return isnan(x); }
_ES_FUNCTION bool _es_isnan(double x) { return isnan(x); }
_ES_FUNCTION bool _es_isinf(float x) { return isinf(x); }
_ES_FUNCTION bool _es_isinf(double x) { return isinf(x); }
_ES_FUNCTION bool _es_isfinite(float x) { return isfinite(x); }
_ES_FUNCTION bool _es_isfinite(double x) { return isfinite(x); }

#define _ES_ONE(name) \
    _ES_FUNCTION double _es_##name(double x) { return name(x); } \
    _ES_FUNCTION float _es_##name##f(float x) { return name##f(x); }
#define _ES_TWO(name) \
    _ES_FUNCTION double _es_##name(double x, double y) { return name(x, y); } \
    _ES_FUNCTION float _es_##name##f(float x, float y) { return name##f(x, y); }
_ES_ONE(acos) _ES_ONE(acosh) _ES_ONE(asin) _ES_ONE(asinh) _ES_ONE(atan) _ES_ONE(atanh)
_ES_ONE(cbrt) _ES_ONE(ceil) _ES_ONE(cos) _ES_ONE(cosh) _ES_ONE(erf) _ES_ONE(erfc) _ES_ONE(exp)
_ES_ONE(exp2) _ES_ONE(expm1) _ES_ONE(fabs) _ES_ONE(floor) _ES_ONE(lgamma) _ES_ONE(log)
_ES_ONE(log10) _ES_ONE(log1p) _ES_ONE(log2) _ES_ONE(rint) _ES_ONE(sin) _ES_ONE(sinh)
_ES_ONE(sqrt) _ES_ONE(tan) _ES_ONE(tanh) _ES_ONE(tgamma) _ES_ONE(trunc)
_ES_TWO(atan2) _ES_TWO(copysign) _ES_TWO(fmod) _ES_TWO(hypot) _ES_TWO(pow)
