"""Typing rules by what they type; see context.py."""
