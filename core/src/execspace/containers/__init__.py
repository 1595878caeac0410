"""Containers that kernels change, and DualView; loaded on first use."""
