"""EXECSPACE_CPU: what LLVM would end the process at is refused with a message."""

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


def test_what_llvm_knows():
    try_out("generic", "")


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
