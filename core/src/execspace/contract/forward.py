"""Names of upper floors in annotations of the contract, which they are built on.

To a type checker they are any object. Backends implement methods of the contract and annotate them
with the classes of `execspace`; a checker would refuse that if the contract asked for less, as a
Protocol does.
"""

from typing import Any

ExecutionSpace = Any  # of memory.py, which space.py imports
Kernel = Any
Reducer = Any
StructType = Any
View = Any
