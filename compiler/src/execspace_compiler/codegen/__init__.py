"""From IR to text: Numba's Python, the oracle's Python, and the C family."""
