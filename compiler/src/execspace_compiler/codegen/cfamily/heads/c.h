// The head of plain C for GCC and Clang: built-in functions in place of headers.

typedef _Bool bool;
enum { false, true };
int printf(const char *, ...);
int fflush(void *);
static _Thread_local long _part_number, _number_of_parts;
static inline double _as_f64(unsigned long x) { double y; __builtin_memcpy(&y, &x, sizeof y); return y; }
static inline unsigned long _as_u64(double x) { unsigned long y; __builtin_memcpy(&y, &x, sizeof y); return y; }
static inline float _as_f32(unsigned int x) { float y; __builtin_memcpy(&y, &x, sizeof y); return y; }
static inline unsigned int _as_u32(float x) { unsigned int y; __builtin_memcpy(&y, &x, sizeof y); return y; }
static inline unsigned int _swap32(volatile unsigned int *p, unsigned int e, unsigned int v) { __atomic_compare_exchange_n(p, &e, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); return e; }
static inline unsigned long _swap64(volatile unsigned long *p, unsigned long e, unsigned long v) { __atomic_compare_exchange_n(p, &e, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); return e; }
