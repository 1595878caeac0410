"""float16 on the host: which instructions there are for it, and processors that have none.

What it computes is tested on every space by the conformance kit.
"""

from __future__ import annotations

import json
import platform
import re

import pytest

X86 = platform.machine().lower() in ("x86_64", "amd64")
pytestmark = pytest.mark.skipif(not X86, reason="names processors of x86-64")

ASSEMBLY = """
import json
import numpy as np
import execspace as es

def step(i, x, y):
    x[i] = x[i] * y[i] + y[i]

def narrow(i, x, d):
    x[i] = d[i]

def value(i, x):
    return x[i]

n = es.RangePolicy(1000, space="serial")
x, y, d = np.ones(1000, "f2"), np.ones(1000, "f2"), np.ones(1000)
print(json.dumps([
    es.explain(n, step, x, y).assembly,
    es.explain(n, narrow, x, d).assembly,
    es.explain(n, value, x, reducer=es.Max).assembly,
    es.explain(n, step, x, y).source,
]))
"""


def explained(python, tmp_path, cpu):
    """Assembly of a multiply-add, of a conversion, of a maximum; LLVM IR of the first."""
    cache = str(tmp_path / "cache")
    return json.loads(python(ASSEMBLY, EXECSPACE_CPU=cpu, EXECSPACE_CACHE_DIR=cache))


RUNTIME = re.compile(r"__(extend|trunc)\w+2|__gnu_\w+_ieee")


@pytest.mark.parametrize(
    ("cpu", "register"),
    [("haswell,+avx2,+f16c,+fma", "ymm"), ("znver4,+avx2,+avx512f,+f16c,+fma", "zmm")],
)
def test_conversions_of_the_processor_are_vectorised(python, tmp_path, cpu, register):
    step, narrow, greatest, _ = explained(python, tmp_path, cpu)
    for text in (step, narrow, greatest):
        assert not RUNTIME.search(text)
    assert re.search(rf"vcvtph2ps\s.*%{register}\d+$", step, re.MULTILINE)
    for instruction in ("vmulps", "vaddps"):
        assert re.search(rf"{instruction}\s.*%{register}", step)
    assert not re.search(r"vfn?m(add|sub)\w+\s", step)  # a product is rounded before it is added
    assert re.search(r"vcvtpd2ps\s", narrow) and re.search(r"vcvtps2ph\s", narrow)
    assert re.search(rf"v(max|range)ps\s.*%{register}", greatest)


def test_arithmetic_of_the_processor_is_taken_but_not_contracted(python, tmp_path):
    step, *_ = explained(python, tmp_path, "sapphirerapids,+avx512fp16,+avx512vl,+f16c,+fma")
    assert re.search(r"vmulph\s", step) and re.search(r"vaddph\s", step)
    assert "vfmadd" not in step


def test_a_processor_without_conversions_needs_no_runtime_library(python, tmp_path):
    *texts, source = explained(python, tmp_path, "generic")
    for text in texts:
        assert not RUNTIME.search(text)
    assert "half.widened" in source and "half.rounded" in source
    assert not re.search(r"(fpext|fptrunc .* to|f(add|mul|cmp) \w*) ?half", source)


RUN = """
import pytest

kit = "execspace_testing.suite.language."
names = [kit + name for name in ("test_float16", "test_float16_numbers", "test_float16_places")]
names += ["-q", "-p", "no:cacheprovider", "-o", "execspace_levels="]
raise SystemExit(pytest.main(["--pyargs", *names, "--space", "serial"]))
"""


def test_the_kit_passes_on_a_processor_without_conversions(python, tmp_path):
    cache = str(tmp_path / "cache")
    told = python(RUN, EXECSPACE_CPU="generic", EXECSPACE_CACHE_DIR=cache, timeout=300)
    assert re.search(r"\d\d passed in", told), told
