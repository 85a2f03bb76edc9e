"""``make bench``: measure, print one table, write it as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from benchmarks.speed import (
    clusters,
    columns,
    densities,
    ensembles,
    foundation,
    living,
    pairs,
    trees,
)
from benchmarks.speed.harness import save, show

PARTS = ["foundation", "trees", "densities", "ensembles", "clusters", "columns", "pairs", "living"]
RESULTS = Path(__file__).parent.parent / "results" / "speed.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with adult, letter, shuttle and segment")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--memory", metavar="CASE", help="measure one case's memory, here")
    options = parser.parse_args()
    if options.memory:
        print((foundation.MEMORY | trees.MEMORY)[options.memory]())
        return
    parts = {
        "foundation": foundation.rows(),
        "trees": trees.rows(options.data),
        "densities": densities.rows(options.data),
        "ensembles": ensembles.rows(),
        "clusters": clusters.rows(options.data),
        "columns": columns.rows(),
        "pairs": pairs.rows(options.data),
        "living": living.rows(),
    }
    rows = []
    with Console(stderr=True).status("measuring") as status:
        for name, part in parts.items():
            if options.only in (None, name):
                for row in part:
                    rows.append(row)
                    status.update(f"measured {row.work}")
    show(rows)
    for name, part in (("trees", trees), ("clusters", clusters), ("pairs", pairs)):
        skipped = part.why_skipped(options.data)
        if skipped and options.only in (None, name):
            print(skipped)
    save(rows, RESULTS)


if __name__ == "__main__":
    main()
