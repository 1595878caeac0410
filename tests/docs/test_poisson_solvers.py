"""The example of solvers: it runs, its matrix is right, and bad input is refused in a sentence."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import execspace as es

SCRIPT = Path(__file__).parents[2] / "examples" / "poisson_solvers.py"


def load_script():
    spec = importlib.util.spec_from_file_location("poisson_solvers_example", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


poisson_solvers = load_script()


def test_it_writes_a_table_and_a_picture(tmp_path, capsys):
    picture = tmp_path / "p.png"
    arguments = ["--extent", "6", "--space", "serial", "--output", str(picture)]
    assert poisson_solvers.main(arguments) == 0
    told = capsys.readouterr().out
    assert told.count("converged") == 11 and "gmres, polynomial" in told
    assert imread(picture).shape[0] > 500


def test_the_matrix():
    with es.use_space("serial"):
        A = poisson_solvers.poisson(4, 1.0, es.space("serial")).to_numpy()
    assert np.array_equal(A, A.T) and (np.diag(A) == 6).all()
    assert np.count_nonzero(A[21]) == 7 and A.sum() == 6 * 16


def test_what_does_not_converge_is_told(tmp_path, capsys):
    arguments = ["--extent", "6", "--most", "2", "--solver", "cg", "--space", "serial"]
    assert poisson_solvers.main([*arguments, "--output", str(tmp_path / "p.png")]) == 1
    assert "max_iterations" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--extent", "0"], "--extent: expected a number above 0"),
        (["--output", "nowhere/p.png"], "its folder does not exist"),
    ],
)
def test_what_is_refused(arguments, message, capsys):
    with pytest.raises(SystemExit):
        poisson_solvers.main(arguments)
    assert message in capsys.readouterr().err


def test_an_unknown_space(capsys):
    assert poisson_solvers.main(["--space", "nowhere"]) == 2
    assert capsys.readouterr().err.startswith("poisson_solvers.py: error: ")
