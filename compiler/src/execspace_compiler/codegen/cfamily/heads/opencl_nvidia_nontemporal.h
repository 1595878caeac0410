// Numbers, and packs of 8 and 16 bytes, that are accessed once, so that caches drop them before others;
// NVIDIA's OpenCL C has no function for it. Loads are not volatile: nothing writes where they read.

static inline uint _es_nontemporal_load_4(const __global void *p) {
    uint a;
    asm("ld.global.cs.u32 %0, [%1];" : "=r"(a) : "l"(p));
    return a;
}
static inline uint2 _es_nontemporal_load_8(const __global void *p) {
    uint a, b;
    asm("ld.global.cs.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(p));
    return (uint2)(a, b);
}
static inline uint4 _es_nontemporal_load_16(const __global void *p) {
    uint a, b, c, d;
    asm("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(p));
    return (uint4)(a, b, c, d);
}
static inline void _es_nontemporal_store(__global void *p, uint4 v) {
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
                 : : "l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
