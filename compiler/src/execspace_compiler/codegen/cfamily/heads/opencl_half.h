// float16 in OpenCL C of any device: numbers are their bits. All devices convert these, though few have
// arithmetic of float16. A float64 becomes a float16 in one step, so it is rounded once.

static inline float _es_half_value(ushort bits) { return vload_half(0, (const half *)&bits); }
static inline ushort _es_half_nearest(float x) {
    ushort bits;
    vstore_half_rte(x, 0, (half *)&bits);
    return bits;
}
static inline ushort _es_half_nearest_once(double x) {
    ushort bits;
    vstore_half_rte(x, 0, (half *)&bits);
    return bits;
}
