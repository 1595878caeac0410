// Bits of a value as another type, in CUDA.

template <typename A, typename B> _ES_FUNCTION A _es_bit_cast(B x) {
    A y;
    memcpy(&y, &x, sizeof(A));
    return y;
}
