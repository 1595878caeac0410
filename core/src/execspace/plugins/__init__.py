"""Plugins, which of their spaces is meant, and the spaces that this process has started."""
