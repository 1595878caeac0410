"""Level: atomic operations, and what is built on them."""
