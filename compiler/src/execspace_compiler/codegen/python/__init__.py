"""Printers of Python source: for Numba on hosts, and for the oracle."""
