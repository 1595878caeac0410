"""Level: the kernel language."""
