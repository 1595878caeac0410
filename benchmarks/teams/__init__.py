"""The programs of examples/teams against kernels by hand, on hosts and devices."""
