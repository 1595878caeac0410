"""Multi-dimensional ranges against kernels by hand, on every space."""
