"""Dense vectors and matrices, beside NumPy and SciPy on hosts, CuPy and PyTorch on CUDA."""
