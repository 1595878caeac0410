"""Entries on disk that were damaged are thrown away, and kernels run all the same.

Each kind of entry of each kind of space with each kind of damage: the result is right, nothing is
raised, and the next process finds a whole entry again. What `execspace_compiler.cache.disk` does
with the bytes is tested beside it.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import stat
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import execspace as es
from execspace.launch.prepare import planned
from execspace_compiler.cache import disk as cache


def axpy(i, a, x, y):
    y[i] += a * x[i]


def other(i, a, x, y):
    y[i] -= a * x[i] * 3.0


class Compiles(es.profiling.Tool):
    """Notes for each kernel that was made ready whether it came from the disk."""

    def __init__(self):
        self.from_disk = []

    def on_compile(self, from_disk):
        self.from_disk.append(from_disk)


def launched(space, function=axpy):
    """Launch a kernel as a new process would; tells whether it was found on disk."""
    tool = Compiles()
    x, y = np.arange(5.0), np.ones(5)
    kernel = es.kernel(function)
    kernel.shared.names = None  # the plans go with them; kernels of the same code share both
    es.profiling.attach(tool)
    try:
        es.parallel_for(es.RangePolicy(5, space=space), kernel, 2.0, x, y)
    finally:
        es.profiling.detach(tool)
    assert y.tolist() == ([1, 3, 5, 7, 9] if function is axpy else [1, -5, -11, -17, -23])
    return tool.from_disk[0]


def folder_in_place(path):
    path.unlink()
    (path / "within").mkdir(parents=True)
    (path / "within" / "file").write_text("x")


def wrong_shape(path):
    """What the entry's reader understands, sealed as if it had been written by execspace."""
    content = {
        ".code": b"[1, 2, 3]\n\x7fELF" + bytes(100),
        ".launch": f"../../{path.stem}",
        ".json": json.dumps([{"kernel": 1}]),
    }.get(path.suffix, b"\x7fELF" + bytes(100))
    if path.suffix == ".json":
        path.write_text(content)
    else:
        cache.keep(path, content)


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "noise": lambda path: path.write_bytes(os.urandom(path.stat().st_size)),
    "no UTF-8": lambda path: path.write_bytes(b"\xff\xfe" + path.read_bytes()),
    "a wrong shape": wrong_shape,
    "code": lambda path: path.write_text("raise SystemExit('executed')\n"),
    "a pickle": lambda path: path.write_bytes(b"cos\nabort\n(tR."),
    "another kernel's": None,
    "a folder": folder_in_place,
    "nothing": lambda path: path.unlink(),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a link to what has no end": lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
}


def damage_all(paths, how):
    """Damage files; those of one suffix in one folder are of several kernels."""
    contents = [p.read_bytes() for p in paths]
    for path, content in zip(paths, contents, strict=True):
        path.unlink()  # what this process has loaded of it stays whole
        path.write_bytes(content)
    for path, another in zip(paths, contents[1:] + contents[:1], strict=True):
        if DAMAGE[how] is None:
            path.write_bytes(another)
        else:
            DAMAGE[how](path)


@pytest.fixture(scope="module")
def host_cache(tmp_path_factory):
    """A cache folder that keeps two kernels, whichever space has compiled them."""
    root = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXECSPACE_CACHE_DIR", str(root))
        yield root


def entries(folder, suffix):
    found = sorted(folder.rglob(f"*{suffix}"))
    files = [p for p in found if p.is_file()]
    assert files, f"no {suffix} in {folder}"
    return files


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("suffix", [".code", ".launch", ".json"])
def test_entries_of_hosts_heal(host_cache, suffix, damage):
    folder = host_cache / "host"
    shutil.rmtree(folder, ignore_errors=True)  # misses are noted when something is compiled
    for function in (axpy, other):
        assert not launched("serial", function)
    damage_all(entries(folder, suffix), damage)
    found = launched("serial")
    assert found == (suffix != ".code")  # the machine code
    assert launched("serial"), "it was not kept again"
    assert launched("serial", other) in (True, False)
    for path in folder.glob("set-aside-*/*"):
        assert (path / "within" / "file").exists()


def _usable(name):
    return any(s.name == name and s.usable for s in es.spaces())


@pytest.mark.parametrize("damage", DAMAGE)
def test_libraries_of_a_c_compiler_heal(host_cache, damage, monkeypatch):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples" / "backend_c" / "src")
    backend = importlib.import_module("execspace_backend_c.space")
    for function in (axpy, other):
        launched(backend.CExecutionSpace(), function)
    damage_all(entries(host_cache / "backend_c", ".so"), damage)
    found = launched(backend.CExecutionSpace())
    # By its name the loader takes what this process has loaded before for that of a wrong shape.
    assert not found or damage == "a wrong shape"
    assert launched(backend.CExecutionSpace())


@pytest.mark.parametrize("damage", DAMAGE)
def test_binaries_of_an_opencl_driver_heal(host_cache, damage, monkeypatch):
    if not _usable("opencl"):
        pytest.skip("no OpenCL driver")
    from execspace_opencl import program as building

    monkeypatch.setattr(building, "has_src_build_cache", lambda device: False)
    space = es.space("opencl")
    source = "__kernel void store(__global int *x) { x[get_global_id(0)] = 7; }"

    def build(text=source):
        return building.build(space.device, text, [])

    build(), build(source.replace("7", "8"))
    damage_all(entries(host_cache / "opencl", ".bin"), damage)
    built = build()
    assert not built.from_disk and built.loaded.store is not None
    assert build().from_disk


@pytest.mark.parametrize("damage", DAMAGE)
def test_binaries_for_gpus_heal(host_cache, damage):
    compiling = pytest.importorskip("execspace_gpu.compiling")

    class Compiler(compiling.Compiler):
        title = "compiler"
        version = lambda self: "1"  # noqa: E731
        options = lambda self, text, arch: []  # noqa: E731
        faults = lambda self, log: []  # noqa: E731
        compile = lambda self, source, options: source.encode() + b"\xff"  # noqa: E731

    kernel = es.kernel(axpy)
    policy, arguments = es.RangePolicy(3, space="oracle"), (1.0, np.ones(3), np.ones(3))
    spec = planned(policy, kernel, arguments, "for", None, None).spec

    def load(content):
        if content not in (b"one\xff", b"two\xff"):  # which only the driver can tell
            raise ValueError
        return content

    def binary(source):
        code = SimpleNamespace(source=source, lowered=SimpleNamespace(kernel=kernel, spec=spec))
        return compiling.compile_code(code, Compiler(), "arch", "cuda", load, (ValueError,))

    binary("one"), binary("two")
    damage_all(entries(host_cache / "cuda", ".bin"), damage)
    found = binary("one")
    assert (found.loaded, found.from_disk) == (b"one\xff", False)
    found = binary("one")
    assert (found.loaded, found.from_disk) == (b"one\xff", True)


PROGRAM = """
    import sys
    import numpy as np
    import execspace as es

    @es.kernel
    def axpy(i, a, x, y):
        y[i] += a * x[i]

    for space in sys.argv[1:] or SPACES:
        x, y = np.arange(5.0), np.ones(5)
        es.parallel_for(es.RangePolicy(5, space=space), axpy, 2.0, x, y)
        assert y.tolist() == [1, 3, 5, 7, 9], y
        assert es.parallel_reduce(es.RangePolicy(5, space=space), lambda i, x: x[i], x) == 10
    es.fence()
"""


# What becomes of one entry that is damaged in each of these ways is tested below.
@pytest.mark.parametrize(
    "damage",
    [
        "noise",
        *(
            pytest.param(damage, marks=pytest.mark.exhaustive)
            for damage in ("cut off", "a pipe", "a link to what has no end")
        ),
    ],
)
def test_a_process_finds_everything_damaged(python, tmp_path, monkeypatch, damage):
    """Also what drivers keep there themselves: PoCL ends the process over a damaged program.

    Nobody waits at a pipe, or reads what does not end.
    """
    monkeypatch.delenv("POCL_CACHE_DIR", raising=False)
    spaces = [s for s in ("serial", "opencl", "c") if _usable(s)]
    program = PROGRAM.replace("SPACES", repr(spaces))
    chosen = {"EXECSPACE_CACHE_DIR": str(tmp_path / "cache")}
    python(program, **chosen)
    files = [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    damage_all(files, damage)
    damaged = {path: content_of(path) for path in files}
    python(program, **chosen)
    left = {p.suffix for p in files if os.path.lexists(p) and content_of(p) == damaged[p]}
    assert not left & {".code", ".launch", ".so", ".json", ".bc"}


def content_of(path):
    """What a file holds; of anything else what it is."""
    mode = path.lstat().st_mode
    return path.read_bytes() if stat.S_ISREG(mode) else stat.S_IFMT(mode)


FULL = """
    import json, resource, warnings
    import numpy as np
    import execspace as es
    import execspace_compiler.host.jit  # what is imported is written, too

    space = es.space("SPACE")
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, MOST))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for n in range(2):
            def axpy(i, a, x, y):
                y[i] += a * x[i] + n
            x, y = np.arange(5.0), np.ones(5)
            es.parallel_for(es.RangePolicy(5, space=space), axpy, 2.0, x, y)
            assert (y == 1 + 2 * x + n).all()
    print(json.dumps([str(w.message) for w in told if w.filename == __file__]))  # not execspace's
"""


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (64, ["Cache folder {} cannot be written (", "Compiled kernels cannot be kept in /"]),
        (200, ["Compiled kernels cannot be kept in {} ("]),  # the folder could be made and marked
    ],
)
def test_on_a_full_disk_kernels_run_with_a_warning(python, tmp_path, limit, expected):
    pytest.importorskip("resource")
    text = FULL.replace("SPACE", "serial").replace("MOST", str(limit))
    told = json.loads(python(text, EXECSPACE_CACHE_DIR=str(tmp_path / "cache")))
    assert len(told) == len(expected)
    for found, start in zip(told, expected, strict=True):
        assert found.startswith(start.format(tmp_path / "cache" / "host"))


PLANTED = """
    import warnings
    import numpy as np
    import execspace as es

    @es.kernel
    def axpy(i, a, x, y):
        y[i] += a * x[i]

    warnings.simplefilter("ignore")
    y = np.ones(5)
    es.parallel_for(es.RangePolicy(5, space="serial"), axpy, 2.0, np.arange(5.0), y)
    print(y.tolist())
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no modes of this kind")
def test_nothing_is_executed_from_a_folder_that_others_may_write(python, tmp_path):
    chosen = {"EXECSPACE_CACHE_DIR": str(tmp_path / "cache")}
    folder = tmp_path / "cache" / "host"
    right = python(PLANTED, **chosen)
    (entry,) = entries(folder, ".code")
    assert python(PLANTED.replace("+=", "-="), **chosen) != right
    (planted,) = (path for path in entries(folder, ".code") if path != entry)
    assert cache.keep(entry, cache.read(planted))  # sealed as execspace does
    assert python(PLANTED, **chosen) != right  # so it would be executed
    (tmp_path / "cache").chmod(0o777)
    assert python(PLANTED, **chosen) == right


def test_a_short_cut_names_entries_of_its_folder_only(host_cache):
    for function in (axpy, other):
        launched("serial", function)
    folder = host_cache / "host"
    evil = cache.key("evil")
    for path in entries(folder, ".code"):
        # Of either kernel: it is wrong for the other one.
        assert cache.keep(host_cache / f"{evil}.code", cache.read(path))
        for name in (f"../{evil}", f"{host_cache}/{evil}", f"{evil}.code", "os", "x" * 40):
            for record in entries(folder, ".launch"):
                assert cache.keep(record, name)
            assert launched("serial") and launched("serial", other)
