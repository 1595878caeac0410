"""Level: parallel_reduce."""
