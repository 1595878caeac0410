"""Makes the template's variant `c` from examples/backend_c, which is written and tested by hand.

    python templates/from_example.py

Run it after a change of the example; a test compares what the template gives with the example.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "backend_c"
TEMPLATE = ROOT / "templates" / "backend"
VARIANT = TEMPLATE / "c"

# Files that both variants have; they are edited in `threads`.
SHARED = [
    ".github/workflows/ci.yml.jinja",
    ".gitignore",
    "LICENSE.jinja",
    "README.md.jinja",
    "src/{{ package }}/py.typed",
]

# Answers that give the example itself.
ANSWERS = {
    "name": "c",
    "kind": "c",
    "distribution": "execspace-backend-c",
    "description": tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"][
        "description"
    ],
}

# The short name is one letter, so it is looked for where only a space can be meant.
_NAMES = [
    (r'(?m)^description = ".*"$', "description = {{ description | to_json(ensure_ascii=false) }}"),
    (r'(?m)^license = ".*"$', 'license = "{{ license }}"'),
    (r"execspace-backend-c\b", "{{ distribution }}"),
    (r"execspace_backend_c\b", "{{ package }}"),
    (r'"backend_c"', "\"{{ package | replace('execspace_', '') }}\""),
    (r"\bCExecutionSpace\b", "{{ class_name }}"),
    (r"(?i)(\bspaces? ['`])c(?=['`])", r"\1{{ name }}"),
    (r"`c`", "`{{ name }}`"),
    (r'(\bspace\(|\bspace=|--space", )"c"', r'\1"{{ name }}"'),
    (r'\.name == "c"', '.name == "{{ name }}"'),
    (r"'c:", "'{{ name }}:"),
    (r'(?m)^(    name = )"c"$', r'\1"{{ name }}"'),  # of the space
    (r'(?m)^(        )"c",$', r'\1"{{ name }}",'),  # of its entry
    (r'(?m)^c = "', '{{ name }} = "'),  # of its entry point
    (r"EXECSPACE_DEFAULT=c\b", "EXECSPACE_DEFAULT={{ name }}"),
]


def files() -> list[Path]:
    """What the template takes from the example, relative to its folder."""
    found = [*EXAMPLE.glob("src/*/*"), *EXAMPLE.glob("tests/*.py"), EXAMPLE / "pyproject.toml"]
    return sorted(p.relative_to(EXAMPLE) for p in found if p.suffix in (".py", ".toml"))


def as_template(text: str) -> str:
    """A text of the example with placeholders for its names."""
    text = re.sub(r"\{[{%#]", lambda m: f"{{{{ '{m[0]}' }}}}", text)
    for pattern, placeholder in _NAMES:
        text = re.sub(pattern, placeholder, text)
    return text


def place(file: Path) -> Path:
    """Where the template has a file of the example."""
    folder = Path(*("{{ package }}" if p == "execspace_backend_c" else p for p in file.parts[:-1]))
    return VARIANT / folder / f"{file.name}.jinja"


def main() -> None:
    """Write the files of the variant, and remove those that the example has no longer."""
    wanted = {place(f): as_template((EXAMPLE / f).read_text(encoding="utf-8")) for f in files()}
    for name in SHARED:
        wanted[VARIANT / name] = (TEMPLATE / "threads" / name).read_text(encoding="utf-8")
    for old in VARIANT.rglob("*"):
        if old.is_file() and old not in wanted:
            old.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
