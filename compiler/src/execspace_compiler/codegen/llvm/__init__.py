"""Printer of LLVM IR for hosts."""
