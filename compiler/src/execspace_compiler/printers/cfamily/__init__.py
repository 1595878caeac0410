"""Printers for the C family: OpenCL C, CUDA C++ and HIP C++ from one base and small tables.

Generated text includes no header; what it needs beside the language is printed into it.
"""
