"""Bindings of libraries."""
