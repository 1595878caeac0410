"""What each distribution contains, imports and declares; and what `import execspace` loads."""

import ast
import re
import subprocess
import sys
import textwrap
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = {
    tomllib.loads(path.read_text())["project"]["name"]: path.parent
    for path in sorted([*ROOT.glob("*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")])
}
PLUGINS = [name for name, folder in DISTRIBUTIONS.items() if folder.parent.name == "plugins"]
COMES_WITH = {  # import names, where they differ from the project's
    "cupy-cuda12x": {"cupy", "cupy_backends", "cupyx"},
    "cupy-cuda13x": {"cupy", "cupy_backends", "cupyx"},
    "cupy-rocm-7-0": {"cupy", "cupy_backends", "cupyx"},
    "pyelftools": {"elftools"},
}
# What a library imports and leaves to the plugins that depend on it, for each has its own build.
LEFT_TO_PLUGINS = {"execspace-gpu": {"cupy", "cupy_backends", "cupyx"}}
HEAVY = [
    "numba", "llvmlite", "cupy", "cupy_backends", "pyopencl", "execspace_compiler",
    "execspace_gpu", "execspace_serial", "execspace_openmp", "execspace_opencl", "execspace_cuda",
    "execspace_hip", "execspace_tools", "nvtx", "matplotlib",
]  # fmt: skip


def package(distribution):
    return distribution.replace("-", "_")


def sources(distribution):
    return sorted((DISTRIBUTIONS[distribution] / "src").rglob("*.py"))


def project(distribution):
    return tomllib.loads((DISTRIBUTIONS[distribution] / "pyproject.toml").read_text())["project"]


def imports(distribution):
    """Top-level names of all modules that a distribution imports, anywhere in its code."""
    found = set()
    for path in sources(distribution):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                name = node.module.partition(".")[0]
                if name != "typing_extensions" or not for_type_checkers(node, tree):
                    found.add(name)
    return found


def for_type_checkers(node, tree):
    """Whether an import is for type checkers alone, which bring typing_extensions themselves."""
    tests = (n for n in ast.walk(tree) if isinstance(n, ast.If))
    return any(
        isinstance(n.test, ast.Name) and n.test.id == "TYPE_CHECKING" and node in n.body
        for n in tests
    )


def declared(distribution):
    """Import names that a distribution's dependencies provide."""
    about = project(distribution)
    extras = about.get("optional-dependencies", {})
    found = set()
    for requirement in [*about["dependencies"], *(r for rows in extras.values() for r in rows)]:
        name, asked = re.match(r"([\w-]+)(?:\[([\w,]+)\])?", requirement).groups()
        found |= COMES_WITH.get(name, {package(name)})
        for extra in (asked or "").split(",") if name in DISTRIBUTIONS else ():
            for row in project(name).get("optional-dependencies", {}).get(extra, ()):
                other = re.match(r"[\w-]+", row).group()
                found |= COMES_WITH.get(other, {package(other)})
    return found


# -- who may import whom ------------------------------------------------------------------------


def test_core_imports_no_compiler_and_no_backend():
    assert imports("execspace") & {*HEAVY, *map(package, DISTRIBUTIONS)} <= {"execspace"}


def test_the_compiler_imports_no_backend():
    assert imports("execspace-compiler").isdisjoint(map(package, ["execspace-gpu", *PLUGINS]))


def test_what_gpu_spaces_share_imports_none_of_them():
    assert imports("execspace-gpu").isdisjoint(map(package, PLUGINS))


def test_tools_need_core_only():
    others = {package(other) for other in DISTRIBUTIONS} - {"execspace", "execspace_tools"}
    assert imports("execspace-tools").isdisjoint(others)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_plugins_never_import_each_other(plugin):
    others = {package(other) for other in PLUGINS if other != plugin}
    assert imports(plugin).isdisjoint(others)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_every_import_is_declared(distribution):
    outside = imports(distribution) - sys.stdlib_module_names - {package(distribution)}
    assert outside <= declared(distribution) | LEFT_TO_PLUGINS.get(distribution, set())


def installed(distribution, system):
    """Names of all that pip installs with a distribution on a system, but for what others bring."""
    found, todo = set(), [(distribution, "")]
    while todo:
        name, extra = todo.pop()
        about = project(name)
        rows = about.get("optional-dependencies", {})[extra] if extra else about["dependencies"]
        for row in map(Requirement, rows):
            if row.marker is None or row.marker.evaluate({"sys_platform": system}):
                found.add(row.name)
                if row.name in DISTRIBUTIONS:
                    todo += [(row.name, more) for more in ("", *row.extras)]
    return found


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_numba_is_installed_only_where_its_threads_run_kernels(system):
    assert {"llvmlite", "numpy"} <= installed("execspace-serial", system)
    assert "numba" not in installed("execspace-serial", system)
    assert "llvmlite" in installed("execspace-openmp", system)
    assert ("numba" in installed("execspace-openmp", system)) == (system != "linux")


@pytest.mark.parametrize("library", LEFT_TO_PLUGINS)
def test_what_a_library_leaves_to_plugins_they_declare(library):
    assert not LEFT_TO_PLUGINS[library] & declared(library)
    users = [plugin for plugin in PLUGINS if package(library) in imports(plugin)]
    assert users
    assert all(LEFT_TO_PLUGINS[library] <= declared(plugin) for plugin in users)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_no_file_is_longer_than_600_lines(distribution):
    lengths = {path.name: len(path.read_text().splitlines()) for path in sources(distribution)}
    assert lengths
    assert {name: n for name, n in lengths.items() if n >= 600} == {}


# -- what importing costs -----------------------------------------------------------------------


def test_import_loads_no_compiler_and_no_backend_and_prints_nothing(python):
    program = f"""
        import sys
        import execspace as es
        loaded = [name for name in {HEAVY} if name in sys.modules]
        assert not loaded, loaded
    """
    assert python(program) == ""


def test_import_loads_what_it_needs_only(python):
    """Nothing that is loaded on first use, and nothing that only plugins and tools need."""
    program = """
        import sys
        import numpy
        before = set(sys.modules)
        import execspace as es
        own = {name for name in sys.modules if name.startswith("execspace.")}
        base = ("execspace.base", *(f"execspace.base.{n}" for n in ("forks", "ports", "version")))
        assert own <= set(base), own
        # threading: forks wait for imports, the first ones among them.
        more = set(sys.modules) - before - own - {"execspace", "__future__", "threading"}
        assert not more, more
        es.View, es.RangePolicy, es.TeamPolicy, es.parallel_for, es.parallel_reduce, es.kernel
        lazy = [
            name for name in set(sys.modules) - before if name in LIBRARIES
            or name.startswith(("execspace.algorithms", "execspace.containers", "execspace.tuning"))
            or name in ("execspace.explaining", "execspace.cli", "execspace.kernels.atomics")
        ]
        assert not lazy, lazy
    """
    libraries = {"pluggy", "platformdirs", "importlib.metadata", "difflib", "tempfile", "platform"}
    assert python(f"LIBRARIES = {libraries}\n" + textwrap.dedent(program)) == ""


def test_listing_spaces_loads_nothing_heavy(python):
    program = """
        import sys
        import execspace as es
        names = [space.name for space in es.spaces()]
        assert {"serial", "openmp", "oracle"} <= set(names), names
        heavy = {"numba", "llvmlite", "cupy", "execspace_compiler", "rich", "nvtx", "matplotlib"}
        loaded = heavy & set(sys.modules)
        assert not loaded, loaded
    """
    assert python(program) == ""


def test_every_public_name_exists(python):
    program = """
        import execspace as es
        missing = [name for name in es.__all__ if not hasattr(es, name)]
        assert not missing, missing
        assert len(set(es.__all__)) == len(es.__all__)
        print(es.__version__)
    """
    assert python(program).strip() == project("execspace")["version"]


# -- wheels -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_wheels_contain_code_types_and_entry_points(tmp_path):
    folders = map(str, DISTRIBUTIONS.values())
    build = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--no-build-isolation",
         "--disable-pip-version-check", "--wheel-dir", str(tmp_path), *folders],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert build.returncode == 0, build.stderr
    for distribution, folder in DISTRIBUTIONS.items():
        name, version = package(distribution), project(distribution)["version"]
        wheel = zipfile.ZipFile(tmp_path / f"{name}-{version}-py3-none-any.whl")
        files = set(wheel.namelist())
        code = {path.relative_to(folder / "src").as_posix() for path in sources(distribution)}
        own = [p for p in (folder / "src").rglob("*") if p.is_file() and p.suffix != ".pyc"]
        assert code <= {path.relative_to(folder / "src").as_posix() for path in own} <= files
        assert f"{name}/py.typed" in files
        assert not [file for file in files if "test" in file]
        if distribution in [*PLUGINS, "execspace-tools"]:
            short = distribution.removeprefix("execspace-")
            text = wheel.read(f"{name}-{version}.dist-info/entry_points.txt").decode()
            groups = [["[execspace]", short, "=", f"{name}.plugin"]]
            if (folder / "src" / name / "vendor.py").exists():
                groups.append(["[execspace_kernels]", short, "=", f"{name}.vendor"])
            assert text.split() == [word for group in groups for word in group]


def test_the_demo_installs_what_its_program_imports_and_no_more():
    """CuPy, NVRTC and the tools of tests are half a gigabyte that it does not need."""
    tree = ast.parse((ROOT / "examples" / "hillslope.py").read_text())
    modules = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    modules += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    used = {m.partition(".")[0] for m in modules} - set(sys.stdlib_module_names)
    lines = (ROOT / "requirements-demo.txt").read_text().splitlines()
    asked = {re.match(r"[\w-]+", line)[0] for line in lines if not line.startswith("#")}
    assert used == asked | {"execspace", "numpy"}
    makefile = (ROOT / "Makefile").read_text()
    members = re.search(r"^HOST := (.*)$", makefile, re.MULTILINE)[1].split()
    assert members == ["core", "compiler", "plugins/serial", "plugins/openmp"]
    assert re.search(r"^demo: \$\(VENV\)/demo-ready$", makefile, re.MULTILINE)
