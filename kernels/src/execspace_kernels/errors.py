"""Exceptions of this package beside those of execspace."""

from __future__ import annotations

import execspace as es

__all__ = ["MatrixError"]


class MatrixError(es.ExecspaceError, ValueError):
    """What was given is no sparse matrix, or does not fit another one; the message says where."""
