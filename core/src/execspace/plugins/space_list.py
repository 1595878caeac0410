"""What `es.spaces()` gives: a list of its rows that is shown as a table."""

from __future__ import annotations

from ..base.dataclass import dataclass

__all__ = [
    "SpaceInfo",
]


@dataclass(frozen=True, slots=True)
class SpaceInfo:
    """One row of `es.spaces()`: a space, where it comes from, and whether it can be used."""

    name: str
    usable: bool
    reason: str
    priority: int
    summary: str


class SpaceList(list[SpaceInfo]):
    """Rows of `es.spaces()`: a list, which consoles and notebooks show as a table."""

    def _cells(self) -> list[list[str]]:
        return [
            [s.name, "yes" if s.usable else "no", str(s.priority), s.summary, s.reason]
            for s in self
        ]

    def __repr__(self) -> str:
        if not self:
            return "no execution spaces: no plugin is installed that has one"
        from ..base.console import aligned

        return "\n".join(aligned(_HEADS, self._cells()))

    def _repr_html_(self) -> str:
        from ..base import html

        if not self:
            return html.page(html.paragraph(repr(self)))
        return html.page(
            html.table(
                _HEADS, self._cells(), title="Execution spaces", right=(2,), wrap=(3, 4),
                row_names=True,
            )
        )  # fmt: skip


_HEADS = ("space", "usable", "priority", "summary", "reason")
