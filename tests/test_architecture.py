"""ARCHITECTURE.md names what exists, the compiler's folders import lower floors only, and backends
import nothing of it but its door."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from execspace_compiler import backend

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


# -- the door ---------------------------------------------------------------------------------

DOOR = COMPILER / "backend.py"


def imported_for_types():
    """Names that the door imports for type checkers, with the modules that have them."""
    found = {}
    for node in ast.walk(ast.parse(DOOR.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            found |= {alias.name: node.module or "" for alias in node.names}
    return found


def test_type_checkers_see_what_programs_get():
    assert imported_for_types() == backend._MODULES
    assert sorted(backend.__all__) == sorted(backend._MODULES)
    assert len(backend.__all__) <= 30


@pytest.mark.parametrize("name", backend.__all__)
def test_the_door_gives_each_name_and_the_docs_describe_it(name):
    module = backend._MODULES[name]
    found = import_module(f"execspace_compiler.{module or name}")
    assert getattr(backend, name) is (getattr(found, name) if module else found)
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    offered = page.partition("## What the compiler offers")[2].partition("\n## ")[0]
    assert re.search(rf"`{name}\b", offered)


def test_the_door_has_nothing_else():
    with pytest.raises(AttributeError, match="no attribute 'tarpaulin'"):
        _ = backend.tarpaulin


def test_the_door_loads_what_is_asked_for():
    program = (
        "import sys; from execspace_compiler.backend import cache, Limits; "
        "never = {'numba', 'execspace_compiler.oracle', 'execspace_compiler.host'}; "
        "assert not never & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def backends():
    """Files of plugins, of what they share, of examples and templates."""
    yield from (ROOT / "gpu" / "src").rglob("*.py")
    yield from (ROOT / "plugins").glob("*/src/**/*.py")
    yield from (ROOT / "examples").rglob("*.py")
    yield from (ROOT / "templates" / "backend").rglob("*.py.jinja")


def test_backends_come_in_by_the_door():
    files = list(backends())
    assert len(files) > 60
    module = re.compile(r"^\s*(?:from|import) (execspace_compiler[\w.]*)", re.MULTILINE)
    found = {m for f in files for m in module.findall(f.read_text(encoding="utf-8"))}
    assert found == {"execspace_compiler.backend"}
