"""Printers of Python: for Numba on hosts, and for the oracle."""
