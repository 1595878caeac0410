// What the text of HIP kernels names, for a CPU: the text is compiled by g++ with this before it.
// Work-items are fibers of one thread; runtime.cpp, a library of its own, runs them. No header is
// included, for every kernel is compiled with this. Of the macros given from outside,
// _ES_MUTATION_ATOMIC makes sums in memory that are no atomic steps, to see that tests find it.
#pragma once

struct _es_axes {
    unsigned int x, y, z;
};
struct _es_place {
    _es_axes item, group, size, groups;
    int lane;
    unsigned char *group_memory;
};
extern "C" {
extern _es_place _es_now;  // of the work-item that runs
void _es_host_barrier(int line, int statement);
void _es_host_lanes(unsigned long long mask, const void *value, void *result, unsigned long bytes,
                    int source, int line, int statement);
void *_es_host_shared(int key, unsigned long bytes);
void _es_host_fence(void);
void _es_host_yield(void);
void _es_host_look(void);
unsigned short _es_host_half_of(double x);
float _es_host_float_of(unsigned short bits);
int printf(const char *, ...);
}

#define _ES_FUNCTION static inline
#define _ES_METHOD inline
#define _ES_KERNEL(threads) extern "C" void
#define _ES_STRICT
#define _ES_SHARED(type, name, extents) \
    type(&name) extents = *(type(*) extents)_es_host_shared(__COUNTER__, sizeof(type extents))
#define _ES_GROUP_MEMORY static_assert(true)
#define _group_memory (_es_now.group_memory)
#define _ES_ITEM(axis) (_es_now.item.axis)
#define _ES_GROUP_ID(axis) (_es_now.group.axis)
#define _ES_GROUP_SIZE(axis) (_es_now.size.axis)
#define _ES_GROUPS(axis) (_es_now.groups.axis)
#define _ES_LANE (_es_now.lane)
#define _ES_BARRIER() _es_host_barrier(__LINE__, __COUNTER__)
#define _ES_FENCE() _es_host_fence()
#define _ES_LANE_SYNC(mask) _es_host_lanes(mask, 0, 0, 0, _es_now.lane, __LINE__, __COUNTER__)

template <typename T>
_ES_FUNCTION T _es_shuffle(unsigned long long mask, T value, int source,
                           int line = __builtin_LINE()) {
    T result = value;
    _es_host_lanes(mask, &value, &result, sizeof(T), source, line, -line);
    return result;
}

_ES_FUNCTION bool _es_shuffle(unsigned long long mask, bool value, int source,
                              int line = __builtin_LINE()) {
    return _es_shuffle<unsigned char>(mask, value, source, line) != 0;
}

_ES_FUNCTION unsigned long long _es_ballot(unsigned long long mask, bool test,
                                           int line = __builtin_LINE()) {
    unsigned long long bits = 0;
    for (int n = 0; n < 64; ++n)
        if (mask >> n & 1 && _es_shuffle(mask, test, n, line)) bits |= 1ull << n;
    return bits;
}
#define _ES_COPY(to, from, bytes) __builtin_memcpy(to, from, bytes)
#define _ES_BALLOT(mask, test) _es_ballot(mask, test)
#define _ES_FIRST_BIT(bits) __builtin_ctzll(bits)

template <typename A, typename B>
_ES_FUNCTION A _es_bit_cast(B x) {
    return __builtin_bit_cast(A, x);
}
#define __popc(a) __builtin_popcount(a)
#define __popcll(a) __builtin_popcountll(a)
#define __clz(a) ((a) == 0 ? 32 : __builtin_clz(a))
#define __clzll(a) ((a) == 0 ? 64 : __builtin_clzll(a))
#define _es_mul_hi(a, b) ((unsigned int)((unsigned long long)(a) * (b) >> 32))
_ES_FUNCTION unsigned short _es_half_of(double x) { return _es_host_half_of(x); }
_ES_FUNCTION float _es_float_of(unsigned short bits) { return _es_host_float_of(bits); }

// -- atomic steps: of floats by exchanges of their bits ------------------------------------------

template <typename T>
struct _es_itself {
    typedef T type;
};
template <unsigned long bytes>
struct _es_word;
template <>
struct _es_word<4> {
    typedef unsigned int type;
};
template <>
struct _es_word<8> {
    typedef unsigned long long type;
};
#define _ES_VALUE typename _es_itself<T>::type
#define _ES_WORD typename _es_word<sizeof(T)>::type

template <typename T>
_ES_FUNCTION T _es_atomic_load(volatile T *p) {
    _ES_WORD bits = __atomic_load_n((volatile _ES_WORD *)p, __ATOMIC_RELAXED);
    _es_host_look();  // it may wait for another work-item
    return __builtin_bit_cast(T, bits);
}
template <typename T>
_ES_FUNCTION T _es_atomic_exchange(volatile T *p, _ES_VALUE v) {
    _ES_WORD own = __builtin_bit_cast(_ES_WORD, v);
    _ES_WORD old = __atomic_exchange_n((volatile _ES_WORD *)p, own, __ATOMIC_RELAXED);
    if (old == own) _es_host_look();
    return __builtin_bit_cast(T, old);
}
template <typename T>
_ES_FUNCTION T _es_atomic_compare_exchange(volatile T *p, _ES_VALUE expected, _ES_VALUE v) {
    _ES_WORD old = __builtin_bit_cast(_ES_WORD, expected), own = __builtin_bit_cast(_ES_WORD, v);
    if (!__atomic_compare_exchange_n((volatile _ES_WORD *)p, &old, own, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        _es_host_look();
    return __builtin_bit_cast(T, old);
}
template <typename T, typename F>
_ES_FUNCTION T _es_step(volatile T *p, F changed) {
    _ES_WORD old = __atomic_load_n((volatile _ES_WORD *)p, __ATOMIC_RELAXED), next;
    do next = __builtin_bit_cast(_ES_WORD, (T)changed(__builtin_bit_cast(T, old)));
    while (!__atomic_compare_exchange_n((volatile _ES_WORD *)p, &old, next, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return __builtin_bit_cast(T, old);
}
// Sums of integers wrap around, as they do on the device.
_ES_FUNCTION int _es_sum(int a, int b) { return (int)((unsigned int)a + (unsigned int)b); }
_ES_FUNCTION unsigned int _es_sum(unsigned int a, unsigned int b) { return a + b; }
_ES_FUNCTION long long _es_sum(long long a, long long b) {
    return (long long)((unsigned long long)a + (unsigned long long)b);
}
_ES_FUNCTION unsigned long long _es_sum(unsigned long long a, unsigned long long b) {
    return a + b;
}
_ES_FUNCTION float _es_sum(float a, float b) { return a + b; }
_ES_FUNCTION double _es_sum(double a, double b) { return a + b; }
template <typename T>
_ES_FUNCTION T _es_negative(T x) {
    if constexpr ((T)0.5 != (T)0) return -x;
    return (T)(0ull - (unsigned long long)x);
}
#ifdef _ES_MUTATION_ATOMIC
template <typename T>
_ES_FUNCTION T _es_atomic_add(volatile T *p, _ES_VALUE v) {
    T old = *p;
    _es_host_yield();
    *p = _es_sum(old, v);
    return old;
}
#else
template <typename T>
_ES_FUNCTION T _es_atomic_add(volatile T *p, _ES_VALUE v) {
    return _es_step(p, [=](T old) { return _es_sum(old, v); });
}
#endif
template <typename T>
_ES_FUNCTION T _es_atomic_sub(volatile T *p, _ES_VALUE v) {
    return _es_atomic_add(p, _es_negative((T)v));
}
template <typename T>
_ES_FUNCTION T _es_atomic_and(volatile T *p, _ES_VALUE v) {
    return __atomic_fetch_and(p, v, __ATOMIC_RELAXED);
}
template <typename T>
_ES_FUNCTION T _es_atomic_or(volatile T *p, _ES_VALUE v) {
    return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);
}
template <typename T>
_ES_FUNCTION T _es_atomic_xor(volatile T *p, _ES_VALUE v) {
    return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED);
}
template <typename T>
_ES_FUNCTION T _es_atomic_min(volatile T *p, _ES_VALUE v) {
    return _es_step(p, [=](T old) { return v < old ? v : old; });
}
template <typename T>
_ES_FUNCTION T _es_atomic_max(volatile T *p, _ES_VALUE v) {
    return _es_step(p, [=](T old) { return old < v ? v : old; });
}
_ES_FUNCTION int _es_fetch_add(volatile int *p, int v) {
    return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);
}
_ES_FUNCTION void _es_store_release(volatile unsigned long long *p, unsigned long long v) {
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
}
_ES_FUNCTION unsigned long long _es_load_acquire(volatile unsigned long long *p) {
    unsigned long long found = __atomic_load_n(p, __ATOMIC_ACQUIRE);
    _es_host_look();
    return found;
}

// -- mathematical functions: the C library's -----------------------------------------------------

#define _ES_TEST(name)                                                  \
    _ES_FUNCTION bool _es_##name(float x) { return __builtin_##name(x); } \
    _ES_FUNCTION bool _es_##name(double x) { return __builtin_##name(x); }
_ES_TEST(isnan)
_ES_TEST(isinf)
_ES_TEST(isfinite)
#undef _ES_TEST
#define _ES_MATH(name)                                                                \
    _ES_FUNCTION double _es_##name(double x) { return __builtin_##name(x); }          \
    _ES_FUNCTION float _es_##name##f(float x) { return __builtin_##name##f(x); }
_ES_MATH(sqrt) _ES_MATH(cbrt) _ES_MATH(exp) _ES_MATH(exp2) _ES_MATH(expm1) _ES_MATH(log)
_ES_MATH(log2) _ES_MATH(log10) _ES_MATH(log1p) _ES_MATH(sin) _ES_MATH(cos) _ES_MATH(tan)
_ES_MATH(asin) _ES_MATH(acos) _ES_MATH(atan) _ES_MATH(sinh) _ES_MATH(cosh) _ES_MATH(tanh)
_ES_MATH(asinh) _ES_MATH(acosh) _ES_MATH(atanh) _ES_MATH(erf) _ES_MATH(erfc) _ES_MATH(lgamma)
_ES_MATH(tgamma) _ES_MATH(floor) _ES_MATH(ceil) _ES_MATH(trunc) _ES_MATH(rint) _ES_MATH(fabs)
#undef _ES_MATH
#define _ES_MATH(name)                                                                        \
    _ES_FUNCTION double _es_##name(double x, double y) { return __builtin_##name(x, y); }     \
    _ES_FUNCTION float _es_##name##f(float x, float y) { return __builtin_##name##f(x, y); }
_ES_MATH(atan2) _ES_MATH(hypot) _ES_MATH(copysign) _ES_MATH(fmod) _ES_MATH(pow)
#undef _ES_MATH

// -- launches: a function for each kernel that takes its parameters from a table -----------------

template <unsigned long... n>
struct _es_numbers {};
template <typename T>
_ES_FUNCTION T _es_parameter(const void *p) {
    T value;
    __builtin_memcpy(&value, p, sizeof(T));
    return value;
}
template <typename... A, unsigned long... n>
_ES_FUNCTION void _es_call(void (*kernel)(A...), void **table, _es_numbers<n...>) {
    kernel(_es_parameter<A>(table[n])...);
}
template <typename... A>
_ES_FUNCTION void _es_run(void (*kernel)(A...), void **table) {
    _es_call(kernel, table, _es_numbers<__integer_pack(sizeof...(A))...>());
}
#define _ES_ENTRY(kernel) \
    extern "C" void _es_run_##kernel(void **table) { _es_run(kernel, table); }
