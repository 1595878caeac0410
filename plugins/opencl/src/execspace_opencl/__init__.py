"""The OpenCL space of execspace; see `execspace_opencl.plugin`."""

__version__ = "0.1.0"
