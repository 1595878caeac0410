"""Printers, from IR to source: Numba's Python, the oracle's Python, and the C family."""
