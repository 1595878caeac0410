"""The Trace Event Format, as far as execspace's traces use it, and a reader that is strict.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
`Checked` refuses whatever viewers would drop, bend or misplace.
"""

import gzip
import json
from collections import defaultdict

import jsonschema

COMMON = {
    "name": {"type": "string"},
    "cat": {"type": "string", "minLength": 1},
    "pid": {"type": "integer", "minimum": 1},
    "tid": {"type": "integer", "minimum": 1},
    "ts": {"type": "number", "minimum": 0},
    "args": {"type": "object"},
}
PHASES = {
    "X": ({"dur": {"type": "number", "exclusiveMinimum": 0}}, "name cat pid tid ts dur args"),
    "i": ({"s": {"const": "t"}}, "name cat pid tid ts s args"),
    "s": ({"id": {"type": "integer"}}, "name cat pid tid ts id"),
    "f": ({"id": {"type": "integer"}, "bp": {"const": "e"}}, "name cat pid tid ts id bp"),
    "C": (
        {"args": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}},
        "name cat pid ts args",
    ),
    "M": (
        {
            "tid": {"type": "integer", "minimum": 0},
            "name": {"pattern": "^(process|thread)_(name|sort_index)$"},
        },
        "name pid tid args",
    ),
}
EVENTS = {
    phase: jsonschema.Draft202012Validator(
        {
            "type": "object",
            "required": ["ph", *required.split()],
            "additionalProperties": False,
            "properties": COMMON | {"ph": {"const": phase}} | own,
        }
    )
    for phase, (own, required) in PHASES.items()
}


def nanoseconds(microseconds):
    """As exact as the file is."""
    found = round(microseconds * 1000)
    assert abs(found / 1000 - microseconds) < 1e-9 * max(1, microseconds)
    return found


class Checked:
    """A trace that is right; `tracks` has slices by name of the track, each (name, start, end)."""

    def __init__(self, path):
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt") as file:
            text = json.load(file)
        assert text.keys() == {"traceEvents", "displayTimeUnit", "otherData"}
        self.events, self.other = text["traceEvents"], text["otherData"]
        for event in self.events:
            EVENTS[event["ph"]].validate(event)
        self.names = self._names()
        self.slices = defaultdict(list)  # the events themselves
        for event in self.events:
            if event["ph"] in "Xisf":
                assert (event["pid"], event["tid"]) in self.names
            if event["ph"] == "X":
                self.slices[self.names[event["pid"], event["tid"]]].append(event)
        self.tracks = {
            track: [(e["name"], *self.span(e)) for e in events]
            for track, events in self.slices.items()
        }
        for spans in self.tracks.values():
            self._nested(spans)
        self._arrows()

    @staticmethod
    def span(event):
        start = nanoseconds(event["ts"])
        return start, start + nanoseconds(event["dur"])

    def _names(self):
        found = {}
        for event in self.events:
            if event["name"] in ("process_name", "thread_name"):
                key = event["pid"], event["tid"]
                assert key not in found
                found[key] = event["args"]["name"]
        for pid, tid in found:
            assert (pid, 0) in found
            assert tid == 0 or sum(t == tid for _, t in found) == 1
        return found

    @staticmethod
    def _nested(spans):
        """In the order of the file, too: viewers sort by the beginning alone."""
        around = []
        for before, (_, start, end) in zip([None, *spans], spans, strict=False):
            assert before is None or before[1] <= start
            while around and around[-1] <= start:
                around.pop()
            assert not around or end <= around[-1]
            around.append(end)

    def _arrows(self):
        """Each goes from a launch on the host to a slice of a space, which it may not precede."""
        ends = {phase: {e["id"]: e for e in self.events if e["ph"] == phase} for phase in "sf"}
        assert ends["s"].keys() == ends["f"].keys()
        assert sum(e["ph"] in "sf" for e in self.events) == 2 * len(ends["s"])
        for number, first in ends["s"].items():
            last = ends["f"][number]
            assert first["ts"] <= last["ts"]
            for event in (first, last):
                track = self.names[event["pid"], event["tid"]]
                ids = [e["args"]["id"] for e in self.slices[track] if e["ts"] == event["ts"]]
                assert number in ids
        self.arrows = len(ends["s"])

    def labels(self, track):
        return [name for name, _, _ in self.tracks[track]]

    def processes(self):
        return [name for (_, tid), name in self.names.items() if tid == 0]
