"""Analyses of a kernel's IR, which do not change it: accesses, overlap, effects, work."""
