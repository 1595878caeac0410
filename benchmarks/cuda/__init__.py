"""The space cuda against kernels by hand, CuPy, PyTorch and Triton."""
