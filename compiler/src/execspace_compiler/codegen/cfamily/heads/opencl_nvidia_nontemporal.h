// Packs of 16 bytes that are accessed once, so that caches drop them before others; NVIDIA's OpenCL C has
// no function for it. The load is not volatile: nothing writes where it reads.

static inline uint4 _es_nontemporal_load(const __global void *p) {
    uint a, b, c, d;
    asm("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(p));
    return (uint4)(a, b, c, d);
}
static inline void _es_nontemporal_store(__global void *p, uint4 v) {
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
                 : : "l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
