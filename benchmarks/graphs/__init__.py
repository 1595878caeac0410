"""Graphs and their rivals: a chain of streams, a solver, and kernels that overlap."""
