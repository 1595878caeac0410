"""The fast Fourier transform of complex numbers, by Stockham's method of radix 2.

Of n = 2^p numbers there are p stages, each of n / 2 butterflies that read from one array and write
to another one. Nothing is put into bit-reversed order: the numbers end up in their places by
themselves (Cochran et al., "What is the fast Fourier transform?", Proc. IEEE 55, 1967, who credit
T. G. Stockham; Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992, section
1.7).

    python examples/programs/fft.py --log2 22
"""

import argparse

import numpy as np

import execspace as es

SMALL = {"log2": 7}


@es.kernel
def butterflies(i, x, y, roots, stride):
    """Split each of `stride` interleaved rows into one of sums and one of differences."""
    first = i - i % stride
    a, b = x[i], x[i + len(x) // 2]
    y[i + first] = a + b
    y[i + first + stride] = roots[first] * (a - b)


def transform(
    signal: es.View[np.complex128], roots: es.View[np.complex128]
) -> es.View[np.complex128]:
    """Sums over k of signal[k] times roots[1] to the power of j k, for all j."""
    x, y = signal.copy(), es.empty_like(signal)
    stride = 1
    while stride < len(x):
        es.parallel_for(len(x) // 2, butterflies, x, y, roots, stride)
        x, y = y, x
        stride *= 2
    return x


def run(log2: int = 20, seed: int = 1) -> dict[str, float]:
    """Transform 2 to the power of `log2` random numbers, and back."""
    n = 2**log2
    signal = es.empty(n, es.complex128, label="signal")
    es.fill_random(signal, seed, distribution="normal")
    roots = np.exp(-2j * np.pi * np.arange(n // 2) / n)

    spectrum = transform(signal, es.array(roots, label="roots"))
    again = transform(spectrum, es.array(roots.conj(), label="inverse roots"))

    given, found = signal.to_numpy(), spectrum.to_numpy()
    # A stage adds a relative error, in the Euclidean norm, of 3 eps and that of the roots, which is
    # another 3 eps at most (Higham, Accuracy and Stability of Numerical Algorithms, 2002, theorem
    # 24.2). Two transforms are compared.
    bound = 2 * 6 * 2.0**-52 * max(log2, 1)
    error = distance(found, np.fft.fft(given))
    error_again = distance(again.to_numpy() / n, given)
    assert error < bound, (error, bound)
    assert error_again < bound, (error_again, bound)
    return {
        "numbers": float(n),
        "error": error,
        "error of the inverse": error_again,
        "bound": bound,
    }


def distance(found: np.ndarray, expected: np.ndarray) -> float:
    """Relative, in the Euclidean norm."""
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log2", type=int, default=20, help="logarithm of how many numbers")
    options = parser.parse_args()
    for name, value in run(options.log2).items():
        print(f"{name:<22} {value:.3g}")
