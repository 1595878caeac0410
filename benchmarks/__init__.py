"""Benchmarks of execspace against what a user would write instead; README.md says which."""
