"""Level: parallel_for over ranges."""
