"""A folder of programs that tests run in processes of their own."""

import os
import subprocess
import sys
import textwrap


class Folder:
    """``folder.write(name, program)`` puts a program there; `settings` are variables."""

    def __init__(self, path, **settings):
        self.path = path
        self.settings = {"PYTHONIOENCODING": "utf-8", **settings}

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return name

    def python(self, *arguments, **settings):
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.path,
            env={**os.environ, **self.settings, **settings},
            capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
        )  # fmt: skip
