"""Level: atomic steps, and what is built on them."""
