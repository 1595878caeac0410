"""From IR to IR, and `pipeline`, the way from a kernel to what backends get."""
