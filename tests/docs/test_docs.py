"""The documentation: its programs run, its tables are up to date, its examples are true.

What pages.py says is run of README.md and docs/*.md. The programs run thrice: on the default of
this machine, and where the default space is one whose memory the host cannot reach.
"""

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest
from pages import BLOCK, PAGES, READMES, ROOT, Page, blocks, check, name_of

import execspace as es
from execspace.base import config
from execspace.contract import hookspecs

PACKAGES = (
    "execspace",
    "execspace_compiler",
    "execspace_serial",
    "execspace_openmp",
    "execspace_tools",
    "execspace_comm",
    "execspace_kernels",
)


# Every launch there names its space, so the default does not matter; docs_on_device.py runs them.
ABOUT_A_SPACE = {ROOT / "docs" / f"{name}.md" for name in ("backend", "cuda", "hip", "opencl")}
ABOUT_A_SPACE |= set(ROOT.glob("plugins/*/README.md"))


# -- programs -------------------------------------------------------------------------------------


def run(path):
    page = Page(path)
    try:
        page.run()
    finally:
        page.close()


@pytest.mark.parametrize("path", READMES, ids=name_of)
def test_programs_of_a_page_run(path):
    run(path)


SCRIPTS = [(path, block) for path in READMES for block in blocks(path) if block.is_script]


@pytest.mark.parametrize(
    ("path", "block"), SCRIPTS, ids=[f"{name_of(path)}:{block.first}" for path, block in SCRIPTS]
)
def test_scripts_of_a_page_run(path, block, tmp_path):
    if block.missing:
        pytest.skip(f"not installed: {', '.join(block.missing)}")
    page = Page(path)
    try:
        page.run_script(block, tmp_path)
    finally:
        page.close()


def test_blocks_that_need_what_is_missing_are_left_out(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(
        "```python\nx = 1\n```\n\n<!-- needs: json, no_such_module -->\n```python\nx = 2\n```\n\n"
        "<!-- needs: json -->\n```python\ny = x\n```\n"
    )
    page = Page(path)
    page.run()
    assert (page.names["x"], page.names["y"]) == (1, 1)
    assert [block.missing for block in blocks(path)] == [[], ["no_such_module"], []]
    page.close()


def test_a_script_defines_on_its_page_and_prints_in_its_process(tmp_path):
    path = tmp_path / "page.md"
    script = 'def f():\n    return 6\n\n\nif __name__ == "__main__":\n    print(f() * 7)\n'
    path.write_text(f"```python\n{script}```\n\n```text\n42\n```\n")
    page = Page(path)
    page.run()
    assert page.names["f"]() == 6
    (block,) = (block for block in blocks(path) if block.is_script)
    page.run_script(block, tmp_path)
    page.expected[block.first] = "43\n"
    with pytest.raises(AssertionError, match=r"- 43\n. 42"):
        page.run_script(block, tmp_path)
    page.close()


@pytest.mark.parametrize("path", [p for p in READMES if p not in ABOUT_A_SPACE], ids=name_of)
def test_programs_of_a_page_run_on_a_device(path, device):
    run(path)


def test_the_devices_refuse_what_a_gpu_refuses(device):
    view = es.View(3, label="v")
    assert not view.memory_space.host_accessible
    for reach in (lambda: view[0], lambda: view.__setitem__(0, 1), lambda: np.asarray(view)):
        with pytest.raises(es.SpaceAccessError, match="'v'"):
            reach()
    array = np.zeros(3)
    for launch in (
        lambda: es.parallel_for(3, lambda i, x: None, array),
        lambda: es.parallel_reduce(3, lambda i: array[i]),
        lambda: es.parallel_for(3, lambda i, x: None, es.view_of(array)),
        lambda: es.parallel_for(3, lambda i, x: None, es.View(3, memory=es.HOST)),
        lambda: es.parallel_for(es.TeamPolicy(3), lambda team, x: None, array),
        lambda: es.parallel_for(es.MDRangePolicy((3, 3)), lambda i, j, x, y: None, view, array),
        lambda: es.parallel_scan(3, lambda i, prefix, final, x: x[i], array),
    ):
        with pytest.raises(es.SpaceAccessError, match=f"space '{device.name}'"):
            launch()


@pytest.mark.parametrize("path", READMES, ids=name_of)
def test_blocks_have_a_language_that_is_checked(path):
    languages = {block.language for block in blocks(path)}
    assert languages <= {"python", "pycon", "text", "console", "toml"}
    assert path.read_text(encoding="utf-8").count("```") == 2 * len(blocks(path))


@pytest.mark.parametrize("path", [*READMES, ROOT / "CHANGELOG.md"], ids=name_of)
def test_make_targets_and_links_exist(path):
    text = path.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)(?=[`\n]| #)", text)) <= targets
    prose = re.sub(r"`[^`\n]*`", "", BLOCK.sub("", text))
    for link, _, anchor in re.findall(r"\]\(((?!https?:)[^)#]*)(#([\w-]+))?\)", prose):
        target = path.parent / link if link else path
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
            assert anchor in slugs, f"{link}#{anchor}"


def test_the_readme_names_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [block.text.strip() for block in blocks(ROOT / "README.md")]
    assert {"make demo", "make test"} <= set(commands)
    assert re.search(r"^## Tests\n+```console\nmake test\n```$", text, re.MULTILINE)


# -- what follows from the sources ----------------------------------------------------------------


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_tables_are_up_to_date(generate):
    used = set()
    for page in generate.DOCS.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert generate.updated(text) == text, f"{page.name}: run python docs/generate.py"
        used |= {match[2] for match in generate.MARKED.finditer(text)}
    assert used == set(generate.TABLES)


def test_generating_rewrites_a_page_that_is_out_of_date(generate, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("<!-- generated: environment -->\nold\n<!-- end -->\n")
    monkeypatch.setattr(generate, "DOCS", tmp_path)
    assert generate.main(["--check"]) == 1
    assert "old" in page.read_text()
    assert generate.main([]) == 0
    assert "EXECSPACE_DEFAULT" in page.read_text()
    assert generate.main(["--check"]) == 0


def test_every_environment_variable_is_documented():
    text = (ROOT / "docs" / "launching.md").read_text(encoding="utf-8")
    assert {f"EXECSPACE_{name}" for name in config.VARIABLES} <= set(re.findall(r"\w+", text))
    for path in PAGES:
        named = set(re.findall(r"EXECSPACE_(\w+)", path.read_text(encoding="utf-8")))
        assert named <= set(config.VARIABLES), path.name


def test_every_hook_is_documented_with_its_arguments():
    text = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    hooks = {n: f for n, f in vars(hookspecs).items() if n.startswith("execspace_")}
    assert hooks
    for name, hook in hooks.items():
        signature = f"{name}({', '.join(inspect.signature(hook).parameters)})"
        assert f"`{signature}`" in text


@pytest.mark.parametrize("record", [es.SpaceEntry, es.ReducerEntry, es.ToolEntry])
def test_every_field_of_a_record_is_documented(record):
    text = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    section = text.partition(f"### {record.__name__}\n")[2].partition("\n#")[0]
    assert set(record.__dataclass_fields__) <= set(re.findall(r"`(\w+)`", section))


@pytest.mark.parametrize("contract", [es.ExecutionSpace, es.MemorySpace])
def test_every_method_of_the_contract_is_documented(contract):
    text = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    public = {name for name in vars(contract) if not name.startswith("_")}
    public |= {name for name in contract.__annotations__ if not name.startswith("_")}
    assert public <= set(re.findall(r"`(\w+)", text))


def test_every_public_name_of_users_is_documented():
    words = set()
    for path in PAGES:
        words |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    assert set(es.__all__) <= words


# -- the space of docs/plugins.md -----------------------------------------------------------------


def test_the_space_of_the_documentation_is_a_plugin(fake_plugin):
    page = ROOT / "docs" / "plugins.md"
    source = next(block.text for block in blocks(page) if "hookimpl" in block.text)
    fake_plugin("plain", source)
    x, y = np.arange(4.0), np.ones(4)

    def axpy(i, a, x, y):
        y[i] += a * x[i]

    es.parallel_for(es.RangePolicy(1, 3, space="plain"), axpy, 2.0, x, y)
    assert y.tolist() == [1, 3, 5, 1]
    policy = es.MDRangePolicy((1, 1), (3, 4), space="plain")
    assert es.parallel_reduce(policy, lambda i, j: i * j) == 18
    assert es.parallel_reduce(policy, lambda i, j: i * j / 2, reducer=es.Min) == 0.5
    empty = es.RangePolicy(0, space="plain")
    assert es.parallel_reduce(empty, lambda i: i, reducer=es.Prod) == 1
    result = es.View((), es.float32, space="plain")
    assert es.parallel_reduce(policy, lambda i, j: i * j, reducer=es.Max, out=result) is None
    assert result[()] == 6


# -- docstrings -----------------------------------------------------------------------------------


def with_examples():
    for package in PACKAGES:
        folder = Path(importlib.util.find_spec(package).origin).parent
        for module in pkgutil.walk_packages([str(folder)], f"{package}."):
            path = folder.joinpath(*module.name.split(".")[1:])
            path = path / "__init__.py" if module.ispkg else path.with_suffix(".py")
            if ">>>" in path.read_text(encoding="utf-8"):
                yield module.name


def run_examples(name):
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [test for test in finder.find(importlib.import_module(name)) if test.examples]
    assert tests
    for test in tests:
        check(test)


@pytest.mark.parametrize("name", list(with_examples()))
def test_examples_in_docstrings(name):
    run_examples(name)


@pytest.mark.parametrize("name", [n for n in with_examples() if n.startswith("execspace.")])
@pytest.mark.parametrize("device", ["fake"], indirect=True)
def test_examples_in_docstrings_on_a_device(name, device):
    run_examples(name)
