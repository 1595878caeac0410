"""Level: algorithms that are launches of kernels."""
