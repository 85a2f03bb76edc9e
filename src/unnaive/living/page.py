"""Drift as one HTML file that needs nothing else."""

from __future__ import annotations

import math
from html import escape

from unnaive.common.wording import counted, printable
from unnaive.living.facts import ColumnDrift, Drift

# Nothing but the page's own style: no script, no network.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  color: #1b1f24; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #e3e6ea }
td:nth-child(4), td:nth-child(10) { white-space: nowrap }
th:first-child, td:first-child, .text { text-align: left }
tr.drifted td:first-child { font-weight: 600; box-shadow: inset 3px 0 #b3431a }
.columns { display: grid; gap: 1.5rem;
  grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)) }
.bars { display: grid; grid-template-columns: 10rem 1fr 4rem; gap: 1px .5rem; font-size: .8rem }
.bars span { overflow-wrap: anywhere }
.bar { height: .45rem; background: #9aa5b1 } .after { background: #b3431a }
.number { text-align: right }
@media (prefers-color-scheme: dark) { body { color: #e6e8eb; background: #15181c }
  th, td { border-color: #333941 } }
"""
SHOWN = 12  # values of a column


def drift_page(drift: Drift, title: str = "") -> str:
    """A page: the verdict, base rates, a table of all columns, and the values of each.

    Parameters
    ----------
    drift : Drift
    title : str, default=""
        What was compared, such as the name of a model.

    Returns
    -------
    str
        HTML. It holds no script and asks for nothing on the network.
    """
    head = _text(f"Drift: {title}" if title else "Drift")
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{head}</title><style>{STYLE}</style></head><body>",
        f"<h1>{head}</h1>",
        *(f"<p>{_text(line)}</p>" for line in _verdict(drift)),
        "<h2>Base rates</h2>",
        _table(
            ["class", "before", "after", "predicted"],
            [
                [str(label), *map(_share, numbers)]
                for label, *numbers in zip(
                    drift.classes.classes,
                    drift.classes.before,
                    drift.classes.after,
                    drift.classes.predicted,
                    strict=True,
                )
            ],
        ),
        "<h2>Columns</h2>",
        _column_table(drift),
        '<h2>Values: share before (grey) and after</h2><div class="columns">',
        *(_values(column) for column in drift.columns),
        "</div></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _verdict(drift: Drift) -> list[str]:
    lines = [drift._title()[0].upper() + drift._title()[1:] + "."]
    lines.append(
        f"An alarm is false in at most {100 * drift.level:g} % of comparisons in which nothing has "
        "changed: p-values are corrected for all tests together."
    )
    if not math.isnan(drift.expected_log_loss):
        line = f"The model expects a log loss of {drift.expected_log_loss:.4f} on the new rows"
        known = not math.isnan(drift.log_loss)
        lines.append(f"{line}; it is {drift.log_loss:.4f}." if known else f"{line}.")
    return lines


def _column_table(drift: Drift) -> str:
    heads = "column,stability index,Jensen-Shannon distance,p,missing before,missing after,new"
    heads += ",vanished,evidence loss,p of evidence,turned"
    rows = [
        [
            c.column,
            _number(c.index),
            _number(c.distance),
            _number(c.p_value),
            _share(c.missing_before),
            _share(c.missing_after),
            _some(c.new),
            _some(c.vanished),
            _number(c.evidence_loss),
            _number(c.evidence_p_value),
            c.turned,
        ]
        for c in drift.columns
    ]
    return _table(heads.split(","), rows, [c.drifted for c in drift.columns])


def _some(values: tuple[object, ...]) -> str:
    shown = ", ".join(map(str, values[:3]))
    return shown + (f" and {len(values) - 3} more" if len(values) > 3 else "")


def _values(column: ColumnDrift) -> str:
    values = column.values
    sides = zip(values.values, values.before, values.after, strict=True)
    rows = [row for row in sides if row[1] or row[2]]
    left = len(rows) - SHOWN
    if left > 0:  # those that moved most, in their order
        moved = sorted(range(len(rows)), key=lambda k: -abs(rows[k][2] - rows[k][1]))[:SHOWN]
        rows = [rows[k] for k in sorted(moved)]
    most = max((max(row[1:]) for row in rows), default=1.0) or 1.0
    cells = []
    for value, before, after in rows:
        name = _text(value)
        bars = (
            f'<div class="bar" style="width:{100 * before / most:.1f}%"></div>'
            f'<div class="bar after" style="width:{100 * after / most:.1f}%"></div>'
        )
        change = f'<span class="number">{100 * (after - before):+.1f} %</span>'
        cells.append(f'<span title="{name}">{name}</span><div>{bars}</div>{change}')
    more = f"<p>{counted(left, 'more value')}</p>" if left > 0 else ""
    empty = column.missing_before == column.missing_after == 1.0
    why = "no row has a value" if empty else "values were not counted"
    bars = "".join(cells) or f"<span>{why}</span>"
    return f'<section><h3>{_text(column.column)}</h3><div class="bars">{bars}</div>{more}</section>'


def _table(heads: list[str], rows: list[list[str]], marked: list[bool] | None = None) -> str:
    head = "".join(f"<th>{_text(cell)}</th>" for cell in heads)
    body = []
    for k, row in enumerate(rows):
        mark = ' class="drifted"' if marked is not None and marked[k] else ""
        body.append(f"<tr{mark}>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _text(value: str) -> str:
    return escape(printable(value))


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3g}"


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.1f} %"
