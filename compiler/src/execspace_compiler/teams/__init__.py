"""Team kernels: checks, scratch memory, sizes, and lowering for hosts and devices."""
