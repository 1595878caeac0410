// std::unordered_map, reserved for all keys, for hash_tables.py.
#include <cstdint>
#include <unordered_map>
using Map = std::unordered_map<uint64_t, int32_t>;
extern "C" void *make(long n) { auto *m = new Map; m->reserve(n); return m; }
extern "C" void drop(void *m) { delete (Map *)m; }
extern "C" void clear(void *m) { ((Map *)m)->clear(); }
extern "C" void insert(void *m, const uint64_t *keys, const int32_t *values, long n) {
    for (long i = 0; i < n; ++i) ((Map *)m)->emplace(keys[i], values[i]);
}
extern "C" void find(void *m, const uint64_t *keys, int32_t *out, long n) {
    for (long i = 0; i < n; ++i) {
        auto at = ((Map *)m)->find(keys[i]);
        out[i] = at == ((Map *)m)->end() ? -1 : at->second;
    }
}
