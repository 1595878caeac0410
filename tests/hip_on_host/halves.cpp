// Conversions between float16, as bits, and wider numbers, for compilers that have no such type.
// Rounded once, to the nearest, ties to even; NaN keeps its sign and is quiet.

extern "C" {

unsigned short _es_host_half_of(double x) {
    const auto bits = __builtin_bit_cast(unsigned long long, x);
    const unsigned sign = bits >> 48 & 0x8000;
    const unsigned long long fraction = bits & 0xfffffffffffffull;
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
    if (exponent == 1024)  // infinity, or NaN with the quiet bit
        return sign | 0x7c00 | (fraction ? 0x200 | static_cast<unsigned>(fraction >> 42) : 0);
    if (exponent > 15) return sign | 0x7c00;
    if (exponent < -25) return sign;
    // Subnormal numbers lose a digit for each step below the least exponent.
    const int dropped = exponent < -14 ? 42 - 14 - exponent : 42;
    const unsigned long long digits = fraction | 1ull << 52, half = 1ull << (dropped - 1);
    unsigned long long kept = digits >> dropped;
    const unsigned long long rest = digits & ((half << 1) - 1);
    if (rest > half || (rest == half && kept & 1)) ++kept;
    return sign + (exponent < -14 ? kept : kept + (static_cast<unsigned long long>(exponent + 14) << 10));
}

float _es_host_float_of(unsigned short bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    const unsigned sign = static_cast<unsigned>(bits & 0x8000) << 16;
    if (exponent == 31) return __builtin_bit_cast(float, sign | 0x7f800000u | fraction << 13);
    const float size = exponent ? __builtin_ldexpf(fraction + 1024, exponent - 25)
                                : __builtin_ldexpf(fraction, -24);
    return sign ? -size : size;
}

}  // extern "C"
