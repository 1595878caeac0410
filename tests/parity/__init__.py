"""Kokkos' features as programs: what is there, and where it was run. See table.py and page.py."""
