"""Printers: typed IR -> source text. Pure functions of (IR, target); none opens a device."""
