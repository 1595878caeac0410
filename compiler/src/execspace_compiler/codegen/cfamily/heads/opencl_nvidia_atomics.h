// Atomic sums of floats in NVIDIA's OpenCL C, which has them in assembly only.

#define _ES_ATOMIC_SUM(name, space, place, own, type, register) \
    static inline own _es_atomic_##name(volatile place own *p, own v) { \
        own old; \
        asm volatile("atom." space ".add." type " %0, [%1], %2;" \
                     : "=" register(old) : "l"(p), register(v) : "memory"); \
        return old; \
    }
_ES_ATOMIC_SUM(fast_add, "global", __global, float, "f32", "f")
_ES_ATOMIC_SUM(group_add, "shared", __local, float, "f32", "f")
_ES_ATOMIC_SUM(double_add, "global", __global, double, "f64", "d")
_ES_ATOMIC_SUM(group_double_add, "shared", __local, double, "f64", "d")
static inline bool _es_atomic_is_subnormal(float x) {
    return (as_uint(x) & 0x7fffffffu) - 1u < 0x007fffffu;
}
static inline void _es_atomic_exact_add(volatile __global float *p, float v) {
    volatile __global uint *const place = (volatile __global uint *)p;
    uint seen = *place, was;
    do {
        was = seen;
        seen = atomic_cmpxchg(place, was, as_uint(as_float(was) + v));
    } while (seen != was);
}
// The instruction takes subnormal numbers for zeros, those in memory, v, and the sum. It tells what
// was in memory, so what it has lost is known, and is added by exchanges.
static inline void _es_atomic_sum(volatile __global float *p, float v) {
    float lost = v;
    if (!_es_atomic_is_subnormal(v)) {
        const float old = _es_atomic_fast_add(p, v);
        lost = _es_atomic_is_subnormal(old) ? old : old + v;
    }
    if (_es_atomic_is_subnormal(lost)) _es_atomic_exact_add(p, lost);
}
