"""execspace's serial space and the oracle; see `execspace_serial.plugin`."""

__version__ = "0.1.0"
