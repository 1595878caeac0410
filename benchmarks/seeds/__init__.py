"""Benchmarks after published ones: reductions over MDRangePolicy, E3SM's tracers, small costs."""
