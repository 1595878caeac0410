"""execspace's OpenMP space; see `execspace_openmp.plugin`."""

__version__ = "0.1.0"
