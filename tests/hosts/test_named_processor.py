"""EXECSPACE_CPU: what LLVM would end the process at is refused with a message."""

import platform

import pytest

from execspace.base.errors import ConfigError
from execspace_compiler.host.named_processor import split, try_out


def test_names_and_features():
    assert split("haswell") == ("haswell", "")
    assert split(" generic , +cx16,-avx,") == ("generic", "+cx16,-avx")


@pytest.mark.parametrize(
    ("chosen", "fault"),
    [
        ("generic,avx2", "'avx2' among its features"),
        ("generic,+", r"'\+' among its features"),
        (",+avx2", "no name of a processor"),
        (" ", "no name of a processor"),
    ],
)
def test_what_is_no_processor_with_features(chosen, fault):
    with pytest.raises(ConfigError, match=fault):
        split(chosen)


@pytest.mark.parametrize(
    ("name", "features", "said"),
    [
        ("native", "", "'native' is not a recognized processor"),
        ("generic", "+none_such", r"'\+none_such' is not a recognized feature"),
    ],
)
def test_what_llvm_does_not_know(name, features, said):
    with pytest.raises(ConfigError, match=rf"EXECSPACE_CPU='{name}.*cannot compile for it: {said}"):
        try_out(name, features)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names of other processors")
@pytest.mark.parametrize(
    ("name", "features", "found"),
    [
        ("x86-64", "", set()),
        ("haswell", "", {"fma", "avx2"}),
        ("haswell", "-fma", {"avx2"}),
        ("znver4", "", {"fma", "avx2", "avx512f", "avx512vl", "avx512bw"}),
        ("znver4", "-avx512bw", {"fma", "avx2", "avx512f", "avx512vl"}),
    ],
)
def test_what_a_name_stands_for(name, features, found):
    assert try_out(name, features) == found


def test_lanes_are_those_of_the_processor_that_is_named(python):
    printed = python(
        """
        import numpy as np
        import execspace as es

        def orbit(i, x):
            a, b, n = x[i], 0.0, 0
            while a * a + b * b < 4.0 and n < 100:
                a, b = a * a - b * b + x[i], 2.0 * a * b
                n += 1
            x[i] = n

        told = es.explain(es.RangePolicy(100, space="serial"), orbit, np.ones(100)).vectorisation
        print(told[0].partition(" ")[0])
        """,
        EXECSPACE_CPU="haswell" if platform.machine() == "x86_64" else "generic",
    )
    assert int(printed) >= (4 if platform.machine() == "x86_64" else 2)


def test_a_launch_tells(python):
    printed = python(
        """
        import execspace as es

        for _ in range(2):
            try:
                es.parallel_reduce(es.RangePolicy(3, space="serial"), lambda i: i * 91)
            except es.ConfigError as error:
                print(str(error)[:30])
        """,
        EXECSPACE_CPU="nonsense",
    )
    assert printed == "EXECSPACE_CPU='nonsense': LLVM\n" * 2
