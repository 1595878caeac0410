"""Sorting, searching and histograms against NumPy, on every space."""
