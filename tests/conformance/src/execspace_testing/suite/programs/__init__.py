"""Level: published algorithms."""
