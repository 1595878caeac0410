"""ARCHITECTURE.md names what exists, and the compiler's folders import lower floors only."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
COMPILER = ROOT / "compiler" / "src" / "execspace_compiler"

FLOORS = {  # of folders, as the page says
    folder: int(floor)
    for floor, folders in re.findall(r"^\| (\d+) \| ((?:`\w+/`(?:, )?)+) \|", PAGE, re.MULTILINE)
    for folder in re.findall(r"`(\w+)/`", folders)
}


def paths():
    """Paths that the page names, with the name behind a colon where there is one."""
    for path, name in re.findall(r"`([\w.-]+(?:/[\w.-]+)*/?)(?::(\w+))?`", PAGE):
        if "/" in path and (path.split("/")[0] not in FLOORS):
            yield path, name


def test_the_page_is_short():
    assert len(PAGE.splitlines()) <= 150


@pytest.mark.parametrize(("path", "name"), sorted(set(paths())))
def test_what_the_page_names_exists(path, name):
    assert (ROOT / path).exists()
    if name:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {getattr(node, "name", None) for node in tree.body}


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    assert links
    assert all((ROOT / link).exists() for link in links)


# -- floors -----------------------------------------------------------------------------------


@cache
def imports():
    """Module of the compiler -> modules of it that it imports, anywhere and for any purpose."""
    modules = {
        path.relative_to(COMPILER).with_suffix("").as_posix().removesuffix("/__init__"): path
        for path in COMPILER.rglob("*.py")
    }
    found = {}
    for name, path in modules.items():
        here = path.relative_to(COMPILER).parts[:-1]
        found[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets = [alias.name.split(".") for alias in node.names]
                targets = [t[1:] for t in targets if t[0] == "execspace_compiler"]
            elif isinstance(node, ast.ImportFrom) and node.level:
                base = [*here[: len(here) - node.level + 1], *(node.module or "").split(".")]
                targets = [[*filter(None, base), alias.name] for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module.startswith("execspace_compiler"):
                targets = [[*node.module.split(".")[1:], alias.name] for alias in node.names]
            else:
                continue
            for parts in targets:
                while parts and "/".join(parts) not in modules:
                    parts = parts[:-1]
                found[name].add("/".join(parts) if parts else "__init__")
        found[name].discard(name)
    return found


def test_the_graph_is_read():
    """Of imports at the top, within functions and for types: one of each, or the rest is vain."""
    assert "ir/diagnostics" in imports()["frontend/lowering"]
    assert "cache/history" in imports()["host/jit"]
    assert "host/fork" in imports()["host/launch_text"]


def test_every_folder_has_a_floor():
    folders = {path.name for path in COMPILER.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == set(FLOORS)


def test_folders_import_lower_floors_only():
    wrong = []
    for module, targets in imports().items():
        for target in targets:
            above, below = module.split("/")[0], target.split("/")[0]
            if above in FLOORS and above != below and FLOORS[above] <= FLOORS.get(below, 99):
                wrong.append(f"{module} imports {target}")
    assert wrong == []


def test_modules_have_no_cycles():
    assert list(TopologicalSorter(imports()).static_order())
