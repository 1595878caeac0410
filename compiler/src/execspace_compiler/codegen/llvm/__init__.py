"""Printers of LLVM IR, which hosts compile."""
