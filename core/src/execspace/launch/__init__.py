"""Launches: from a call to a plan, and nested ranges in plain Python."""
