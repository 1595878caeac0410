// Numbers, and packs of 8 and 16 bytes, that are accessed once, so that caches drop them before others:
// a builtin of clang's, which compiles for GPUs.

#ifdef __clang__
template <int words> struct _es_once {
    typedef unsigned int type __attribute__((ext_vector_type(words)));
};
template <> struct _es_once<1> { typedef unsigned int type; };
#endif
template <typename P> _ES_FUNCTION P _es_nontemporal_load(const void *p) {
    P found;
#ifdef __clang__
    typedef typename _es_once<sizeof(P) / 4>::type words_type;
    const words_type words = __builtin_nontemporal_load((const words_type *)p);
    _ES_COPY((void *)&found, &words, sizeof(P));
#else
    _ES_COPY((void *)&found, p, sizeof(P));
#endif
    return found;
}
