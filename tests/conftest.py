"""Fixtures of tests of this repository: fake plugins, and programs in a fresh interpreter.

Spaces and the check for leaks come from the conformance kit, `execspace_testing.fixtures`.
"""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import execspace as es
from execspace import profiling
from execspace.plugins import selection

# What takes long and is run for other types, in other shapes or on other spaces. Pages of the docs
# run on `fake`, and most in the default space; what they compile for `opencl` is that of the kit.
COVERED = re.compile(
    r"test_a_hundred_million\[(openmp|opencl)\]"
    r"|test_programs_of_a_page_run_on_a_device\[opencl-.*\]"
    r"|test_programs_of_a_page_run\[docs/(algorithms|atomics|containers|launching|mdrange)\.md\]"
    r"|test_programs_of_a_page_run\[docs/(kokkos|random|special|std-algorithms|teams|views)\.md\]"
    r"|test_results_are_of_their_type.*\[openmp-(int8|int64|uint8|uint16|uint32)\]"
    r"|test_conversions_to_16_bits.*\[openmp-(int64|uint16)\]"
    r"|test_the_least_of_three.*\[openmp-(int8|int64|uint8|uint16|uint32)\]"
    r"|test_conditions_on_the_greater_of_two\[openmp-(int32|uint8|uint16|uint32)\]"
    r"|test_(integer_arithmetic_wraps|bit_operators).*\[openmp-(int16|int64|uint8|uint16)\]"
    r"|test_a_choice_from_a_choice_is_both\[openmp-float32\]"
    r"|test_a_prefix_may_have_a_type.*\[openmp-(in_a_helper-(Max|Sum)|inclusive_sum-(Added|Max))\]"
    r"|test_ranges_of_every_rank\[openmp-[45]-.*\]"
    r"|test_many_views_of_which_two_are_one\[(openmp|serial)-40\]"
    r"|test_rank_order\[openmp-count(2-2-(left|auto)|4-4-right)\]"
    r"|test_narrow_scans_wrap_if_they_are_told_to\[openmp\]"
    r"|test_integers_agree_with_numpy\[openmp-uint64\]"
    r"|test_results_have_the_fields_of_kokkos_records\[openmp\]"
    r"|test_(dslash|solutions)\[openmp.*\]|test_(dslash|solutions)\[opencl-.*-4\]"
    r"|test_several_right_hand_sides\[open(mp|cl)\]"
    r"|test_lu_and_triangles\[(serial-float32|openmp-float64)\]"
    r"|test_the_pion_of_free_quarks\[(openmp|opencl)\]"
    r"|test_a_forked_child_gets_the_same_results\[prange\]"
    r"|test_results_do_not_depend_on_the_runtime_or_the_threads_granted\[libgomp\]"
    r"|test_the_kit_passes_and_sanitizers_report_nothing\[gfx942-plain-some collectives\]"
    r"|test_a_level_is_reported_when_it_is_done\[two\]"
    r"|test_ctrl_c_while_llvm_starts_does_not_break_it_for_good\[openmp\]"
    r"|test_every_part_runs_once_whatever_their_number\[(2|16)\]"
    r"|test_as_a_script\[(bitonic|column)\]"
    r"|test_right_kernels_are_right_and_clean\[-gfx1100\]"
    r"|test_a_kernel_sees_its_contribution_to_the_bit\[openmp-(variable|expression)\]"
    r"|test_what_becomes_of_loops_on_processors_that_are_not_here\[znver4\]"
    r"|test_exercise_04.*\[openmp-(snake|static|tiled)\]"
    r"|test_rounds_see.*\[openmp-.*-(int16|int32|float32|int64|complex64)\]"
    r"|test_(local_arrays|array_reductions)_too\[openmp-.*(int16|float32).*\]"
    r"|test_quick_run_writes_a_record_and_a_figure"
    r"|test_device_benchmark_checks_kernels_by_hand"
    r"|test_an_example_runs_on_a_device\[examples/roofline\.py-fake\]"
    r"|test_histories_of_residuals_agree|test_all_run_on_opencl\[device\]"
    r"|test_factors\[serial-float32\]|test_getrf\[serial-float32\]"
    r"|test_dslash\[serial-float32-4\]|test_solutions\[serial-mixed-4\]"
    r"|test_gemm\[as it is-serial-N-right-float32\]"
    r"|test_(gemm_of_parts_of_one_matrix|gemm_of_two_types|gemm_of_all_small_sizes"
    r"|sums_of_float16_are_of_float32|results_have_the_same_bits_in_each_run)\[as it is-oracle\]"
    r"|test_gemm_of_all_small_sizes\[as it is-openmp\]"
    r"|test_(systems|widths|what_fails_is_as_of_one_work_item|rows_of_many_teams)\[oracle\]"
    r"|test_(lu_and_triangles|getrf|factors)\[oracle-float64\]"
    r"|test_each_result_is_that_of_its_launch\[oracle-100000\]"
    r"|test_(iterations_that_do_not_suffice|operators_that_are_refused)\[opencl\]"
    r"|test_breakdowns\[openmp\]|test_a_power_of_two_changes_no_bit\[(oracle-cg|serial-gmres)\]"
    r"|test_(the_plaquette_is_that_of_numpy|over_relaxation_keeps_the_action)\[openmp\]"
    r"|test_links_stay_in_the_group\[openmp\]|test_gamma5_hermiticity.*\[openmp\]"
    r"|test_(views_come_and_go|all_patterns)\[openmp\]"
    r"|test_(values_of_(real|complex)_numbers|limits|as_python|as_numpy)\[openmp.*\]"
    r"|test_(all_types_and_elements_that_are_apart|a_team_stores_what_the_host_stores)\[openmp.*\]"
    r"|test_a_program_of_the_table_passes\[(?!oracle-).*\]"
)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks of tests of all folders, before they are selected by them; then slow tests first: what
    comes last is short, and processes end together."""
    for item in items:
        if COVERED.fullmatch(item.name):
            item.add_marker(pytest.mark.exhaustive)
    found = yield
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    return found


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """The collector passes over what lives as long as the run, and seldom over all the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], 100)


@pytest.fixture
def fresh_selection(monkeypatch):
    """Plugins and environment are read again, before the test and after it."""
    tools = profiling.TOOLS
    selection.forget()
    yield selection.forget
    selection.forget()
    for tool in set(profiling.TOOLS) - set(tools):
        profiling.detach(tool)


@pytest.fixture
def fake_plugin(tmp_path, monkeypatch, fresh_selection):
    """Install a distribution with one module and one entry point for the length of a test.

    ``fake_plugin(name, source)`` puts ``<name>_plugin.py`` and its dist-info on sys.path.
    """
    modules = []

    def install(name, source, *, distribution=None, version="1.0"):
        distribution = distribution or f"execspace-{name}"
        folder = tmp_path / distribution
        info = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        module = f"{distribution.replace('-', '_')}_plugin"
        text = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        (info / "METADATA").write_text(text)
        (info / "entry_points.txt").write_text(f"[execspace]\n{name} = {module}\n")
        (folder / f"{module}.py").write_text(textwrap.dedent(source))
        monkeypatch.syspath_prepend(folder)  # also clears the caches of importlib
        modules.append(module)
        fresh_selection()
        return module

    yield install
    for module in modules:
        sys.modules.pop(module, None)


@pytest.fixture(params=["fake", "opencl"])
def device(request, monkeypatch):
    """The default space; the host cannot reach its memory, and launches are asynchronous.

    `fake` is that of fake_device.py, `opencl` a device of OpenCL, also if that is the processor.
    """
    if request.param == "fake":
        source = (Path(__file__).parent / "support" / "fake_device.py").read_text(encoding="utf-8")
        request.getfixturevalue("fake_plugin")("fake", source)
    else:
        monkeypatch.setenv("EXECSPACE_OPENCL_MEMORY", "device")
        request.getfixturevalue("fresh_selection")()
        row = next((s for s in es.spaces() if s.name == "opencl"), None)
        if row is None or not row.usable:
            pytest.skip(row.reason if row else "the plugin of opencl is not installed")
    monkeypatch.setenv("EXECSPACE_DEFAULT", request.param)
    space = es.default_space()
    yield space
    es.fence()
    if request.param == "fake":
        space.close()


@pytest.fixture
def python(tmp_path):
    """Run a program in a fresh interpreter; returns what it printed, fails if it fails.

    Programs are files, because kernels need their source.
    """

    def run(program, *, timeout=60, **environment):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(program))
        result = subprocess.run(
            [sys.executable, "-W", "error", str(path)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert result.returncode == 0, f"exit {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout

    return run
