"""Profiling tools of execspace; see `execspace_tools.plugin` for their list."""

__version__ = "0.1.0"
