"""The version of all distributions of execspace."""

__version__ = "0.1.0"
