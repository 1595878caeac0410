// Numbers, and packs of 8 and 16 bytes, that are accessed once, so that caches drop them before others.

template <typename P> _ES_FUNCTION P _es_nontemporal_load(const void *p) {
    P found;
    if constexpr (sizeof(P) == 4) {
        const unsigned int word = __ldcs((const unsigned int *)p);
        _ES_COPY((void *)&found, &word, 4);
    } else if constexpr (sizeof(P) == 8) {
        const uint2 words = __ldcs((const uint2 *)p);
        _ES_COPY((void *)&found, &words, 8);
    } else {
        const uint4 words = __ldcs((const uint4 *)p);
        _ES_COPY((void *)&found, &words, 16);
    }
    return found;
}
template <typename P> _ES_FUNCTION void _es_nontemporal_store(void *p, const P &pack) {
    uint4 words;
    _ES_COPY(&words, (const void *)&pack, sizeof(P));
    __stcs((uint4 *)p, words);
}
