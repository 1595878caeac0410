// An exchange between the lanes of a warp in CUDA: a value of any type goes in words of 32 bits.

template <typename T> _ES_FUNCTION T _es_shuffle(unsigned int mask, T value, int source) {
    constexpr int n = (sizeof(T) + 3) / 4;
    unsigned int words[n] = {0};
    memcpy(words, &value, sizeof(T));
    #pragma unroll
    for (int k = 0; k < n; ++k) words[k] = __shfl_sync(mask, words[k], source);
    memcpy(&value, words, sizeof(T));
    return value;
}
