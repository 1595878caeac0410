"""Level: MDRangePolicy."""
