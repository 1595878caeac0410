"""The conformance kit of execspace; see `execspace_testing.plugin`.

`pytest --pyargs execspace_testing.suite --space NAME` tests an execution space that is installed.
"""

__version__ = "0.1.0"
