// What the names of generated HIP source are in CUDA, beside those that the head of CUDA's has.
#define _ES_STRICT

_ES_FUNCTION int _es_fetch_add(volatile int *p, int v) {
    __threadfence();
    const int before = atomicAdd((int *)p, v);
    __threadfence();
    return before;
}
_ES_FUNCTION void _es_store_release(volatile unsigned long long *p, unsigned long long v) {
    __threadfence();
    *p = v;
}
_ES_FUNCTION unsigned long long _es_load_acquire(volatile unsigned long long *p) {
    const unsigned long long v = *p;
    __threadfence();
    return v;
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
