"""Pi, and the price of a European call option, by Monte Carlo.

Each sample is a function of the seed and its number, so all spaces draw the same ones. A reduction
of two sums, of the values and of their squares, gives the mean and its standard error.

Pi is four times the share of random points of the unit square within the unit circle. The option is
worth the mean of what it pays in the end, discounted, where the stock follows a geometric Brownian
motion (P. P. Boyle, Options: a Monte Carlo approach, Journal of Financial Economics 4, 1977). The
price is compared with the formula of Black and Scholes (Journal of Political Economy 81, 1973).

    python examples/programs/monte_carlo.py --samples 100000000
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import execspace as es

SMALL = {"samples": 500}


@es.kernel
def dart(i, seed):
    """A point of the unit square counts 4 if it lies within the unit circle."""
    x, y = es.random_uniform(seed, i, 0), es.random_uniform(seed, i, 1)
    value = 4.0 if x * x + y * y < 1 else 0.0
    return value, value * value


@es.kernel
def call(i, seed, stock, strike, rate, volatility, years):
    """What the option pays if the stock ends at a random value, as of today."""
    growth = (rate - volatility**2 / 2) * years
    growth += volatility * math.sqrt(years) * es.random_normal(seed, i)
    value = math.exp(-rate * years) * max(stock * math.exp(growth) - strike, 0.0)
    return value, value * value


def estimate(samples: int, kernel: Callable[..., Any], *args: float) -> tuple[float, float]:
    """Mean of what a kernel returns for each sample, and its standard error."""
    total, squares = es.parallel_reduce(samples, kernel, *args, reducer=(es.Sum, es.Sum))
    mean = total / samples
    return mean, math.sqrt((squares / samples - mean * mean) / (samples - 1))


def black_scholes(
    stock: float, strike: float, rate: float, volatility: float, years: float
) -> float:
    """The price of the call, as a formula."""
    spread = volatility * math.sqrt(years)
    d = (math.log(stock / strike) + rate * years) / spread
    above, below = (0.5 * math.erfc(-(d + s * spread / 2) / math.sqrt(2)) for s in (1, -1))
    return stock * above - strike * math.exp(-rate * years) * below


def run(
    samples: int = 1_000_000,
    stock: float = 100.0,
    strike: float = 105.0,
    rate: float = 0.03,
    volatility: float = 0.2,
    years: float = 1.0,
    seed: int = 2024,
) -> dict[str, float]:
    """Estimate pi and the price of a call from `samples` each."""
    option = (stock, strike, rate, volatility, years)
    pi, pi_error = estimate(samples, dart, seed)
    price, price_error = estimate(samples, call, seed, *option)

    # Means of that many samples have a normal distribution, which is beyond five standard errors
    # for one seed in two million. Another order of summation changes their last digits only.
    exact = black_scholes(*option)
    assert abs(pi - math.pi) < 5 * pi_error, (pi, pi_error)
    assert abs(price - exact) < 5 * price_error, (price, price_error, exact)
    return {
        "pi": pi,
        "error of pi": pi_error,
        "price": price,
        "error of price": price_error,
        "Black-Scholes": exact,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Pi and a European call option by Monte Carlo.")
    parser.add_argument("--samples", type=int, default=1_000_000, help="of each of the two")
    parser.add_argument("--seed", type=int, default=2024, help="of the random numbers")
    found = run(**vars(parser.parse_args()))
    print(f"pi:    {found['pi']:.5f} +- {found['error of pi']:.5f}; it is {math.pi:.5f}")
    print(f"price: {found['price']:.4f} +- {found['error of price']:.4f}; ", end="")
    print(f"by Black and Scholes {found['Black-Scholes']:.4f}")
