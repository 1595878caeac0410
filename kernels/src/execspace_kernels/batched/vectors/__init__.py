"""Batches whose layout is `Interleaved`, on hosts: a work item for each group of matrices.

Its vectors have a lane for each matrix of a group, so all matrices of it are computed at once, and
no lane knows of others. Matrices that the layout adds to fill the last group are computed as well;
what they have is nowhere looked at. Sizes are constants: each shape is compiled.
"""

from .factors import factor, solve
from .operands import WHY, suits
from .products import multiply, multiply_vectors
from .triangles import invert, triangle

__all__ = [
    "WHY",
    "factor",
    "invert",
    "multiply",
    "multiply_vectors",
    "solve",
    "suits",
    "triangle",
]
