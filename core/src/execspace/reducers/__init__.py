"""Reducers, and what they mean in plain Python."""
