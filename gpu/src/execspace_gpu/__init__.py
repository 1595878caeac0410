"""What GPU spaces on CuPy have in common; see `execspace_gpu.space`."""

__version__ = "0.1.0"
