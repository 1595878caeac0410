"""What random functions of a seed, an index and a draw must return, in Python's integers.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011.
"""

# Seeds, indices and draws at the ends of their ranges.
SEEDS = (0, 1, 2**32 - 1, 2**63, 2**64 - 1)
INDICES = (0, 1, -1, 2**31, 2**32 + 5, -(2**63), 2**63 - 1)
DRAWS = (0, 1, 2, 2**32 + 1, 2**33, 2**62 - 1)


def words(seed, index, draw, tag):
    """The block that the documentation promises, in Python's integers: ten rounds of Philox."""
    counter = (index % 2**64) | (draw | tag << 62) << 64
    c = [counter >> 32 * k & 0xFFFFFFFF for k in range(4)]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p, q = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [q >> 32 ^ c[1] ^ k0, q & 0xFFFFFFFF, p >> 32 ^ c[3] ^ k1, p & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c[0] | c[1] << 32, c[2] | c[3] << 32


def uint64(seed, index, draw):
    return words(seed, index, draw // 2, 0)[draw % 2]


def integer(seed, index, low, high, draw):
    upper, lower = words(seed, index, draw, 2)[::-1]
    # The documented formula in exact arithmetic, but for what is below the last place.
    return low + ((upper << 64 | lower) * (high - low) >> 128)


POINTS = [(s, i, d) for s in SEEDS for i in INDICES for d in DRAWS]
