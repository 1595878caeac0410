"""float16 as a class of C++: computes in float32 and rounds each result.

Dialects differ in how they convert; the class is the same.
"""

from __future__ import annotations

# Members that take volatile objects are for partial results, which other groups write.
_CLASS = """
struct _half {
    unsigned short bits;
    _half() = default;
    _half(const _half &) = default;
    _half &operator=(const _half &) = default;
    _ES_METHOD _half(const volatile _half &o) : bits(o.bits) {}
    _ES_METHOD _half &operator=(const volatile _half &o) { bits = o.bits; return *this; }
    _ES_METHOD void operator=(const _half &o) volatile { bits = o.bits; }
    _ES_METHOD _half(float x) { $FLOAT }
    template <typename T> _ES_METHOD _half(T x) { $DOUBLE }
    _ES_METHOD operator float() const {
        float x;
        $BACK
        return x;
    }
    _ES_METHOD _half operator-() const { _half h; h.bits = bits ^ 0x8000; return h; }
    _ES_METHOD _half &operator+=(float x) { return *this = _half((float)*this + x); }
    _ES_METHOD _half &operator-=(float x) { return *this = _half((float)*this - x); }
};
static _ES_METHOD _half _as_half(unsigned short bits) { _half h; h.bits = bits; return h; }
"""


def half_class(of_float: str, of_double: str, back: str) -> str:
    """The class in a dialect, which defines `_ES_METHOD` as what stands before functions.

    Parameters
    ----------
    of_float, of_double, back : str
        Statements that set `bits` of the number `x`, which is a float, or becomes a double; and `x`
        of `bits`.
    """
    parts = {"$FLOAT": of_float, "$DOUBLE": of_double, "$BACK": back}
    text = _CLASS
    for name, part in parts.items():
        text = text.replace(name, part)
    return text
