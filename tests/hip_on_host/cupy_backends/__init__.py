"""The bindings of the pretended CuPy for ROCm."""
