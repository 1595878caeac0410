"""Bindings of the runtime and of the driver."""
