"""Kernels: Python functions, what they capture, and the words that they use."""
