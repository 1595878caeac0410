// float16 as a class of C++ for GPUs: computes in float32 and rounds each result. A float64 becomes
// a float16 in one step, so it is rounded once. Members that take volatile objects are for partial
// results, which other groups write.

struct _half {
    unsigned short bits;
    _half() = default;
    _half(const _half &) = default;
    _half &operator=(const _half &) = default;
    _ES_METHOD _half(const volatile _half &o) : bits(o.bits) {}
    _ES_METHOD _half &operator=(const volatile _half &o) { bits = o.bits; return *this; }
    _ES_METHOD void operator=(const _half &o) volatile { bits = o.bits; }
    _ES_METHOD _half(float x) { bits = _es_half_of(x); }
    template <typename T> _ES_METHOD _half(T x) { bits = _es_half_of((double)x); }
    _ES_METHOD operator float() const { return _es_float_of(bits); }
    _ES_METHOD _half operator-() const { _half h; h.bits = bits ^ 0x8000; return h; }
    _ES_METHOD _half &operator+=(float x) { return *this = _half((float)*this + x); }
    _ES_METHOD _half &operator-=(float x) { return *this = _half((float)*this - x); }
};
static _ES_METHOD _half _as_half(unsigned short bits) { _half h; h.bits = bits; return h; }
