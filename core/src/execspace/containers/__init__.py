"""DualView, ScatterView and UniqueToken; loaded on first use."""
