"""The demo: it runs, it is right, and it refuses bad input in one sentence."""

import importlib.util
import io
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from rich.console import Console

import execspace as es

SCRIPT = Path(__file__).parents[2] / "examples" / "hillslope.py"
SPACES = [row.name for row in es.spaces() if row.usable and row.priority >= 0]


def load_script():
    spec = importlib.util.spec_from_file_location("hillslope_example", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


hillslope = load_script()


def run_script(folder, *args, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("EXECSPACE_DEFAULT")}
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, args)],
        cwd=folder, env=environment | variables, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def table_rows(output):
    """Cells of the table of spaces, by name of the space."""
    rows = [re.split(r"\s*[│|]\s*", line)[1:-1] for line in output.splitlines() if "│" in line]
    return {row[0]: row[1:] for row in rows}


def hill(rows=24, columns=31):
    y, x = np.mgrid[0:rows, 0:columns]
    return 100 + 50 * np.exp(-((x - 12.0) ** 2 + (y - 9.0) ** 2) / 20)


def model(z, dx=20.0, dy=30.0, boundary="zero-flux", fraction=0.4):
    terrain = hillslope.Terrain(z, dx, dy)
    dt = fraction * hillslope.stable_step(terrain, 0.02)
    return hillslope.Model(terrain, 0.02, dt, boundary)


# -- the program ------------------------------------------------------------------------------


def test_default_model_with_few_steps(tmp_path):
    done = run_script(tmp_path, "--steps", 20, "--every", 10)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [int(n) for n in re.findall(r"^step +(\d+): volume", done.stdout, re.M)] == [0, 10, 20]
    rows = table_rows(done.stdout)
    assert {"serial", "openmp"} <= rows.keys()
    assert "oracle" not in rows
    for name in ("serial", "openmp"):
        milliseconds, rate, difference, _ = rows[name]
        assert float(milliseconds) > 0
        assert float(rate) > 0
        assert float(difference) < 1e-9
    picture = tmp_path / "hillslope.png"
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert 100_000 < picture.stat().st_size < 10_000_000
    height, width = imread(picture).shape[:2]
    assert width >= 1200
    assert height >= 600


def test_environment_chooses_the_space(tmp_path):
    name = "serial"  # never the default where openmp is usable
    np.save(tmp_path / "hill.npy", hill())
    done = run_script(
        tmp_path, "hill.npy", "--dx", 25, "--output", "out.png", "--compare-steps", 40,
        EXECSPACE_DEFAULT=name,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"on space '{name}'" in done.stdout
    assert "40 steps on each space" in done.stdout
    rows = table_rows(done.stdout)
    assert [space for space, row in rows.items() if row[-1] == "made the picture"] == [name]
    usable = [row for space, row in rows.items() if space in SPACES]
    assert len(usable) == len(SPACES)
    assert all(float(row[2]) < 1e-9 for row in usable)
    assert imread(tmp_path / "out.png").shape[1] >= 1200


def test_space_that_is_not_there(tmp_path):
    done = run_script(tmp_path, EXECSPACE_DEFAULT="abacus")
    assert done.returncode == 2
    assert "abacus" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_table_names_spaces_that_did_not_run():
    outcomes = [
        hillslope.Outcome("openmp", np.zeros((4, 4)), 1e-6),
        hillslope.Outcome("cuda", note="not usable: " + "no driver was found; " * 12),
        hillslope.Outcome("serial", note="not usable: llvmlite is not installed"),
    ]
    console = Console(width=80, file=io.StringIO())
    console.print(hillslope.comparison(outcomes, 5))
    text = console.file.getvalue()
    assert text.count("driver") == 12
    assert table_rows(text)["openmp"][2:] == ["-", "made the picture"]
    assert "Space 'serial' has no" in text


# -- the model --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPACES)
def test_cosine_decays_as_the_scheme_says(name):
    rows, columns, k, m, steps = 20, 33, 3, 2, 25
    y, x = np.mgrid[0:rows, 0:columns] + 0.5
    mode = np.cos(math.pi * k * x / columns) * np.cos(math.pi * m * y / rows)
    run = model(mode)
    final, seconds = hillslope.evolve(run, steps, es.space(name))
    factor = 1.0
    for n, extent, h in ((k, columns, run.terrain.dx), (m, rows, run.terrain.dy)):
        ripple = math.sin(math.pi * n / (2 * extent)) ** 2
        factor -= 4 * run.diffusivity * run.dt / h**2 * ripple
    np.testing.assert_allclose(final, factor**steps * mode, rtol=0, atol=1e-13)
    assert 0.1 < factor**steps < 0.9
    assert seconds > 0


@pytest.mark.parametrize("name", SPACES)
def test_zero_flux_conserves_volume_and_flattens(name):
    reports = []
    z = hill()
    run = model(z)
    hillslope.evolve(run, 25, es.space(name), 10, lambda *numbers: reports.append(numbers))
    steps, volumes, slopes = zip(*reports, strict=True)
    assert steps == (0, 10, 20, 25)
    assert volumes[0] == pytest.approx(z.sum() * 20 * 30, rel=1e-14)
    assert volumes[-1] == pytest.approx(volumes[0], rel=1e-13)
    east, south = (z[1:-1, 2:] - z[1:-1, :-2]) / 40, (z[2:, 1:-1] - z[:-2, 1:-1]) / 60
    steepest = np.hypot(east, south).max()
    assert slopes[0] == pytest.approx(math.degrees(math.atan(steepest)), rel=1e-12)
    assert list(slopes) == sorted(slopes, reverse=True)


@pytest.mark.parametrize("name", SPACES)
def test_fixed_boundary_holds_the_edge(name):
    z = hill()
    final, _ = hillslope.evolve(model(z, boundary="fixed"), 7, es.space(name))
    for edge in (np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1]):
        np.testing.assert_array_equal(final[edge], z[edge])
    assert np.abs(final - z).max() > 1


def test_largest_stable_step_is_the_edge_of_stability():
    checkerboard = np.indices((12, 14)).sum(axis=0) % 2 - 0.5
    for fraction, grows in ((0.99, False), (1.05, True)):
        run = model(checkerboard, fraction=fraction)
        final, _ = hillslope.evolve(run, 200, es.space("serial"))
        assert (np.abs(final).max() > 0.5) == grows


def test_flat_terrain_is_drawn(tmp_path):
    run = model(np.full((5, 40), 12.0))
    hillslope.draw(run, run.terrain.elevation, 10.0, tmp_path / "flat.png")
    assert imread(tmp_path / "flat.png").shape[1] >= 1200


# -- reading ----------------------------------------------------------------------------------


def test_sample_is_in_metres():
    sample = hillslope.get_sample_data(hillslope.SAMPLE, asfileobj=False)
    terrain = hillslope.read_terrain(Path(sample))
    assert terrain.elevation.shape == (344, 403)
    assert terrain.elevation.dtype == np.float64
    assert terrain.dy == pytest.approx(92.66, abs=0.01)
    assert terrain.dx == pytest.approx(92.66 * math.cos(math.radians(36.59)), abs=0.01)
    assert not terrain.assumed


def test_npz_spacing(tmp_path):
    z = hill().astype(np.float32)
    np.savez(tmp_path / "a.npz", height=z, profile=z[0], dx=5, dy=7.5)
    terrain = hillslope.read_terrain(tmp_path / "a.npz")
    assert (terrain.dx, terrain.dy, terrain.assumed) == (5, 7.5, False)
    np.testing.assert_array_equal(terrain.elevation, z)
    terrain = hillslope.read_terrain(tmp_path / "a.npz", dx=3.0)
    assert (terrain.dx, terrain.dy) == (3, 3)
    np.savez(tmp_path / "b.npz", elevation=z, slope=z)
    terrain = hillslope.read_terrain(tmp_path / "b.npz")
    assert (terrain.dx, terrain.dy, terrain.assumed) == (30, 30, True)


def asc(path, rows="1 2 3\n4 5 6\n7 8 9.5\n", cellsize="cellsize 12.5\n"):
    head = "ncols 3\nnrows 3\nxllcorner 10\nyllcorner 60\n" + cellsize + "NODATA_value -9999\n"
    path.write_text(head + rows)
    return path


def test_asc(tmp_path):
    terrain = hillslope.read_terrain(asc(tmp_path / "a.asc"))
    np.testing.assert_array_equal(terrain.elevation, [[1, 2, 3], [4, 5, 6], [7, 8, 9.5]])
    assert (terrain.dx, terrain.dy) == (12.5, 12.5)
    degrees = hillslope.read_terrain(asc(tmp_path / "b.asc", cellsize="CELLSIZE 0.001\n"))
    assert degrees.dy == pytest.approx(111.19, abs=0.01)
    assert degrees.dx == pytest.approx(degrees.dy / 2, rel=1e-3)


def save(array):
    return lambda path: np.save(path, array)


def savez(**arrays):
    return lambda path: np.savez(path, **arrays)


HOLES = hill()
HOLES[2, 3:5] = math.nan
BAD = {
    "missing.npy": (lambda path: None, "does not exist"),
    "folder.npy": (Path.mkdir, "directory"),
    "picture.tif": (Path.touch, "expected .npz, .npy or .asc"),
    "empty.npy": (Path.touch, "not a readable .npy"),
    "text.npz": (lambda path: path.write_text("hello"), "not a readable .npz"),
    "cube.npy": (save(np.zeros((4, 4, 4))), "3-D array of shape (4, 4, 4); expected 2-D"),
    "line.npz": (savez(elevation=np.zeros(9)), "1-D array of shape (9,); expected 2-D"),
    "several.npz": (savez(a=hill(), b=hill()), "found a (2-D), b (2-D)"),
    "small.npy": (save(np.zeros((2, 9))), "2 x 9 cells; expected 3 x 3 or more"),
    "holes.npy": (save(HOLES), "no elevation in 2 of its 744 cells"),
    "words.npy": (save(np.full((4, 4), "high")), "expected real numbers"),
    "objects.npy": (save(np.full((4, 4), None)), "not a readable .npy"),
    "complex.npy": (save(hill() * 1j), "holds complex128 elements"),
    "spacing.npz": (savez(elevation=hill(), dx=-1.0), "spacing of -1.0 by -1.0"),
    "nodata.asc": (lambda p: asc(p, "1 2 3 4 -9999 6 7 8 9"), "in 1 of its 9 cells"),
    "short.asc": (lambda p: asc(p, "1 2 3 4"), "expected 3 x 3 elevations, found 4"),
    "words.asc": (lambda p: asc(p, "1 2 3 4 five 6 7 8 9"), "'five'"),
    "bare.asc": (lambda path: path.write_text("1 2 3"), "header with ncols, nrows and cellsize"),
    "binary.asc": (lambda path: path.write_bytes(b"\xff\xfe\x00"), "not a readable .asc"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_file_is_refused_in_one_sentence(tmp_path, capsys, name):
    write, expected = BAD[name]
    write(tmp_path / name)
    output = tmp_path / "out.png"
    assert hillslope.main([str(tmp_path / name), "--output", str(output)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("hillslope.py: error: ")
    assert printed.err.count("\n") == 1
    assert printed.err.endswith(".\n")
    assert name in printed.err
    assert expected in printed.err
    assert not output.exists()


# -- options ----------------------------------------------------------------------------------


def test_unstable_step_is_refused_with_the_limit(tmp_path, capsys):
    np.save(tmp_path / "hill.npy", hill())
    common = [str(tmp_path / "hill.npy"), "--dx", "10", "--diffusivity", "0.5"]
    assert hillslope.main([*common, "--dt", "50.1"]) == 2
    assert "largest stable step is 50 years" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "steps", "dt"),
    [([], 500, 10.0), (["--steps", "7", "--dt", "3"], 7, 3.0), (["--years", "95"], 10, 9.5)],
)
def test_steps_and_years(options, steps, dt):
    args = hillslope.parse_arguments(options)
    limit = 10.0 / hillslope.SAFETY
    assert hillslope.choose_steps(args, limit) == (steps, pytest.approx(dt))


@pytest.mark.parametrize(
    "options",
    [["--steps", "0"], ["--dx", "-3"], ["--diffusivity", "nan"], ["--steps", "1", "--years", "2"]],
)
def test_senseless_options_are_refused(capsys, options):
    with pytest.raises(SystemExit) as caught:
        hillslope.parse_arguments(options)
    assert caught.value.code == 2
    assert options[0] in capsys.readouterr().err


def test_output_folder_must_exist(tmp_path, capsys):
    assert hillslope.main(["--output", str(tmp_path / "none" / "a.png")]) == 2
    assert "its folder does not exist" in capsys.readouterr().err


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit) as caught:
        hillslope.parse_arguments(["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    for option in ("FILE", "--steps", "--years", "--diffusivity", "--space", "EXECSPACE_DEFAULT"):
        assert option in text
