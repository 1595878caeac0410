// What the neutral names of C++ for GPUs are on AMD's: clang's builtins, and ROCm's mathematical
// functions. With `_ES_SHIM` defined the names come from elsewhere. No header is included.

#ifndef _ES_SHIM
#define _ES_DEVICE __attribute__((device))
#define _ES_METHOD inline __attribute__((device, always_inline))
#define _ES_FUNCTION static _ES_METHOD
#define _ES_KERNEL(threads) extern "C" __attribute__((global, \
    amdgpu_flat_work_group_size(1, threads))) void
#define _ES_SHARED(type, name, extents) \
    static __attribute__((shared, aligned(16))) type name extents
#define _ES_GROUP_MEMORY \
    extern __attribute__((shared, aligned(16))) unsigned char _group_memory[]
#define _ES_ITEM(axis) __builtin_amdgcn_workitem_id_##axis()
#define _ES_GROUP_ID(axis) __builtin_amdgcn_workgroup_id_##axis()
#define _ES_GROUP_SIZE(axis) ((unsigned int)__builtin_amdgcn_workgroup_size_##axis())
#define _ES_GROUPS(axis) (__builtin_amdgcn_grid_size_##axis() / _ES_GROUP_SIZE(axis))
#define _ES_FENCE() __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent")
#define _ES_WAIT(order, scope) __builtin_amdgcn_fence(__ATOMIC_##order, scope)
#define _ES_BARRIER() do { _ES_WAIT(RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \
    _ES_WAIT(ACQUIRE, "workgroup"); } while (0)
#define _ES_LANE_SYNC(mask) do { _ES_WAIT(RELEASE, "wavefront"); \
    __builtin_amdgcn_wave_barrier(); _ES_WAIT(ACQUIRE, "wavefront"); } while (0)
#define _ES_COPY(to, from, bytes) __builtin_memcpy(to, from, bytes)
#define _ES_BALLOT(mask, test) __builtin_amdgcn_ballot_w64(test)
#define _ES_FIRST_BIT(bits) __builtin_ctzll(bits)
#define _ES_RELAXED __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT
#define _ES_STRICT _Pragma("clang fp contract(off)")
#define _es_mul_hi(a, b) ((unsigned int)((unsigned long long)(a) * (b) >> 32))

extern "C" _ES_DEVICE int printf(const char *, ...);

template <typename A, typename B> _ES_FUNCTION A _es_bit_cast(B x) {
    return __builtin_bit_cast(A, x);
}

#define _ES_ATOMIC(name) \
    template <typename T> _ES_FUNCTION T _es_atomic_##name(volatile T *p, T v) { \
        return __hip_atomic_fetch_##name((T *)p, v, _ES_RELAXED); \
    }
_ES_ATOMIC(add)
_ES_ATOMIC(and)
_ES_ATOMIC(or)
_ES_ATOMIC(xor)
_ES_ATOMIC(min)
_ES_ATOMIC(max)
template <typename T> _ES_FUNCTION T _es_atomic_sub(volatile T *p, T v) {
    return _es_atomic_add(p, (T)-v);
}
template <typename T> _ES_FUNCTION T _es_atomic_exchange(volatile T *p, T v) {
    return __hip_atomic_exchange((T *)p, v, _ES_RELAXED);
}
template <typename T> _ES_FUNCTION T _es_atomic_load(volatile T *p) {
    return __hip_atomic_load((T *)p, _ES_RELAXED);
}
template <typename T> _ES_FUNCTION T _es_atomic_compare_exchange(volatile T *p, T e, T v) {
    __hip_atomic_compare_exchange_strong((T *)p, &e, v, __ATOMIC_RELAXED, _ES_RELAXED);
    return e;
}
_ES_FUNCTION int _es_fetch_add(volatile int *p, int v) {
    return __hip_atomic_fetch_add((int *)p, v, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
}
_ES_FUNCTION void _es_store_release(volatile unsigned long long *p, unsigned long long v) {
    __hip_atomic_store((unsigned long long *)p, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
_ES_FUNCTION unsigned long long _es_load_acquire(volatile unsigned long long *p) {
    return __hip_atomic_load((unsigned long long *)p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}

// A value of any type is exchanged in words of 32 bits.
template <typename T>
_ES_FUNCTION T _es_shuffle(unsigned long long mask, T value, int source) {
    int words[(sizeof(T) + 3) / 4] = {0};
    __builtin_memcpy(words, &value, sizeof(T));
    for (int &w : words) w = __builtin_amdgcn_ds_bpermute(4 * source, w);
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
}

template <typename T> _ES_FUNCTION unsigned short _es_half_of(T x) {
    return __builtin_bit_cast(unsigned short, (_Float16)x);
}
_ES_FUNCTION float _es_float_of(unsigned short bits) {
    return (float)__builtin_bit_cast(_Float16, bits);
}

#define _ES_TEST(name) \
    _ES_FUNCTION bool _es_##name(float x) { return __builtin_##name(x); } \
    _ES_FUNCTION bool _es_##name(double x) { return __builtin_##name(x); }
_ES_TEST(isnan)
_ES_TEST(isinf)
_ES_TEST(isfinite)
// Instructions of every GPU.
#define _es_ceil __builtin_ceil
#define _es_ceilf __builtin_ceilf
#define _es_copysign __builtin_copysign
#define _es_copysignf __builtin_copysignf
#define _es_fabs __builtin_fabs
#define _es_fabsf __builtin_fabsf
#define _es_floor __builtin_floor
#define _es_floorf __builtin_floorf
#define _es_rint __builtin_rint
#define _es_rintf __builtin_rintf
#define _es_sqrt __builtin_sqrt
#define _es_sqrtf __builtin_sqrtf
#define _es_trunc __builtin_trunc
#define _es_truncf __builtin_truncf
// Functions of ROCm's library.
#define _ES_OCML(name) \
    extern "C" _ES_DEVICE double __ocml_##name##_f64(double); \
    extern "C" _ES_DEVICE float __ocml_##name##_f32(float); \
    _ES_FUNCTION double _es_##name(double x) { return __ocml_##name##_f64(x); } \
    _ES_FUNCTION float _es_##name##f(float x) { return __ocml_##name##_f32(x); }
_ES_OCML(acos) _ES_OCML(acosh) _ES_OCML(asin) _ES_OCML(asinh) _ES_OCML(atan) _ES_OCML(atanh)
_ES_OCML(cbrt) _ES_OCML(cos) _ES_OCML(cosh) _ES_OCML(erf) _ES_OCML(erfc) _ES_OCML(exp)
_ES_OCML(exp2) _ES_OCML(expm1) _ES_OCML(lgamma) _ES_OCML(log) _ES_OCML(log10) _ES_OCML(log1p)
_ES_OCML(log2) _ES_OCML(sin) _ES_OCML(sinh) _ES_OCML(tan) _ES_OCML(tanh) _ES_OCML(tgamma)
#define _ES_OCML_2(name) \
    extern "C" _ES_DEVICE double __ocml_##name##_f64(double, double); \
    extern "C" _ES_DEVICE float __ocml_##name##_f32(float, float); \
    _ES_FUNCTION double _es_##name(double x, double y) { return __ocml_##name##_f64(x, y); } \
    _ES_FUNCTION float _es_##name##f(float x, float y) { return __ocml_##name##_f32(x, y); }
_ES_OCML_2(atan2) _ES_OCML_2(fmod) _ES_OCML_2(hypot) _ES_OCML_2(pow)
#endif
