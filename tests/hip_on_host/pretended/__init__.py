"""What the pretended CuPy for ROCm works with: memory, compiler and processor of the host."""
