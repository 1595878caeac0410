"""Nothing says that execspace can be had from a package index: there is no release yet.

A hint that names a package which does not exist sends its reader to nowhere, or to a stranger's
package. With the first release, this file goes.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import execspace as es

ROOT = Path(__file__).parents[2]
TEXTS = {".py", ".md", ".toml", ".txt", ".jinja", ".yml", ".yaml", ".ipynb", ".cfg", ""}
# A distribution of this repository, or a space's, as something that an installer would find.
FROM_AN_INDEX = re.compile(
    r"(?:pip3?|pipx|uv pip|uv|conda|mamba)\s+(?:install|add)\s+(?:-U\s+|--upgrade\s+|-q\s+)*"
    r"['\"]?execspace(?![\w/])[\w\[\],.-]*"
)
INDEX_PAGE = re.compile("py" r"pi\.org|anaconda\.org|conda-forge", re.IGNORECASE)


def texts():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("no checkout of git")
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.suffix in TEXTS and path.is_file() and path != Path(__file__):
            yield name, path.read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize("pattern", [FROM_AN_INDEX, INDEX_PAGE])
def test_no_text_of_the_repository_sends_anybody_to_a_package_index(pattern):
    seen, found = 0, []
    for name, text in texts():
        seen += 1
        found += [f"{name}: {match[0]}" for match in pattern.finditer(text)]
    assert seen > 300
    assert not found, "\n".join(found)


def test_the_patterns_find_what_they_are_for():
    for text in ("pip install execspace-gpu", 'pip install "execspace[cli]"', "uv add execspace"):
        assert FROM_AN_INDEX.search(text)
    for text in ("pip install -e core", "pip install copier", "uninstall execspace-mistral"):
        assert not FROM_AN_INDEX.search(text)
    assert INDEX_PAGE.search("https://pypi.org/project/x")


@pytest.mark.parametrize("name", ["gpu", "nonsense", "tpu", "a-b"])
def test_an_unknown_space_is_not_said_to_be_a_package(name):
    with pytest.raises(es.UnknownSpaceError, match=r"installed spaces: .*'serial'") as caught:
        es.View(3, space=name)
    assert "pip" not in str(caught.value)
    assert f"execspace-{name}" not in str(caught.value)
    assert "Spaces come from plugins" in str(caught.value)
