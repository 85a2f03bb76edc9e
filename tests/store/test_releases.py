"""Files of every version of the format load for ever, and answer as they did."""

from __future__ import annotations

import json

import numpy as np
import pytest

import unnaive
from fuzz.judge import answers, table
from registry import ESTIMATORS
from store.make_files import FOLDER, rows_of
from unnaive.store.files import FORMAT

FILES = sorted(FOLDER.glob("*.unv"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_file_loads_and_answers_as_it_did(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    model = unnaive.load(path)
    found = answers(model, rows_of(expected["rows"]))
    # Another processor may round an exponential another way.
    np.testing.assert_allclose(found, np.array(expected["answers"], float), rtol=1e-12, atol=1e-300)
    assert type(model).__name__ in expected["model"]
    if hasattr(model, "partial_fit"):
        X, y = table(30, 5)
        model.partial_fit(X, y)


def test_there_is_a_file_of_every_version_for_every_estimator():
    names = {path.stem.rsplit("-", 1)[0] for path in FILES}
    families = {type(estimator).__name__ for estimator in ESTIMATORS}
    assert {f"v{FORMAT}-{family}" for family in families} <= names
    assert {name.split("-")[0] for name in names} == {f"v{v}" for v in range(1, FORMAT + 1)}
