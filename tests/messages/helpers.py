"""Helpers that kernels of other files call, with faults."""

from __future__ import annotations

import numpy as np


def offset_by(v, offset):
    return v + offset


def inner_fault(v):
    return np.sqrt(deepest(v))


def deepest(v):
    return v & 1
