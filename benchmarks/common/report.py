"""What a benchmark of several spaces leaves: a file with all results, and what went wrong.

Results are by space, case and contestant, as `turns.take_turns` gives them.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import execspace as es
from benchmarks.common.machine import describe, device_of

Results = dict[str, dict[str, dict[str, dict[str, Any]]]]


def report(results: Results, path: Path | None, **about: Any) -> int:
    """Write a file if there is a path, print what failed of execspace; 1 if something did.

    `about` is written beside the results.
    """
    if path is not None:
        record = {
            "format": 1,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": describe(", ".join(results), 0, None),
            "devices": {name: device_of(es.space(name)) for name in results},
            **about,
            "results": results,
        }
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    wrong = [
        f"{name}, {case}, {who}: {found['error']}"
        for name, by_case in results.items()
        for case, outcome in by_case.items()
        for who, found in outcome.items()
        if "error" in found and not found["peer"]
    ]
    for line in wrong:
        print(line)
    return int(bool(wrong))
