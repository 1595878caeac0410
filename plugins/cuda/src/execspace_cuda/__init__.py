"""The CUDA space of execspace; see `execspace_cuda.plugin`."""

__version__ = "0.1.0"
