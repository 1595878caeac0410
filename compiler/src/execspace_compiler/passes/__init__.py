"""Passes from IR to IR, and `pipeline`, from a kernel to the input of backends."""
