"""Building blocks of what notebooks show: tables, lines and folded text, as HTML.

All that is given as text is escaped. There are no scripts and nothing is fetched; colours are
translucent or inherited, so that they suit dark and light pages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

Cell = str | tuple[str, str]  # text, and its style

# Notebooks have styles of their own for tables, which are stronger than a class alone.
_STYLE = """
div.execspace{margin:.4em 0;line-height:1.4}
div.execspace table.execspace{border-collapse:collapse;border:0;margin:.3em 0 .7em;
font-size:inherit;table-layout:auto;color:inherit}
div.execspace table.execspace tr{background:none;border:0}
div.execspace table.execspace th,div.execspace table.execspace td{padding:.15em .6em;border:0;
text-align:left;vertical-align:top;background:none;white-space:pre;max-width:none;
font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:.92em}
div.execspace table.execspace th{font-weight:600;opacity:.75}
div.execspace table.execspace thead tr{border-bottom:1px solid rgba(128,128,128,.55)}
div.execspace table.execspace tr.total{border-top:1px solid rgba(128,128,128,.55)}
div.execspace table.execspace .right{text-align:right}
div.execspace table.execspace .wrap{white-space:pre-wrap;max-width:60em;overflow-wrap:anywhere}
div.execspace p{margin:.3em 0}
div.execspace p.head{font-weight:600}
div.execspace .faint{opacity:.7;font-weight:400}
div.execspace pre{margin:.3em 0 .7em;padding:.5em .7em;background:rgba(128,128,128,.12);
color:inherit;font-size:.92em;overflow-x:auto}
div.execspace summary{cursor:pointer}
""".strip().replace("\n", "")


def page(*parts: str) -> str:
    """HTML of an object: parts that are HTML, in one block with its styles."""
    return f'<div class="execspace"><style>{_STYLE}</style>{"".join(parts)}</div>'


def text(line: object) -> str:
    """Text as HTML."""
    return escape(str(line))


def paragraph(line: object, kind: str = "") -> str:
    """A line of text; kinds are "head" and "faint"."""
    return f"<p{_class(kind)}>{text(line)}</p>"


def headline(title: object, note: object = "") -> str:
    """A title, and faint text behind it."""
    faint = f' <span class="faint">{text(note)}</span>' if note else ""
    return f'<p class="head">{text(title)}{faint}</p>'


def preformatted(lines: str) -> str:
    """Text whose lines and blanks stay."""
    return f"<pre>{text(lines)}</pre>"


def folded(title: str, lines: str) -> str:
    """Text that is shown when its title is clicked."""
    return f"<details><summary>{text(title)}</summary>{preformatted(lines)}</details>"


def tinted(cell: object, share: float | None) -> Cell:
    """A cell with a tint, from 0, hardly any, to 1; None: without."""
    style = "" if share is None else f"background:rgba(66,133,244,{0.04 + 0.42 * share:.2f})"
    return str(cell), style


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    title: str = "",
    note: str = "",
    right: Collection[int] = (),
    wrap: Collection[int] = (),
    row_names: bool = False,
    total: Sequence[Cell] | None = None,
) -> str:
    """Rows below their headers.

    Parameters
    ----------
    headers : sequence
        Empty: no line of headers.
    rows : sequences
        Of texts, or of what `tinted` gives.
    title, note : str
        Above the table; the note is faint, behind the title.
    right, wrap : collections of int
        Columns that are aligned right, as numbers are, and those whose text may be broken.
    row_names : bool
        The first column has names of rows.
    total : sequence, optional
        One more row, below a line.
    """
    kinds: dict[int, str] = {}
    for c in right:
        kinds[c] = "right"
    for c in wrap:
        kinds[c] = f"{kinds.get(c, '')} wrap".strip()

    def line(cells: Sequence[Cell], tag: str, kind: str = "") -> str:
        made = []
        for c, cell in enumerate(cells):
            shown, style = cell if isinstance(cell, tuple) else (cell, "")
            name = "th" if row_names and c == 0 else tag
            look = f' style="{text(style)}"' if style else ""
            made.append(f"<{name}{_class(kinds.get(c, ''))}{look}>{text(shown)}</{name}>")
        return f"<tr{_class(kind)}>{''.join(made)}</tr>"

    parts = [headline(title, note) if title or note else "", '<table class="execspace">']
    if headers:
        parts.append(f"<thead>{line(headers, 'th')}</thead>")
    parts.append("<tbody>")
    parts += [line(row, "td") for row in rows]
    if total is not None:
        parts.append(line(total, "td", "total"))
    return "".join([*parts, "</tbody></table>"])


def _class(names: str) -> str:
    return f' class="{names}"' if names else ""
