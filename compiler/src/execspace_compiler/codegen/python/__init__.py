"""Printer of Python source, for the oracle."""
