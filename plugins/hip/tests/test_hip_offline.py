"""Compiling for AMD GPUs that are not there: which compiler, which libraries, what it says."""

from __future__ import annotations

import re

import pytest

from execspace import BackendCompileError, SpaceUnavailableError
from execspace_gpu.compiling import CompileError
from execspace_hip.amdgpu.code_object import read_code_object
from execspace_hip.amdgpu.offline import OfflineCompiler, faults, find_compiler

HEAD = (
    '#define KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256))) void\n'
)
PLAIN = HEAD + "KERNEL k(int *x) { x[__builtin_amdgcn_workitem_id_x()] = 1; }\n"
SINE = (
    HEAD
    + 'extern "C" __attribute__((device)) __attribute__((const)) double __ocml_sin_f64(double);\n'
    "KERNEL k(double *x) { *x = __ocml_sin_f64(*x); }\n"
)


@pytest.fixture(params=["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"])
def target(request):
    return request.param


def usable(target=None):
    try:
        return find_compiler(target)
    except SpaceUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def compiler(request):
    return usable(request.getfixturevalue("target") if "target" in request.fixturenames else None)


@pytest.fixture
def with_libraries(compiler):
    if compiler.libraries is None:
        pytest.skip("ROCm's device libraries are not installed (rocm-device-libs)")
    return compiler


def test_it_says_what_it_is(compiler):
    assert re.fullmatch(r"\d+\.\d+\.\d+\w*", compiler.version())
    assert compiler.name == f"clang {compiler.version()} at {compiler.path}"
    assert {"gfx90a", "gfx1030"} <= compiler.targets()


def test_text_without_mathematics_needs_no_library(compiler, target):
    code = OfflineCompiler(compiler.path).compile(PLAIN, ["-w"], target)
    found = read_code_object(code)
    assert (found.arch, list(found.kernels)) == (target, ["k"])


def test_mathematics_come_from_device_libraries(with_libraries, target):
    found = read_code_object(with_libraries.compile(SINE, [], target))
    assert found.kernels["k"].vgprs > 8 and found.kernels["k"].scratch == 0


def test_missing_libraries_are_named(compiler):
    alone = OfflineCompiler(compiler.path)
    with pytest.raises(BackendCompileError, match=r"'__ocml_sin_f64'.*rocm-device-libs"):
        alone.compile(SINE, [], "gfx90a")


def told(compiler, target, name, kind, *options):
    """What libraries are told of a GPU or by options; None if these have no such constant."""
    text = (
        f'{HEAD}extern "C" __attribute__((constant)) const {kind} __oclc_{name};\n'
        f"KERNEL k(volatile int *x) {{ *x = __oclc_{name}; }}\n"
    )
    ir = compiler.assembly(text, [*options, "-emit-llvm"], target)
    found = re.search(r"store volatile i32 (\d+),", ir)
    return int(found[1]) if found else None


ISA = {"gfx90a": 9010, "gfx942": 9402, "gfx1030": 10300, "gfx1100": 11000, "gfx1201": 12001}


def test_libraries_know_the_gpu(with_libraries, target):
    """Also where they are older than the GPU, and have no such part."""
    assert told(with_libraries, target, "ISA_version", "int") == ISA[target]
    wide = told(with_libraries, target, "wavefrontsize64", "unsigned char")
    assert wide == target.startswith("gfx9")


@pytest.mark.parametrize(
    ("name", "option", "without"),
    [
        ("correctly_rounded_sqrt32", "-fno-hip-fp32-correctly-rounded-divide-sqrt", 1),
        ("wavefrontsize64", "-mwavefrontsize64", 0),
        ("daz_opt", "-fgpu-flush-denormals-to-zero", 0),
    ],
)
def test_libraries_know_the_options(with_libraries, name, option, without):
    ask = (with_libraries, "gfx1030", name, "unsigned char")
    found = told(*ask), told(*ask, option)
    if name == "daz_opt" and found == (None, None):
        pytest.skip("these libraries have no such switch, as newer ones")
    assert found == (without, 1 - without)


def test_printf(with_libraries):
    text = (
        f'{HEAD}extern "C" __attribute__((device)) int printf(const char *, ...);\n'
        r'KERNEL k(int *x) { printf("%d\n", *x); }'
    )
    found = read_code_object(with_libraries.compile(text, [], "gfx90a"))
    assert "hidden_hostcall_buffer" in {a.kind for a in found.kernels["k"].arguments}


def test_lines_of_the_log_are_those_of_the_text(compiler, target):
    text = f"{HEAD}\nKERNEL k(int *x) {{\n    *x = y;\n    // naïve\n    x.z = 1;\n}}\n"
    with pytest.raises(CompileError) as caught:
        compiler.compile(text, ["-w"], target)
    log = str(caught.value)
    assert [line for line, _ in faults(log)] == [4, 6]
    assert faults(log)[0] == (4, "use of undeclared identifier 'y'")


def test_what_the_linker_refuses(compiler):
    text = HEAD + 'extern "C" __attribute__((device)) int f(int);\nKERNEL k(int *x) { *x = f(1); }'
    with pytest.raises(CompileError, match=r"undefined (hidden )?symbol: f\b"):
        compiler.compile(text, [], "gfx90a")


def test_unknown_options_are_told(compiler):
    with pytest.raises(CompileError, match="--no-such-option"):
        compiler.compile(PLAIN, ["--no-such-option"], "gfx90a")


def test_options_do_not_choose_the_gpu(compiler):
    code = compiler.compile(PLAIN, ["--offload-arch=gfx1030"], "gfx90a:xnack-")
    assert read_code_object(code).arch == "gfx90a:xnack-"


def test_gpus_that_it_does_not_know(compiler):
    with pytest.raises(BackendCompileError, match=r"does not know AMD GPU 'gfx9ff'.*newer clang"):
        compiler.compile(PLAIN, [], "gfx9ff")
    with pytest.raises(BackendCompileError, match="'sm_90' is not a kind of AMD GPU"):
        compiler.compile(PLAIN, [], "sm_90")
    with pytest.raises(SpaceUnavailableError, match="it does not know 'gfx9ff'"):
        find_compiler("gfx9ff")


def pretended(path, version, targets="gfx90a gfx942", linker="/bin/sh"):
    """A program that answers as a clang does."""
    lines = "".join(f"\n    echo '\tgfx{t.removeprefix('gfx')}'" for t in targets.split())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"""#!/bin/sh
case "$*" in
*--version*) echo 'Some clang version {version} (of somebody)';;
*--print-supported-cpus*) :{lines};;
*-print-prog-name=lld*) echo {linker};;
*-print-resource-dir*) echo {path.parent}/resources;;
esac
"""
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without compilers; those that a test makes are in "bin" and "rocm"."""
    for name in ("EXECSPACE_HIP_COMPILER", "ROCM_PATH", "ROCM_HOME", "HIP_DEVICE_LIB_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def test_no_compiler_says_what_to_install(machine):
    with pytest.raises(SpaceUnavailableError) as caught:
        find_compiler()
    for word in ("ROCm", "clang-19", "lld-19", "rocm-device-libs", "EXECSPACE_HIP_COMPILER"):
        assert word in str(caught.value)


def test_the_newest_is_taken(machine):
    for number in (9, 15, 21, 100):
        pretended(machine / f"bin/clang-{number}", f"{number}.1.0")
    assert find_compiler().path == machine / "bin/clang-100"
    assert find_compiler().version() == "100.1.0"


def test_rocm_is_taken_before_the_system(machine):
    pretended(machine / "bin/clang-100", "100.0.0")
    pretended(machine / "rocm/llvm/bin/clang++", "20.0.0git")
    assert find_compiler().path == machine / "rocm/llvm/bin/clang++"
    pretended(machine / "rocm/bin/amdclang++", "20.0.0git")
    assert find_compiler().path == machine / "rocm/bin/amdclang++"


def test_those_that_do_not_do_are_passed_over(machine):
    pretended(machine / "bin/clang-24", "24.0.0", targets="")
    pretended(machine / "bin/clang-23", "23.0.0", linker="lld")
    pretended(machine / "bin/clang-22", "22.0.0", targets="gfx90a")
    pretended(machine / "bin/clang-14", "14.0.0")
    pretended(machine / "bin/clang", "13.0.0")
    assert find_compiler().path == machine / "bin/clang-22"
    with pytest.raises(SpaceUnavailableError) as caught:
        find_compiler("gfx942")
    reasons = str(caught.value)
    assert "clang-24: it knows no AMD GPUs" in reasons
    assert "clang-23: its linker lld is not installed (lld-23)" in reasons
    assert "clang-22: it does not know 'gfx942'" in reasons
    assert "bin/clang: version 13.0.0 is older than 15" in reasons
    assert "clang-14" not in reasons.partition("Install")[0]


def test_one_can_be_chosen(machine, monkeypatch):
    pretended(machine / "bin/clang-30", "30.0.0")
    mine = pretended(machine / "mine/clang", "17.0.0")
    monkeypatch.setenv("EXECSPACE_HIP_COMPILER", str(mine))
    assert find_compiler().path == mine
    libraries = machine / "libraries"
    libraries.mkdir()
    (libraries / "ocml.bc").touch()
    monkeypatch.setenv("HIP_DEVICE_LIB_PATH", str(libraries))
    assert find_compiler().libraries == libraries


@pytest.mark.parametrize(
    ("version", "targets", "reason"),
    [
        ("14.0.6", "gfx90a", "version 14.0.6 is older than 15"),
        ("19.0.0", "", "it knows no AMD GPUs"),
        ("19.0.0", "gfx90a", "it does not know 'gfx942'"),
    ],
)
def test_one_that_is_chosen_must_do(machine, monkeypatch, version, targets, reason):
    pretended(machine / "bin/clang-30", "30.0.0")
    mine = pretended(machine / f"mine{version}/clang", version, targets)
    monkeypatch.setenv("EXECSPACE_HIP_COMPILER", str(mine))
    with pytest.raises(SpaceUnavailableError, match=re.escape(reason)):
        find_compiler("gfx942")


def test_what_is_chosen_is_no_clang(machine, monkeypatch):
    monkeypatch.setenv("EXECSPACE_HIP_COMPILER", "/nowhere/clang")
    with pytest.raises(SpaceUnavailableError, match=r"'/nowhere/clang'.*there is no such program"):
        find_compiler()
    monkeypatch.setenv("EXECSPACE_HIP_COMPILER", "/bin/sh")
    with pytest.raises(SpaceUnavailableError, match="it is not clang"):
        find_compiler()
