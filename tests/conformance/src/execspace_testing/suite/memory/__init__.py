"""Level: allocate, fill and copy Views."""
