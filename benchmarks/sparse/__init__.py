"""Sparse matrices beside the libraries of vendors."""
