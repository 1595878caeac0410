"""What one process has tuned another one uses; where nothing is tuned, nothing is loaded."""

PROGRAM = """
    import sys
    import numpy as np
    import execspace as es

    @es.kernel
    def visit(i, j, x):
        x[i, j] += 1.0

    x = es.View((4, 5), label="x", space="oracle")
    policy = es.MDRangePolicy((4, 5), space="oracle")
    es.parallel_for(policy, visit, x)
    assert (np.asarray(x) == 1).all()
    lines = es.explain(policy, visit, x).mapping
    print("execspace.tuning.search" in sys.modules, any("tuned for 4x8" in t for t in lines))
"""


def test_another_process_finds_what_was_tuned(python, tmp_path):
    here = {"EXECSPACE_TUNING_DIR": str(tmp_path / "tuning")}
    assert python(PROGRAM, **here).split() == ["False", "False"]
    assert python(PROGRAM, **here, EXECSPACE_TUNE="1").split()[0] == "True"
    assert python(PROGRAM, **here).split() == ["True", "True"]
