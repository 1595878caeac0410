"""Level: differential; random kernels, whose results must not depend on where they run."""
