"""execspace's conformance kit on the space `c`."""

import subprocess
import sys


def test_the_space_passes_the_kit():
    kit = ["-m", "pytest", "--pyargs", "execspace_testing.suite", "--space", "c"]
    assert subprocess.call([sys.executable, *kit]) == 0
