"""Random numbers as functions of a seed, an index and a draw: Philox4x32-10.

Everything here is written in the kernel language, so it runs in kernels of every space and, as it
stands, in plain Python, with the same results to the bit. Constants are literals and not names of
the module: what a helper captures is looked up at each launch.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.language import function

__all__ = [
    "philox4x32",
    "random_integer",
    "random_normal",
    "random_uint32",
    "random_uint64",
    "random_uniform",
    "random_uniform32",
]


@function
def philox4x32(
    counter0: Any, counter1: Any, counter2: Any, counter3: Any, key0: Any, key1: Any
) -> tuple[Any, Any, Any, Any]:
    """One block of Philox4x32-10: four words that depend on a counter and a key only.

    Parameters
    ----------
    counter0, counter1, counter2, counter3 : integer
        Words of the counter, least significant first; each is taken as a uint32.
    key0, key1 : integer
        Words of the key; each is taken as a uint32.

    Returns
    -------
    tuple of four uint32

    Raises
    ------
    OverflowError
        On the host, of a Python int that is not a uint32. In kernels such a number wraps.

    Notes
    -----
    Ten rounds of the paper's section 4.3; the words are those of Random123. `random_uint64`
    and its siblings say which counters they use.

    Examples
    --------
    >>> import execspace as es
    >>> [f"{int(word):08x}" for word in es.philox4x32(0, 0, 0, 0, 0, 0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    c0, c1 = np.uint32(counter0), np.uint32(counter1)
    c2, c3 = np.uint32(counter2), np.uint32(counter3)
    k0, k1 = np.uint32(key0), np.uint32(key1)
    for _ in range(10):
        p = np.uint64(c0) * 0xD2511F53
        q = np.uint64(c2) * 0xCD9E8D57
        c0, c2 = np.uint32(q >> 32) ^ c1 ^ k0, np.uint32(p >> 32) ^ c3 ^ k1
        c1, c3 = np.uint32(q & 0xFFFFFFFF), np.uint32(p & 0xFFFFFFFF)
        # In 64 bits, because a sum of NumPy's uint32 scalars warns when it wraps.
        k0 = np.uint32((np.uint64(k0) + 0x9E3779B9) & 0xFFFFFFFF)
        k1 = np.uint32((np.uint64(k1) + 0xBB67AE85) & 0xFFFFFFFF)
    return c0, c1, c2, c3


@function
def _words(seed: Any, index: Any, number: Any) -> tuple[Any, Any, Any, Any]:
    """The block of a seed, an index and a uint64."""
    key, low = np.uint64(seed), np.uint64(np.int64(index))
    return philox4x32(
        low & 0xFFFFFFFF, low >> 32, number & 0xFFFFFFFF, number >> 32, key & 0xFFFFFFFF, key >> 32
    )


@function
def _halves(seed: Any, index: Any, number: Any) -> tuple[Any, Any]:
    """The same as two uint64."""
    w0, w1, w2, w3 = _words(seed, index, number)
    return np.uint64(w1) << 32 | np.uint64(w0), np.uint64(w3) << 32 | np.uint64(w2)


@function
def random_uint64(seed: Any, index: Any, draw: Any = 0) -> Any:
    """64 random bits, for kernels and for the host.

    Parameters
    ----------
    seed : integer
        0 <= seed < 2**64. Best an argument of the kernel: each value of a captured name is
        compiled.
    index : integer
        Any int64, usually an index of the kernel. A uint64 counts modulo 2**64.
    draw : integer, default 0
        Which number of this index: 0 <= draw < 2**62. Others wrap.

    Returns
    -------
    uint64

    Raises
    ------
    OverflowError
        On the host, of Python ints beyond these ranges. In kernels they wrap.

    Notes
    -----
    Key: the seed. Counter: the index in words 0 and 1, ``draw // 2`` in words 2 and 3. Even draws
    are the first two words of the block, odd draws the last two. `random_normal` and
    `random_integer` set one of the two highest bits of the counter, so they have blocks of
    their own.

    Examples
    --------
    >>> import execspace as es
    >>> hex(es.random_uint64(0, 0)), hex(es.random_uint64(0, 0, 1))
    ('0xe169c58d6627e8d5', '0x9b00dbd8bc57ac4c')
    """
    d = np.uint64(draw)
    even, odd = _halves(seed, index, (d >> 1) & 0x3FFFFFFFFFFFFFFF)
    return even if d & 1 == 0 else odd


@function
def random_uint32(seed: Any, index: Any, draw: Any = 0) -> Any:
    """32 random bits: the upper half of `random_uint64` of the same arguments, as a uint32."""
    return np.uint32(random_uint64(seed, index, draw) >> 32)


@function
def random_uniform(seed: Any, index: Any, draw: Any = 0) -> Any:
    """A float64 in [0, 1), one of the 2**53 equidistant ones, all equally probable.

    Parameters
    ----------
    seed, index, draw
        As for `random_uint64`, of whose result it is the upper 53 bits.

    Returns
    -------
    float64
        The same on every space, to the bit.

    Examples
    --------
    >>> import execspace as es
    >>> def darts(i, seed):
    ...     x, y = es.random_uniform(seed, i, 0), es.random_uniform(seed, i, 1)
    ...     return 4 if x * x + y * y < 1 else 0
    >>> n = 100_000
    >>> abs(es.parallel_reduce(n, darts, 5374857) / n - 3.14159) < 0.02
    True
    """
    return np.float64(random_uint64(seed, index, draw) >> 11) / 9007199254740992.0  # 2**53


@function
def random_uniform32(seed: Any, index: Any, draw: Any = 0) -> Any:
    """A float32 in [0, 1), one of the 2**24 equidistant ones, all equally probable.

    It is `random_uniform` of the same arguments rounded down, and never 1.
    """
    return np.float32(random_uint64(seed, index, draw) >> 40) / 16777216.0  # 2**24


@function
def random_integer(seed: Any, index: Any, low: Any, high: Any, draw: Any = 0) -> Any:
    """An integer in [low, high), uniform.

    Parameters
    ----------
    seed, index, draw
        As for `random_uint64`. The numbers are independent of those of the other functions.
    low, high : integer
        Any int64. An empty range gives `low`, because kernels cannot raise.

    Returns
    -------
    int64
        The same on every space. No probability is off by more than one part in 2**64.

    Notes
    -----
    The upper half of the product of ``high - low`` and the 128 bits of a block: Lemire, "Fast
    random integer generation in an interval", 2019, without the rejection, which 128 bits make
    needless. Counter: the index in words 0 and 1, ``draw + 2**63`` in words 2 and 3.
    """
    first, last = np.int64(low), np.int64(high)
    span = _difference(np.uint64(last), np.uint64(first))
    sum_ = _sum(np.uint64(first), random_below(seed, index, span, draw))
    return np.int64(sum_) if first < last else first


@function
def random_below(seed: Any, index: Any, span: Any, draw: Any) -> Any:
    """A uint64 less than the uint64 `span`, of which 0 stands for 2**64; not public."""
    d = np.uint64(draw)
    w0, w1, w2, w3 = _words(seed, index, d & 0x3FFFFFFFFFFFFFFF | 0x8000000000000000)
    s0, s1 = np.uint32(span & 0xFFFFFFFF), np.uint32(span >> 32)
    # Long multiplication, word by word; the row of s0 is one word ahead of that of s1.
    carry0 = np.uint64(w0) * s0 >> 32
    carry1 = np.uint64(0)
    for word, ahead in ((w0, w1), (w1, w2), (w2, w3)):
        row = np.uint64(ahead) * s0 + carry0
        carry0 = row >> 32
        carry1 = (np.uint64(word) * s1 + (row & 0xFFFFFFFF) + carry1) >> 32
    product = np.uint64(w3) * s1 + carry0 + carry1
    return np.uint64(w3) << 32 | np.uint64(w2) if span == 0 else product


# Sums and differences of uint64 modulo 2**64. NumPy's scalars warn when they wrap, so these never
# do; compilers see through them.


@function
def _difference(a: Any, b: Any) -> Any:
    return a - b if a >= b else ~(b - a - 1)


@function
def _sum(a: Any, b: Any) -> Any:
    return a + b if b <= ~a else b - ~a - 1


@function(fma=False)
def random_normal(seed: Any, index: Any, draw: Any = 0) -> Any:
    """A float64 of the normal distribution with mean 0 and standard deviation 1.

    Parameters
    ----------
    seed, index, draw
        As for `random_uint64`. The numbers are independent of those of the other functions.

    Returns
    -------
    float64
        The same on every space, to the bit. At most 9.42 in magnitude.

    Notes
    -----
    Box and Muller, "A note on the generation of random normal deviates", 1958: draws 2k and
    2k+1 are the cosine and the sine of one pair. Logarithm, sine and cosine are computed here
    with + - * / and sqrt only, which IEEE 754 defines to the bit; errors are some units in the
    last place. Counter: the index in words 0 and 1, ``draw // 2 + 2**62`` in words 2 and 3.

    Examples
    --------
    >>> import execspace as es
    >>> n = 100_000
    >>> mean = es.parallel_reduce(n, lambda i: es.random_normal(1, i)) / n
    >>> abs(mean) < 0.02
    True
    """
    d = np.uint64(draw)
    bits, turn = _halves(seed, index, (d >> 1) & 0x3FFFFFFFFFFFFFFF | 0x4000000000000000)
    return np.sqrt(2.0 * _minus_log(bits)) * _cosine(turn, 3 * (d & 1))


@function(fma=False)
def _minus_log(bits: Any) -> Any:
    """-log(u), with u the middle of one of 2**63 equal cells of (0, 1)."""
    x = bits | 1
    exponent = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if x >> (64 - shift) == 0:
            x = x << shift
            exponent += shift
    m = np.float64(x >> 11) / 9007199254740992.0  # u = m / 2**exponent, 1/2 <= m < 1
    if m < 0.7071067811865476:
        m = 2.0 * m
        exponent += 1
    # log(m) = 2 atanh(f) = f * (2 + t * p(t)), t = f*f. p: Chebyshev fit by mpmath.chebyfit, degree
    # 6, on 0 <= t <= (sqrt(2) - 1)**4; relative error of the logarithm 5e-18.
    f = (m - 1.0) / (m + 1.0)
    t = f * f
    p = 0.14616585424888623
    p = p * t + 0.15331710618210773
    p = p * t + 0.18182889455674947
    p = p * t + 0.22222211130259878
    p = p * t + 0.2857142862600327
    p = p * t + 0.39999999999899444
    p = p * t + 0.666666666666667
    # log(2) in two parts, of which the first times an exponent is exact.
    e = np.float64(exponent)
    return e * 0.6931471805598903 + (e * 5.497923018708371e-14 - (2.0 * f + f * (t * p)))


@function(fma=False)
def _cosine(turn: Any, quarters: Any) -> Any:
    """cos(2 pi (turn / 2**64 + quarters / 4)), of the upper 53 bits of the uint64 `turn`."""
    a = turn >> 11
    nearest = (a + 0x4000000000000) >> 51  # quarter turn; the rest is -1/8 to 1/8 turns
    rest = np.float64(np.int64(a) - np.int64(nearest << 51))
    x = rest * 6.975736996017264e-16  # 2 pi / 2**53
    t = x * x
    # Chebyshev fits by mpmath.chebyfit on 0 <= t <= (pi / 4)**2: sin(x) = x + x * t * s(t) and
    # cos(x) = 1 - t / 2 + t * t * c(t); relative errors 2e-17 and 1e-18.
    s = 1.5918129280835e-10
    s = s * t - 2.5051131844808866e-08
    s = s * t + 2.7557316102551507e-06
    s = s * t - 0.00019841269836758574
    s = s * t + 0.008333333333330948
    s = s * t - 0.16666666666666666
    c = -1.1382632416743667e-11
    c = c * t + 2.087614626828136e-09
    c = c * t - 2.755731727172921e-07
    c = c * t + 2.4801587298765686e-05
    c = c * t - 0.0013888888888887398
    c = c * t + 0.041666666666666664
    sine = x + x * (t * s)
    cosine = 1.0 - 0.5 * t + t * t * c
    quadrant = nearest + quarters
    value = sine if quadrant & 1 == 1 else cosine
    return -value if (quadrant + 1) & 2 == 2 else value


# -- elements of fill_random ----------------------------------------------------------------------


@function
def element(view: Any, how: Any, seed: Any, n: Any, draw: Any, p: Any, q: Any, r: Any) -> Any:
    """What `fill_random` stores into an element of a View; not public.

    With else, because what follows a return is compiled as well, and would give its type to all.
    """
    if view.dtype == np.complex64 or view.dtype == np.complex128:
        real = _part(how, seed, 2 * n, draw, p, q, r)
        return complex(real, _part(how, seed, 2 * n + 1, draw, p, q, r))
    else:
        return _part(how, seed, n, draw, p, q, r)


@function(fma=False)
def _part(how: Any, seed: Any, n: Any, draw: Any, p: Any, q: Any, r: Any) -> Any:
    """One number, drawn as the string `how` says, which is known at compile time.

    p, q and r are: lower bound, width and greatest result of a uniform float; lower bound and
    span of an integer, modulo 2**64; mean and standard deviation of a normal number.
    """
    if how == "integer":
        return _sum(p, random_below(seed, n, q, draw))  # wraps into the element type
    elif how == "normal":
        return p + q * random_normal(seed, n, draw)
    elif how == "uniform32":
        return min(p + q * random_uniform32(seed, n, draw), r)  # a sum may round up to the bound
    else:
        return min(p + q * random_uniform(seed, n, draw), r)
