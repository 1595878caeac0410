"""Marks in the names of variables that passes split; no name of a user has them."""

from __future__ import annotations

WEB = "~"  # between the name of a variable and the number of a web
OWN = "^"  # behind the name of a counter that is a loop's own
