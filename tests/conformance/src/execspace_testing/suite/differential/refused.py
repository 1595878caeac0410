"""Statements that kernels do not have, each of which must be refused in every pattern.

Each is a name, as docs/kernels.md has it, and lines of Python for a generated program, in which
`i`, `n` and `mode` are known. A compiler that drops such a statement and runs the rest gives an
answer here, where an error is due.
"""

from __future__ import annotations

REFUSED: tuple[tuple[str, str], ...] = (
    ("a list", "z = [1.0, 2.0]"),
    ("a list to loop over", "for z in [1.0, 2.0]:\n    pass"),
    ("a list to unpack into", "[z, y] = 1, 2"),
    ("a list comprehension", "z = [k for k in range(3)]"),
    ("a set comprehension", "z = {k for k in range(3)}"),
    ("a dict comprehension", "z = {k: k for k in range(3)}"),
    ("a generator expression", "z = sum(k for k in range(3))"),
    ("a dict", "z = {1: 2}"),
    ("a set", "z = {1, 2}"),
    ("try", "try:\n    z = 1\nfinally:\n    z = 2"),
    ("try with except", "try:\n    z = 1\nexcept ValueError:\n    z = 2"),
    ("raise", "if i < -5:\n    raise ValueError"),
    ("with", "with np.errstate(all='ignore'):\n    z = 1"),
    ("import", "import math as z"),
    ("import from", "from math import sqrt as z"),
    ("a class definition", "class Z:\n    pass"),
    ("an async function", "async def z():\n    pass"),
    ("a generator", "def z():\n    yield 1\nz()"),
    ("a generator that delegates", "def z():\n    yield from (1, 2)\nz()"),
    ("global", "global Z\nZ = 4"),  # a name that nothing before it has used
    ("nonlocal", "z = 1\ndef y():\n    nonlocal z\n    z = 2\ny()"),
    ("del", "z = 1\ndel z"),
    ("an f-string", "z = f'{i}'"),
    ("an f-string alone", "f'{i}'"),
    ("* unpacking", "z, *y = 1, 2, 3"),
    ("* in a call", "z = max(*(1, 2))"),
    ("** in a call", "z = scaled(1.0, **{'by': 2})"),
    ("match", "match i:\n    case 0:\n        z = 1\n    case _:\n        z = 2"),
    ("the operator @", "z = n @ n"),
    ("the operator @=", "z = n\nz @= n"),
    ("a loop over a View", "for z in n:\n    pass"),
    ("print", "print()"),
    ("an attribute of a View", "z = n.sum()"),
    ("an unknown function", "z = math.perm(3)"),
    ("bytes", "z = b'x'"),
    ("... as a value", "z = ..."),
    ("a decorator", "@partial\ndef z():\n    return 1"),
    ("any number of parameters", "def z(*y):\n    return 1\nz()"),
    ("a string that is computed", "z = 'a' * mode"),
    ("is with numbers", "z = i is n"),
    ("a Python function without a meaning", "z = sorted((3, 1))"),
)  # fmt: skip
