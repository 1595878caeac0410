"""`execspace new-backend NAME`: writes a complete package with a new execution space.

The package comes from a copier template, the folder ``template`` beside this file.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from importlib import metadata
from pathlib import Path

HELP = "write a complete package with a new execution space, with tests and README"

TEMPLATE = Path(__file__).with_name("template")
KINDS = ("threads", "c")
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_INSTALL = "pip install copier"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.description = (
        "Write a package that adds an execution space to execspace: its code, tests that run the "
        "conformance kit, a CI file, a licence and a README. It works as it is; the comments in "
        "it say what to change."
    )
    parser.add_argument(
        "name",
        metavar="NAME",
        help="name of the space, as in EXECSPACE_DEFAULT=NAME: lower-case letters, digits and "
        "underscores",
    )
    parser.add_argument(
        "--kind",
        choices=KINDS,
        default="threads",
        help="threads: a thread pool of Python, kernels compiled by LLVM (default). "
        "c: OpenMP, kernels compiled by the system's C compiler",
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        help="folder to make; it must not exist, or be empty (default: the distribution's name)",
    )
    parser.add_argument(
        "--distribution", metavar="NAME", help="name of the distribution (default: execspace-NAME)"
    )
    parser.add_argument("--author", metavar="TEXT", help="who holds the copyright")
    parser.add_argument("--description", metavar="TEXT", help="one line on the space")
    parser.add_argument("--license", choices=("BSD-3-Clause", "MIT"), help="default: BSD-3-Clause")


def run(arguments: argparse.Namespace) -> int:
    """Write the package, and say what to do next. Returns the exit code."""
    name = arguments.name
    answers = {"name": name, "kind": arguments.kind}
    for question in ("distribution", "author", "description", "license"):
        if getattr(arguments, question) is not None:
            answers[question] = getattr(arguments, question)
    distribution = arguments.distribution or "execspace-" + name.replace("_", "-")
    folder = arguments.output or Path(distribution)
    try:
        _refuse_taken(name, distribution)
        files = new_backend(folder, **answers)
    except (ValueError, OSError, ImportError) as error:
        print(f"execspace new-backend: {error}", file=sys.stderr)
        return 1
    print(_made(folder, name, files))
    return 0


def _refuse_taken(name: str, distribution: str) -> None:
    """ValueError if an installed package has one of the names already."""
    import execspace

    if name in {row.name for row in execspace.spaces()}:
        raise ValueError(
            f"there is a space '{name}' already, and of two plugins with one name only the first "
            f"is loaded. Choose another name, or uninstall that one."
        )
    with contextlib.suppress(metadata.PackageNotFoundError):
        version = metadata.version(distribution)
        raise ValueError(
            f"a distribution {distribution} {version} is installed already, which the new package "
            f"would replace. Choose another name, or one for the package with --distribution."
        )


def new_backend(folder: Path, *, name: str, kind: str = "threads", **answers: str) -> list[Path]:
    """Write a package with a new execution space. Blocks until it is written.

    Parameters
    ----------
    folder : Path
        Folder of the package; it is made, and must not exist or be empty.
    name : str
        Name of the space: lower-case letters, digits and single underscores, a letter first.
    kind : str
        "threads" or "c".
    **answers : str
        Of the other questions of the template: `distribution`, `description`, `author`,
        `license`, `year`.

    Returns
    -------
    list of Path
        The files that were made, relative to `folder`.

    Raises
    ------
    ValueError
        If the name or an answer is not what the template expects.
    FileExistsError
        If there is something in the folder already, or it is a file.
    ImportError
        If copier is not installed.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} cannot be the name of a space; expected lower-case letters, digits and "
            f"single underscores, a letter first, such as {_proposed(name)!r}."
        )
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} is not known; expected {' or '.join(KINDS)}.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(
            f"{folder} exists already, and nothing is overwritten. Name another folder with "
            f"--output, or remove this one."
        )
    try:
        import copier
    except ImportError as error:
        raise ImportError(f"copier is needed to write a package ({error}): {_INSTALL}") from None
    data = {"name": name, "kind": kind, **answers}
    try:
        copier.run_copy(
            str(TEMPLATE.resolve()), folder, data=data, defaults=True, quiet=True, unsafe=False
        )
    except copier.errors.CopierError as error:
        raise ValueError(f"the template refused its answers: {error}") from error
    except ValueError as error:
        raise ValueError(f"the template refused its answers: {error}") from error
    return sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file())


def _proposed(name: str) -> str:
    """A name that is close to the one given and allowed."""
    words = "_".join(re.findall(r"[a-z0-9]+", name.lower()))
    return words.lstrip("0123456789_") or "zephyr"


def _made(folder: Path, name: str, files: list[Path]) -> str:
    listed = "\n".join(f"  {file.as_posix()}" for file in files)
    return f"""\
Made {folder} with the space '{name}':
{listed}

Next:
  cd {folder}
  pip install -e ".[test]"                     # the space is there: es.space("{name}")
  EXECSPACE_DEFAULT={name} python program.py
  pytest                                       # its tests and the conformance kit
  pytest --pyargs execspace_testing.suite --space {name} --level 3   # the kit, three levels
The comments in {folder / "src"} say what to change."""
