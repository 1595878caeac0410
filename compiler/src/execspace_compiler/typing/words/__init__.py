"""Functions of NumPy and math that kernels may call, written as kernels are, one module a kind."""
