"""ARCHITECTURE.md names what exists, folders of core and compiler import lower floors only, no
modules import each other, and backends import nothing of the compiler but its door."""

import ast
import re
import subprocess
import sys
import tokenize
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from execspace_compiler import backend

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PACKAGES = {name: ROOT / name / "src" / package for name, package in (
    ("core", "execspace"), ("compiler", "execspace_compiler"),
)}  # fmt: skip
MOST_FLOORS = 9


def floors(name):
    """Folder, or module beside the folders -> floor, as the page says."""
    page = re.split(rf"\| Folder[\w ]* of `{name}/src/", PAGE)[1].partition("\n#")[0]
    rows = re.findall(r"^\| (\d+) \| ((?:`\w+(?:/|\.py)`(?:, )?)+) \|", page, re.MULTILINE)
    return {part: int(floor) for floor, parts in rows for part in re.findall(r"`(\w+)", parts)}


FLOORS = {name: floors(name) for name in PACKAGES}


def paths():
    """Paths that the page names, with the name behind a colon where there is one."""
    for path, name in re.findall(r"`([\w.-]+(?:/[\w.-]+)*/?)(?::(\w+))?`", PAGE):
        if "/" in path and (
            path.split("/")[0] not in {f for floors in FLOORS.values() for f in floors}
        ):
            yield path, name


def test_the_page_is_short():
    assert len(PAGE.splitlines()) <= 150


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_contributors_are_told_of_what_exists():
    """Paths, targets of make, and modules of the kit."""
    assert len(CONTRIBUTING.splitlines()) <= 150
    paths = set(re.findall(r"[\w.-]+(?:/[\w.-]+)+/?|[\w-]+\.(?:md|py)\b", CONTRIBUTING))
    paths = {p for p in paths if not p.startswith((".venv/", "examples/backend_c/`"))}
    assert len(paths) > 20
    known = {p.name for p in ROOT.glob("*.md")}
    assert [p for p in sorted(paths) if not (ROOT / p).exists() and p not in known] == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"make ([a-z-]+)\b", CONTRIBUTING))
    assert targets >= {"lint", "test", "on-device"}
    assert [t for t in targets if not re.search(rf"^{t}[: ]|\b{t}:", makefile, re.MULTILINE)] == []
    suite = ROOT / "tests" / "conformance" / "src" / "execspace_testing" / "suite"
    parts = re.findall(r"execspace_testing\.suite\.(\w+)", CONTRIBUTING)
    assert parts and all((suite / part).is_dir() for part in parts)


def test_names_of_test_files_are_unique():
    """What is called alike is about the same: a name says which file failed."""
    folders = ("tests", "core", "compiler", "gpu", "tools", "kernels", "comm", "plugins")
    names = Counter(p.name for f in folders for p in (ROOT / f).rglob("test_*.py"))
    assert len(names) > 200
    assert [name for name, count in names.items() if count > 1] == []


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
def imports(root):
    """Module of a package -> modules of it that it imports, anywhere and for any purpose."""
    modules = {
        path.relative_to(root).with_suffix("").as_posix().removesuffix("/__init__"): path
        for path in root.rglob("*.py")
    }
    found = {}
    for module, path in modules.items():
        here = path.relative_to(root).parts[:-1]
        found[module] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets = [alias.name.split(".") for alias in node.names]
                targets = [t[1:] for t in targets if t[0] == root.name]
            elif isinstance(node, ast.ImportFrom) and node.level:
                base = [*here[: len(here) - node.level + 1], *(node.module or "").split(".")]
                targets = [[*filter(None, base), alias.name] for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == root.name:
                targets = [[*node.module.split(".")[1:], alias.name] for alias in node.names]
            else:
                continue
            for parts in targets:
                while parts and "/".join(parts) not in modules:
                    parts = parts[:-1]
                found[module].add("/".join(parts) if parts else "__init__")
        found[module].discard(module)
    return found


def test_the_graphs_are_read():
    """Of imports at the top, within functions and for types: one of each, or the rest is vain."""
    assert "ir/diagnostics" in imports(PACKAGES["compiler"])["frontend/lowering"]
    assert "cache/history" in imports(PACKAGES["compiler"])["host/jit"]
    assert "host/fork" in imports(PACKAGES["compiler"])["host/launcher"]
    assert "launch/looked_up" in imports(PACKAGES["core"])["launch/parallel"]
    assert "kernels/exec_argument" in imports(PACKAGES["core"])["kernels/exec_source"]
    assert "contract/space" in imports(PACKAGES["core"])["cli/worker"]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_folder_has_a_floor(name):
    folders = {path.name for path in PACKAGES[name].iterdir() if path.is_dir()} - {"__pycache__"}
    files = {path.stem for path in PACKAGES[name].glob("*.py")} if name == "core" else set()
    assert folders | files == set(FLOORS[name])
    assert set(FLOORS[name].values()) == set(range(1, MOST_FLOORS + 1))


@pytest.mark.parametrize("name", PACKAGES)
def test_folders_import_lower_floors_only(name):
    wrong = []
    for module, targets in imports(PACKAGES[name]).items():
        for target in targets:
            above, below = module.split("/")[0], target.split("/")[0]
            floors = FLOORS[name]
            if above in floors and above != below and floors[above] <= floors.get(below, 99):
                wrong.append(f"{module} imports {target}")
    assert wrong == []


SOURCES = sorted(
    path.parent
    for folder in ("*", "plugins/*", "examples/*", "tests/conformance")
    for path in ROOT.glob(f"{folder}/src/*/__init__.py")
)


@pytest.mark.parametrize("root", SOURCES, ids=lambda root: root.name)
def test_modules_have_no_cycles(root):
    """Of each distribution, those of backends included."""
    assert len(SOURCES) >= 11
    assert len(list(TopologicalSorter(imports(root)).static_order())) > 1


def test_the_contract_can_be_read():
    """By somebody who writes a backend, in an afternoon."""
    lines = sum(
        len(path.read_text(encoding="utf-8").splitlines())
        for path in (PACKAGES["core"] / "contract").glob("*.py")
    )
    assert lines <= 2400


# -- what is written in sources --------------------------------------------------------------------

FILES = sorted(path for root in SOURCES for path in root.rglob("*.py"))


def prose(path):
    """Docstrings and comments of a file."""
    text = path.read_text(encoding="utf-8")
    kinds = ast.Module | ast.FunctionDef | ast.ClassDef
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, kinds):
            yield ast.get_docstring(node) or ""
    yield from re.findall(r"(?<!\S)# .*", text)


@cache
def defined():
    """Module, or folder -> all names that stand in it, attributes included."""
    found = {}
    for path in FILES:
        with tokenize.open(path) as file:
            tokens = tokenize.generate_tokens(file.readline)
            names = {token.string for token in tokens if token.type == tokenize.NAME}
        for home in (path.stem, *(folder.name for folder in path.parents)):
            found.setdefault(home, set()).update(names | {path.stem})
    return found


def test_docstrings_and_comments_name_what_exists():
    """Files as `name.py`, and names as `module.name`, where the module is one of ours."""
    files = {p.name for p in ROOT.rglob("*.py")} | {"coverage.py", "script.py"}  # not of ours
    stale, seen = [], 0
    for path in FILES:
        for text in prose(path):
            for name in re.findall(r"(?<![\w/.<*])(\w+\.py)\b", text):
                seen += 1
                if name not in files:
                    stale.append(f"{path.relative_to(ROOT)}: {name}")
            for home, name in re.findall(r"`([a-z_]\w*)\.([A-Za-z_]\w*)`", text):
                seen += 1
                if name == "py" or name in defined().get(home, {name}):
                    continue
                if not find_spec(home) or not hasattr(import_module(home), name):
                    stale.append(f"{path.relative_to(ROOT)}: {home}.{name}")
    assert stale == []
    assert seen > 60


# -- the door ---------------------------------------------------------------------------------

DOOR = PACKAGES["compiler"] / "backend.py"


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
    assert len(backend.__all__) <= 36


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
        "never = {'llvmlite', 'numba', 'execspace_compiler.oracle', 'execspace_compiler.host'}; "
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
