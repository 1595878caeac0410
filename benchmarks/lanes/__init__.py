"""Benchmarks of kernels whose neighbouring indices run in the lanes of vectors."""
