// Whether any bit of a mask is set, for GCC and Clang.

typedef long long _q8 __attribute__((vector_size(8)));
typedef long long _q16 __attribute__((vector_size(16)));
typedef long long _q32 __attribute__((vector_size(32)));
typedef long long _q64 __attribute__((vector_size(64)));
static inline bool _some8(_q8 m) { return m[0] != 0; }
#if defined(__clang__)
static inline bool _some16(_q16 m) { return __builtin_reduce_or(m) != 0; }
static inline bool _some32(_q32 m) { return __builtin_reduce_or(m) != 0; }
static inline bool _some64(_q64 m) { return __builtin_reduce_or(m) != 0; }
#else
#if defined(__SSE4_1__)
static inline bool _some16(_q16 m) { return !__builtin_ia32_ptestz128(m, m); }
#else
static inline bool _some16(_q16 m) { return (m[0] | m[1]) != 0; }
#endif
#if defined(__AVX__)
static inline bool _some32(_q32 m) { return !__builtin_ia32_ptestz256(m, m); }
#else
static inline bool _some32(_q32 m) { return (m[0] | m[1] | m[2] | m[3]) != 0; }
#endif
#if defined(__AVX512F__)
static inline bool _some64(_q64 m) { return __builtin_ia32_ptestmq512(m, m, (unsigned char)-1) != 0; }
#else
static inline bool _some64(_q64 m) { return (m[0] | m[1] | m[2] | m[3] | m[4] | m[5] | m[6] | m[7]) != 0; }
#endif
#endif
