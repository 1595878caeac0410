"""Kernels on host spaces against C with OpenMP, Numba and NumPy."""
