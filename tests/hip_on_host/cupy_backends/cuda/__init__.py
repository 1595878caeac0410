"""CuPy's bindings, which are named after CUDA on ROCm too."""
