// Packs of neighbouring elements by one access in C++ for GPUs, in words: compilers would take the
// members of a struct one by one where these are of a class, as float16 is, and those of 8 and 16 bits
// apart in more steps.

template <int bytes> struct _es_words;
template <> struct _es_words<2> { typedef unsigned short __attribute__((may_alias)) type; };
template <> struct _es_words<4> { typedef unsigned int __attribute__((may_alias)) type; };
template <> struct _es_words<8> { typedef unsigned long long __attribute__((may_alias)) type; };
template <> struct _es_words<16> {
    struct __attribute__((aligned(16), may_alias)) type { unsigned int a, b, c, d; };
};
template <> struct _es_words<32> {
    struct __attribute__((aligned(16), may_alias)) type { unsigned int all[8]; };
};
template <typename P> _ES_FUNCTION P _es_pack_at(const void *p) {
    const typename _es_words<sizeof(P)>::type words = *(const typename _es_words<sizeof(P)>::type *)p;
    P pack;
    _ES_COPY((void *)&pack, &words, sizeof(P));
    return pack;
}
template <typename P> _ES_FUNCTION void _es_pack_to(void *p, const P &pack) {
    typename _es_words<sizeof(P)>::type words;
    _ES_COPY(&words, (const void *)&pack, sizeof(P));
    *(typename _es_words<sizeof(P)>::type *)p = words;
}

