"""Run all pairs on the default space of this process; what became of them goes to a file as JSON.

python tests/portable/run_twins.py OUTCOMES.json [--not-races]
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

import arrays
import fences
import host_access
import places
from twins import PAIRS

import execspace as es

assert all((arrays, fences, host_access, places))


def outcome(program: Any) -> dict[str, str]:
    """What a program returned or raised."""
    try:
        found = program()
        return {"answer": repr(tuple(found) if isinstance(found, list) else found)}
    except Exception as error:
        return {"raised": type(error).__name__, "says": str(error)}


def main(path: str, *options: str) -> None:
    found: dict[str, Any] = {"pairs": {}}
    for name, pair in PAIRS.items():
        forms = {"portable": outcome(pair().portable)}
        if not (pair.races and "--not-races" in options):
            es.fence()
            forms["unportable"] = outcome(pair().unportable)
        es.fence()
        found["pairs"][name] = forms
    gc.collect()
    found["left"] = es.live_allocations()
    Path(path).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
