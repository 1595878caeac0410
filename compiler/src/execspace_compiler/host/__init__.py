"""Kernels on the host through Numba: runtime functions, compiling, caching, launching.

For plugins whose memory is the host's. Needs Numba: install ``execspace-compiler[numba]``.
"""
