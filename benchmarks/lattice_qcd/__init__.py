"""Benchmarks of the Wilson Dslash of `examples/lattice_qcd`."""
