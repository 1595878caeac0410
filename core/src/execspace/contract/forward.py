"""Names of upper floors in annotations of the contract, which they are built on.

To a type checker they are any object; a backend annotates with the classes of `execspace`.
"""

from typing import Any

ExecutionSpace = Any  # of memory.py, which space.py imports
Kernel = Any
Reducer = Any
View = Any
