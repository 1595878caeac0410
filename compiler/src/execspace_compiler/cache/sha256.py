"""SHA-256 for keys and seals, which are short, from the module of Python that has nothing else.

hashlib loads OpenSSL, which takes 2.5 ms before the first launch; for much text it is faster. The
standard library's `random` does the same. A build of Python without that module has hashlib.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["sha256"]

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        sha256 = import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
    except (ImportError, AttributeError):
        from hashlib import sha256
