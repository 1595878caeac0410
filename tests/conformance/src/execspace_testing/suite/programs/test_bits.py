"""Integer kernels: random number generators, checksums, hashes, bit tricks.

Unsigned types of 8 to 64 bits, wrap-around, shifts. Checked against published test vectors or the
standard library (zlib, hashlib, int.bit_count).
"""

from __future__ import annotations

import hashlib
import zlib

import numpy as np

import execspace as es
from execspace_testing import staged

GOLDEN = 0x9E3779B97F4A7C15


# SplitMix64 (Steele, Lea, Flood 2014, S. Vigna), by index.
@es.kernel
def splitmix64(i, seed, out):
    z = seed[()] + (i + 1) * es.uint64(GOLDEN)
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    out[i] = z ^ (z >> 31)


def test_splitmix64_has_its_published_output(space):
    out = np.zeros(5, np.uint64)
    with es.use_space(space):
        staged.parallel_for(5, splitmix64, np.array(1234567, np.uint64), out)
    assert out.tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


# Marsaglia's xorshift32 (J. Stat. Softw. 8/14, 2003), and a jump as a loop.
def xorshift32(y):
    y ^= y << 13
    y ^= y >> 17
    y ^= y << 5
    return y


def test_xorshift32_has_its_published_output(space):
    @es.kernel
    def nth_number(i, seed, out):
        y = es.uint32(seed)
        for _ in range(i + 1):
            y = xorshift32(y)
        out[i] = y

    out = np.zeros(40, np.uint32)
    with es.use_space(space):
        staged.parallel_for(40, nth_number, 2463534242, out)
    assert out[:3].tolist() == [723471715, 2497366906, 2064144800]
    y = 2463534242
    for value in out.tolist():
        y ^= y << 13 & 0xFFFFFFFF
        y ^= y >> 17
        y ^= y << 5 & 0xFFFFFFFF
        assert value == y


# Philox4x32-10 (Salmon et al., SC 2011, Random123). Tuples from helpers.
def mul_hi_lo(a, b):
    product = es.uint64(a) * es.uint64(b)
    return es.uint32(product >> 32), es.uint32(product)


def philox_round(x0, x1, x2, x3, k0, k1):
    hi0, lo0 = mul_hi_lo(es.uint32(0xD2511F53), x0)
    hi1, lo1 = mul_hi_lo(es.uint32(0xCD9E8D57), x2)
    return hi1 ^ x1 ^ k0, lo1, hi0 ^ x3 ^ k1, lo0


def test_philox_gives_the_known_answers_of_random123(space):
    @es.kernel
    def philox4x32(i, counters, keys, out):
        x = counters[i, 0], counters[i, 1], counters[i, 2], counters[i, 3]
        k0, k1 = keys[i, 0], keys[i, 1]
        for _ in range(10):
            x = philox_round(x[0], x[1], x[2], x[3], k0, k1)
            k0 += 0x9E3779B9
            k1 += 0xBB67AE85
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = x

    counters = np.zeros((3, 4), np.uint32)
    keys = np.zeros((3, 2), np.uint32)
    counters[1], keys[1] = 0xFFFFFFFF, 0xFFFFFFFF
    counters[2] = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
    keys[2] = [0xA4093822, 0x299F31D0]
    out = np.zeros((3, 4), np.uint32)
    with es.use_space(space):
        staged.parallel_for(3, philox4x32, counters, keys, out)
    assert [" ".join(f"{x:08x}" for x in row) for row in out] == [
        "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
        "408f276d 41c83b0e a20bc7c6 6d5451fd",
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ]


def padded_rows(texts):
    """Rows of bytes of equal length, and the lengths of the texts in them."""
    rows = np.zeros((len(texts), max(1, *map(len, texts))), np.uint8)
    for row, text in zip(rows, texts, strict=True):
        row[: len(text)] = list(text)
    return rows, np.array([len(text) for text in texts], np.int32)


TEXTS = [b"", b"a", b"123456789", b"foobar", bytes(range(60))]


# CRC-32 bit by bit (RFC 1952's polynomial), one message per index.
@es.kernel
def crc32(m, data, lengths, out):
    crc = es.uint32(0xFFFFFFFF)
    for k in range(lengths[m]):
        crc ^= data[m, k]
        for _ in range(8):
            crc = (crc >> 1) ^ 0xEDB88320 if crc & 1 else crc >> 1
    out[m] = ~crc


def test_crc32_agrees_with_zlib(space):
    rows, lengths = padded_rows(TEXTS)
    out = np.zeros(len(TEXTS), np.uint32)
    with es.use_space(space):
        staged.parallel_for(len(TEXTS), crc32, rows, lengths, out)
    assert out.tolist() == [zlib.crc32(text) for text in TEXTS]
    assert out[2] == 0xCBF43926  # the check value of the CRC catalogue


# FNV-1a, 64 bits (Fowler, Noll, Vo). Products that wrap.
@es.kernel
def fnv1a(m, data, lengths, out):
    h = es.uint64(0xCBF29CE484222325)
    for k in range(lengths[m]):
        h = (h ^ data[m, k]) * 0x100000001B3
    out[m] = h


def test_fnv1a_has_its_published_hashes(space):
    rows, lengths = padded_rows(TEXTS[:4])
    out = np.zeros(4, np.uint64)
    with es.use_space(space):
        staged.parallel_for(4, fnv1a, rows, lengths, out)
    assert out[[0, 1, 3]].tolist() == [0xCBF29CE484222325, 0xAF63DC4C8601EC8C, 0x85944171F73967E8]


# SHA-256 (FIPS 180-4) of messages of one block: private arrays, nested functions.
def fractional_bits(count, root):
    primes = [p for p in range(2, 312) if all(p % q for q in range(2, p))][:count]
    bits = [int(p ** (1 / root) % 1 * 2**32) for p in primes]
    return np.array(bits, np.uint32)


ROUND_CONSTANTS = fractional_bits(64, 3)
INITIAL_STATE = fractional_bits(8, 2)


def test_sha256_agrees_with_hashlib(space):
    constants, initial = (staged.place(space, a) for a in (ROUND_CONSTANTS, INITIAL_STATE))

    def rotr(x, n):
        return x >> n | x << (32 - n)

    @es.kernel
    def sha256_block(m, blocks, digests):
        def choose(e, f, g):
            return (e & f) ^ (~e & g)

        majority = lambda a, b, c: (a & b) ^ (a & c) ^ (b & c)  # noqa: E731
        w = es.local(64, es.uint32)
        for t in range(16):
            w[t] = blocks[m, t]
        for t in range(16, 64):
            s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3
            s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10
            w[t] = w[t - 16] + s0 + w[t - 7] + s1
        s = es.local(8, es.uint32)
        for k in range(8):
            s[k] = initial[k]
        for t in range(64):
            sum1 = rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25)
            t1 = s[7] + sum1 + choose(s[4], s[5], s[6]) + constants[t] + w[t]
            sum0 = rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22)
            t2 = sum0 + majority(s[0], s[1], s[2])
            for k in range(7, 0, -1):
                s[k] = s[k - 1]
            s[4] += t1
            s[0] = t1 + t2
        for k in range(8):
            digests[m, k] = initial[k] + s[k]

    texts = [b"", b"abc", b"x" * 55]
    blocks = np.zeros((3, 64), np.uint8)
    for block, text in zip(blocks, texts, strict=True):
        block[: len(text) + 1] = list(text + b"\x80")
        block[62:] = divmod(8 * len(text), 256)
    digests = np.zeros((3, 8), np.uint32)
    with es.use_space(space):
        staged.parallel_for(3, sha256_block, blocks.view(">u4").astype(np.uint32), digests)
    found = [row.astype(">u4").tobytes().hex() for row in digests]
    assert found == [hashlib.sha256(text).hexdigest() for text in texts]


# Morton codes by magic masks (S. E. Anderson, Bit Twiddling Hacks).
def spread(x):
    x = es.uint32(x)
    x = (x | x << 8) & 0x00FF00FF
    x = (x | x << 4) & 0x0F0F0F0F
    x = (x | x << 2) & 0x33333333
    return (x | x << 1) & 0x55555555


@es.kernel
def morton(i, xs, ys, codes):
    codes[i] = spread(xs[i]) | spread(ys[i]) << 1


def test_morton_codes_interleave_the_digits(space):
    xs, ys = np.random.default_rng(1).integers(0, 2**16, (2, 40), dtype=np.uint16)
    codes = np.zeros(40, np.uint32)
    with es.use_space(space):
        staged.parallel_for(40, morton, xs, ys, codes)
    for x, y, code in zip(xs, ys, codes, strict=True):
        digits = "".join(b + a for a, b in zip(f"{x:016b}", f"{y:016b}", strict=True))
        assert int(code) == int(digits, 2)


# Counting bits (Bit Twiddling Hacks), for each width, and in a reduction.
@es.kernel
def population(i, words):
    v = words[i]
    count = 0
    while v:
        v &= v - 1
        count += 1
    return count


def test_population_counts_of_all_widths(space):
    for width in (8, 16, 32, 64):
        words = np.arange(0, 250, 7, dtype=np.uint64) * (2 ** (width - 8))
        words = words.astype(f"uint{width}")
        with es.use_space(space):
            total = staged.parallel_reduce(len(words), population, words)
        assert total == sum(int(word).bit_count() for word in words)
