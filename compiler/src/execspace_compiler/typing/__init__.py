"""Typing, from HIR to typed IR: a rule for each kind of expression, statement and call."""
