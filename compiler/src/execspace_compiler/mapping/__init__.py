"""Which thread does which indices: loops of hosts, blocks of devices, tiles."""
