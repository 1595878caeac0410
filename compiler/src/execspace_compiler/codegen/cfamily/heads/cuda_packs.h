// Packs of neighbouring elements that nobody stores into while a kernel runs, in CUDA: by way of the
// cache for such data, which takes more loads at a time.

template <int bytes> struct _es_constant_words;
template <> struct _es_constant_words<2> { typedef unsigned short type; };
template <> struct _es_constant_words<4> { typedef unsigned int type; };
template <> struct _es_constant_words<8> { typedef uint2 type; };
template <> struct _es_constant_words<16> { typedef uint4 type; };
template <typename P> _ES_FUNCTION P _es_unchanged(const void *p) {
    const auto words = __ldg((const typename _es_constant_words<sizeof(P)>::type *)p);
    P pack;
    _ES_COPY((void *)&pack, &words, sizeof(P));
    return pack;
}

