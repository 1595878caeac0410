"""What is here only because of defects and peculiarities of OpenCL drivers and their loader.

`loader` shows pyopencl Intel's driver from PyPI, which no list of the system names. `pocl_cache`
keeps PoCL from ending the process over a damaged file of its cache, or a full disk. `ending` keeps
drivers' threads from hanging a forked child, or aborting a program at its end. Where one thing is
wrong with one call it is beside the call: NVIDIA's fill beyond 2 GiB in `transfers.py`, what its
compiler gets wrong in the compiler's dialect.
"""
