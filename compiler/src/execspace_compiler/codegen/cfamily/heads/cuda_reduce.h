// Joins of the numbers of all lanes of a mask, of which each gets the result. GPUs since Ampere have
// them for 32 bits; of 64 bits the upper half decides first. Others exchange numbers.

template <typename T> struct _es_larger {
    static _ES_METHOD T of(T a, T b) { return b > a ? b : a; }
};
template <typename T> struct _es_smaller {
    static _ES_METHOD T of(T a, T b) { return b < a ? b : a; }
};
template <typename T> struct _es_total {
    static _ES_METHOD T of(T a, T b) { return (T)((unsigned int)a + (unsigned int)b); }
};
template <typename Join, typename T> _ES_FUNCTION T _es_of_lanes_exchanged(unsigned int mask, T x) {
    const int count = __popc(mask);
    if ((count & (count - 1)) == 0) {
        for (int w = 1; w < count; w *= 2) x = Join::of(x, __shfl_xor_sync(mask, x, w));
        return x;
    }
    T found = x;
    bool is_first = true;
    for (unsigned int rest = mask; rest; rest &= rest - 1) {
        const T other = __shfl_sync(mask, x, __ffs((int)rest) - 1);
        found = is_first ? other : Join::of(found, other);
        is_first = false;
    }
    return found;
}
#if __CUDA_ARCH__ >= 800
#define _ES_OF_LANES(name, type, join, native) \
    _ES_FUNCTION type name(unsigned int mask, type x) { return native(mask, x); }
#else
#define _ES_OF_LANES(name, type, join, native) \
    _ES_FUNCTION type name(unsigned int mask, type x) { \
        return _es_of_lanes_exchanged<join<type>, type>(mask, x); \
    }
#endif
_ES_OF_LANES(_es_of_lanes_sum, int, _es_total, __reduce_add_sync)
_ES_OF_LANES(_es_of_lanes_sum, unsigned int, _es_total, __reduce_add_sync)
_ES_OF_LANES(_es_of_lanes_min, int, _es_smaller, __reduce_min_sync)
_ES_OF_LANES(_es_of_lanes_min, unsigned int, _es_smaller, __reduce_min_sync)
_ES_OF_LANES(_es_of_lanes_max, int, _es_larger, __reduce_max_sync)
_ES_OF_LANES(_es_of_lanes_max, unsigned int, _es_larger, __reduce_max_sync)
#define _ES_OF_HALVES(name, type, half, none) \
    _ES_FUNCTION type name(unsigned int mask, type x) { \
        const half upper = (half)(x >> 32), first = name(mask, upper); \
        const unsigned int lower = name(mask, upper == first ? (unsigned int)x : none); \
        return (type)((unsigned long long)(unsigned int)first << 32 | lower); \
    }
_ES_OF_HALVES(_es_of_lanes_min, long long, int, 0xffffffffU)
_ES_OF_HALVES(_es_of_lanes_min, unsigned long long, unsigned int, 0xffffffffU)
_ES_OF_HALVES(_es_of_lanes_max, long long, int, 0U)
_ES_OF_HALVES(_es_of_lanes_max, unsigned long long, unsigned int, 0U)
