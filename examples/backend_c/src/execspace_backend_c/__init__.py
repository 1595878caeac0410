"""The C space of execspace; see `execspace_backend_c.plugin`."""

__version__ = "0.1.0"
