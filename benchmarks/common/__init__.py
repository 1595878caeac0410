"""What all benchmarks share: the machine, turns in pairs, loops in C, kernels of devices."""
