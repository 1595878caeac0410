"""Kernels on the host through LLVM: compiling, caching, launching, threads.

For plugins whose memory is the host's. Needs llvmlite: install ``execspace-compiler[host]``.
"""
