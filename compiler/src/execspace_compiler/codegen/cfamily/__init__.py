"""The printer of the C family: one for OpenCL C, CUDA C++, HIP C++ and C, with a dialect each."""
