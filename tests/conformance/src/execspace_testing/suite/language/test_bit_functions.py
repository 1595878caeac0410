"""The functions of C++'s <bit> in kernels: what Python says, for every type of integers."""

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
MASKS = {size: (1 << size) - 1 for size in (8, 16, 32, 64)}


def numbers(dtype):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(7)
    many = rng.integers(info.min, info.max, 60, dtype=dtype, endpoint=True)
    small = many >> rng.integers(0, info.bits, 60).astype(dtype)  # of all widths
    special = np.array([0, 1, 2, 3, info.max, info.min, info.max // 2 + 1], dtype)
    return np.concatenate([special, many, small])


def text(x, size):
    """The bits of a number, the highest one first."""
    return format(int(x) & MASKS[size], f"0{size}b")


def of_text(bits, dtype):
    """The number that has these bits."""
    size = np.dtype(dtype).itemsize
    return np.frombuffer(int(bits, 2).to_bytes(size, "little"), np.dtype(dtype).newbyteorder("<"))[
        0
    ]


def run_of(digit, bits):
    return len(bits) - len(bits.lstrip(digit))


def counts(i, x, out):
    v = x[i]
    out[i, 0] = es.popcount(v)
    out[i, 1] = es.countl_zero(v)
    out[i, 2] = es.countl_one(v)
    out[i, 3] = es.countr_zero(v)
    out[i, 4] = es.countr_one(v)
    out[i, 5] = es.bit_width(v)
    out[i, 6] = es.has_single_bit(v)


@pytest.mark.parametrize("dtype", TYPES)
def test_counts(space, dtype):
    x = numbers(dtype)
    out = staged.view_on(space, np.zeros((len(x), 7), np.int64))
    es.parallel_for(es.RangePolicy(len(x), space=space), counts, staged.view_on(space, x), out)
    size = np.iinfo(dtype).bits
    for v, found in zip(x, staged.fetch(out).tolist(), strict=True):
        bits = text(v, size)
        right = [bits.count("1"), run_of("0", bits), run_of("1", bits)]
        right += [run_of("0", bits[::-1]), run_of("1", bits[::-1])]
        right += [size - run_of("0", bits), bits.count("1") == 1]
        assert found == right, v
        host = [f(v) for f in (es.popcount, es.countl_zero, es.countl_one, es.countr_zero)]
        assert [*host, es.countr_one(v), es.bit_width(v), es.has_single_bit(v)] == right, v


def changed(i, x, out):
    v = x[i]
    out[i, 0] = es.bit_floor(v)
    out[i, 1] = es.bit_ceil(v)
    out[i, 2] = es.byteswap(v)
    out[i, 3] = es.rotl(v, i)
    out[i, 4] = es.rotr(v, i)
    out[i, 5] = es.rotl(v, -3)


@pytest.mark.parametrize("dtype", TYPES)
def test_changed_bits(space, dtype):
    x = numbers(dtype)
    out = staged.view_on(space, np.zeros((len(x), 6), dtype))
    es.parallel_for(es.RangePolicy(len(x), space=space), changed, staged.view_on(space, x), out)
    size = np.iinfo(dtype).bits
    for i, (v, found) in enumerate(zip(x, staged.fetch(out), strict=True)):
        bits = text(v, size)
        n = i % size
        unsigned = int(bits, 2)
        ceiling = 1 << max(unsigned - 1, 0).bit_length()
        floor = 1 << (unsigned.bit_length() - 1) if unsigned else 0
        right = [
            of_text(format(floor, "b"), dtype),
            of_text(format(ceiling & MASKS[size], "b"), dtype),
        ]
        right += [of_text("".join(bits[k : k + 8] for k in range(size - 8, -1, -8)), dtype)]
        right += [of_text(bits[n:] + bits[:n], dtype)]
        right += [of_text(bits[size - n :] + bits[: size - n], dtype)]
        right += [of_text(bits[size - 3 :] + bits[: size - 3], dtype)]
        assert found.tolist() == [int(r) for r in right], v
        host = [es.bit_floor(v), es.bit_ceil(v), es.byteswap(v), es.rotl(v, i), es.rotr(v, i)]
        assert [*host, es.rotl(v, -3)] == right, v
        assert all(h.dtype == dtype for h in host)


def test_of_an_index(space):
    """Of a Python int all functions take 64 bits."""

    def kernel(i, out):
        out[i] = es.countl_zero(i) * 100 + es.popcount(i - 4) + (i - 3).bit_count() * 10000
        out[i] += 1000000 * (i - 3).bit_length()

    out = staged.view_on(space, np.zeros(8, np.int64))
    es.parallel_for(es.RangePolicy(8, space=space), kernel, out)
    right = [
        (64 - i.bit_length()) * 100 + ((i - 4) & MASKS[64]).bit_count()
        + 10000 * (i - 3).bit_count() + 1000000 * (i - 3).bit_length()
        for i in range(8)
    ]  # fmt: skip
    assert staged.fetch(out).tolist() == right


def test_constants_and_arguments_below_zero(space):
    def kernel(i, x, n, out):
        x[i] = es.rotl(x[i], n)
        out[i] = es.popcount(-1) + es.countl_one(-1) + es.bit_width(-4)

    x = staged.view_on(space, np.array([1, 2], np.uint8))
    out = staged.view_on(space, np.zeros(2, np.int64))
    es.parallel_for(es.RangePolicy(2, space=space), kernel, x, -1, out)
    assert staged.fetch(x).tolist() == [128, 1] and staged.fetch(out).tolist() == [192, 192]


def casts(i, x, out, back):
    out[i] = es.bit_cast(x[i], out.dtype)
    back[i] = es.bit_cast(out[i], x.dtype)


@pytest.mark.parametrize(
    ("of", "to"),
    [("float64", "uint64"), ("float32", "int32"), ("int16", "uint16"), ("uint64", "float64")],
)
def test_bit_cast(space, of, to):
    x = np.random.default_rng(1).normal(size=20).astype("float64" if of == "float64" else "float32")
    x = (1000 * x).astype(of)
    out, back = (staged.view_on(space, np.zeros(20, t)) for t in (to, of))
    es.parallel_for(es.RangePolicy(20, space=space), casts, staged.view_on(space, x), out, back)
    assert staged.fetch(out).tobytes() == x.tobytes() == staged.fetch(back).tobytes()
    assert es.bit_cast(x[0], to) == x.view(to)[0]


def test_as_a_hash(space):
    """They mix with unsigned numbers without a cast."""

    def kernel(i, x):
        h = x[i] ^ np.uint64(0x9E3779B97F4A7C15)
        h = es.rotl(h, 31) * 0xBF58476D1CE4E5B9
        x[i] = (h ^ es.byteswap(h)) >> es.countr_zero(h | 16)

    x = np.arange(50, dtype=np.uint64)
    view = staged.view_on(space, x)
    es.parallel_for(es.RangePolicy(50, space=space), kernel, view)
    with np.errstate(over="ignore"):
        for i in range(50):
            kernel(i, x)
    np.testing.assert_array_equal(staged.fetch(view), x)
