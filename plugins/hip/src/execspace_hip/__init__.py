"""The HIP space of execspace; see `execspace_hip.plugin`."""

__version__ = "0.1.0"
