"""``python -m execspace``: the command line of `execspace.cli`.

For environments whose scripts are not on the PATH.
"""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
