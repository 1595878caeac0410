"""Loads the fixtures of the kit, unless the session has them already."""

import pytest

_FIXTURES = "execspace_testing.fixtures"


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin(_FIXTURES):
        config.pluginmanager.import_plugin(_FIXTURES)
