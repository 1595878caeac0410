// float16 in NVIDIA's OpenCL C: numbers are their bits. A float64 becomes a float16 in one step, so it is
// rounded once.

static inline float _es_half_value(ushort bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
static inline ushort _es_half_nearest(float x) {
    ushort bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
static inline ushort _es_half_nearest_once(double x) {
    ushort bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
    return bits;
}
