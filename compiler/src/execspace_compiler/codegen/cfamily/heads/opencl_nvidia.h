// Exchanges between the lanes of a warp in NVIDIA's OpenCL C, which has them in assembly only. A value
// of any type goes in words of 32 bits.

// Without an address space, which a member of a union has not.
#define _ES_TYPE_OF(value) __typeof__((0, (value)))
#define _es_shuffle(mask, value, source) ({ \
    union { uint words[(sizeof(value) + 3) / 4]; _ES_TYPE_OF(value) whole; } _es_v = {.whole = (value)}; \
    const int _es_lane = (source); \
    const uint _es_mask = (uint)(mask); \
    _Pragma("unroll") for (int _es_n = 0; _es_n < (int)sizeof(_es_v.words) / 4; ++_es_n) \
        _es_v.words[_es_n] = _es_shuffle_word(_es_mask, _es_v.words[_es_n], _es_lane); \
    _es_v.whole; })
static inline uint _es_shuffle_word(uint mask, uint word, int source) {
    uint found;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;"
                 : "=r"(found) : "r"(word), "r"(source), "r"(mask));
    return found;
}
static inline ulong _es_shuffle_ballot(uint mask, int test) {
    uint found;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
                 : "=r"(found) : "r"(test), "r"(mask));
    return found;
}
