"""Write model files of the present format: ``PYTHONPATH=tests python -m store.make_files``.

For each estimator a small model and what it answers. A file that is there is never written again:
what a release wrote must load for ever.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.base import clone

import unnaive
from fuzz.judge import answers, awkward_rows, table
from registry import ESTIMATORS
from unnaive.store.files import FORMAT

FOLDER = Path(__file__).parent / "files"


def rows_of(kept: dict[str, Any]) -> pd.DataFrame:
    """The rows that a model was asked about, as they were."""
    rows = pd.DataFrame(kept)
    rows["d"] = pd.to_datetime(rows["d"])
    rows["t"], rows["b"] = rows["t"].astype(object), rows["b"].astype(object)
    return rows


def main() -> None:
    X, y = table(150, 0)
    rows = awkward_rows()[:12]
    kept = {
        name: [None if pd.isna(v) else str(v) if name == "d" else v for v in rows[name].tolist()]
        for name in rows
    }
    number: dict[str, int] = {}
    for estimator in ESTIMATORS:
        family = type(estimator).__name__
        number[family] = number.get(family, 0) + 1
        place = FOLDER / f"v{FORMAT}-{family}-{number[family]}.unv"
        if place.exists():
            print(f"{place.name} is there already")
            continue
        model = clone(estimator).fit(X, y)
        unnaive.save(model, place)
        found = answers(model, rows_of(kept)).tolist()
        expected = {"model": repr(model), "rows": kept, "answers": found}
        place.with_suffix(".json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
