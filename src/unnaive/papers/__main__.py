"""``python -m unnaive.papers``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from unnaive.papers.study import COMPARISON, PAPERS


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m unnaive.papers", description="Run the experiments of the papers."
    )
    parser.add_argument("paper", choices=[*PAPERS, "all", COMPARISON])
    parser.add_argument("--data", help="folder with MANIFEST.json, or openml, or uci")
    parser.add_argument("--quick", action="store_true", help="a sample that needs no data")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--sets", help="only these, separated by commas")
    parser.add_argument("--parts", help="only these, separated by commas")
    parser.add_argument("--fresh", action="store_true", help="measure again what was kept")
    parser.add_argument("--limit", type=float, help="seconds that a task may take")
    parser.add_argument("--estimate", action="store_true", help="say how long it takes, and stop")
    parser.add_argument("--write-baseline", type=Path, help="keep the verdicts in this file")
    return parser.parse_args(arguments)


def start() -> int:
    from unnaive.papers.command import main

    told = vars(parse())
    for name in ("sets", "parts"):
        told[name] = told[name].split(",") if told[name] else None
    try:
        return main(told.pop("paper"), told.pop("data"), **told)
    except (ValueError, FileNotFoundError, ImportError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(start())
