"""Level: parallel_scan."""
