// Packs of 16 bytes that are accessed once, so that caches drop them before others.

template <typename P> _ES_FUNCTION P _es_nontemporal_load(const void *p) {
    const uint4 words = __ldcs((const uint4 *)p);
    P pack;
    _ES_COPY((void *)&pack, &words, sizeof(P));
    return pack;
}
template <typename P> _ES_FUNCTION void _es_nontemporal_store(void *p, const P &pack) {
    uint4 words;
    _ES_COPY(&words, (const void *)&pack, sizeof(P));
    __stcs((uint4 *)p, words);
}
