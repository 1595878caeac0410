"""Factors of dense matrices, beside SciPy on hosts, CuPy and PyTorch on CUDA."""
