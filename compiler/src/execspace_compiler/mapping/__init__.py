"""Mappings of indices to threads: loops on hosts, thread blocks on devices, tiles."""
