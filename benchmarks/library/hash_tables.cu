// An open hash table as one writes it by hand: linear probing, keys claimed by compare-and-swap, as many
// slots and the same hash as execspace.UnorderedMap. `empty` is the key that none has.
typedef unsigned long long u64;
__device__ u64 hash_of(u64 x) {
    x ^= x >> 30; x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27; x *= 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}
extern "C" __global__ void insert(const u64 *keys, const int *values, u64 *table, int *found, u64 mask,
                                  long long n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u64 key = keys[i];
    for (u64 slot = hash_of(key) & mask;; slot = (slot + 1) & mask) {
        u64 seen = table[slot];
        if (seen == 0) seen = atomicCAS(table + slot, 0ULL, key);
        if (seen == 0) { found[slot] = values[i]; return; }
        if (seen == key) return;
    }
}
extern "C" __global__ void find(const u64 *keys, int *out, const u64 *table, const int *found, u64 mask,
                                long long n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u64 key = keys[i];
    int result = -1;
    for (u64 slot = hash_of(key) & mask;; slot = (slot + 1) & mask) {
        const u64 seen = table[slot];
        if (seen == key) result = found[slot];
        if (seen == key || seen == 0) break;
    }
    out[i] = result;
}
