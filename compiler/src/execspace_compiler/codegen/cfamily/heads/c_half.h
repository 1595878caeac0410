// Bits of float16 in plain C: not every compiler has the type on every processor.

static inline _Float16 _as_f16(unsigned short x) { _Float16 y; __builtin_memcpy(&y, &x, sizeof y); return y; }
static inline unsigned short _as_u16(_Float16 x) { unsigned short y; __builtin_memcpy(&y, &x, sizeof y); return y; }
