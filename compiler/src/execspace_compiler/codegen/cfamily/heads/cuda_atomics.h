// Atomic operations in CUDA, which has sums for fewer types than C++; those of integers are the same
// for signed ones.

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
_ES_FUNCTION bool _es_atomic_is_subnormal(float x) {
    return (__float_as_uint(x) & 0x7fffffffu) - 1u < 0x007fffffu;
}
_ES_FUNCTION void _es_atomic_exact_add(volatile float *p, float v) {
    unsigned int *const place = (unsigned int *)p, seen = *(volatile unsigned int *)p, was;
    do {
        was = seen;
        seen = atomicCAS(place, was, __float_as_uint(__uint_as_float(was) + v));
    } while (seen != was);
}
// The instruction takes subnormal numbers for zeros, those in memory, v, and the sum. It tells what
// was in memory, so what it has lost is known, and is added by exchanges.
_ES_FUNCTION void _es_atomic_sum(volatile float *p, float v) {
    float lost = v;
    if (!_es_atomic_is_subnormal(v)) {
        const float old = atomicAdd((float *)p, v);
        lost = _es_atomic_is_subnormal(old) ? old : old + v;
    }
    if (_es_atomic_is_subnormal(lost)) _es_atomic_exact_add(p, lost);
}
_ES_FUNCTION float _es_atomic_fast_add(volatile float *p, float v) {
    return atomicAdd((float *)p, v);
}
_ES_FUNCTION float _es_atomic_group_add(volatile float *p, float v) {
    float old;
    asm volatile(
        "{ .reg .u64 place; cvta.to.shared.u64 place, %1; atom.shared.add.f32 %0, [place], %2; }"
        : "=f"(old) : "l"(p), "f"(v) : "memory");
    return old;
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
