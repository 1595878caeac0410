"""Printers, from IR to source: LLVM IR for hosts, the oracle's Python, and the C family."""
