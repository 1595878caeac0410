"""Differential tests: random kernels, whose results must not depend on where they run."""
