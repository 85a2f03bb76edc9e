"""What a terminal is given: letters, and nothing that it would obey."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import unnaive
from unnaive import C45Classifier, ClassDecompositionClassifier, NaiveBayesClassifier, export_text
from unnaive.common.wording import printable, printable_lines
from unnaive.explain import explain_rows, profiles_of, what_if

HOSTILE = "red\x1b[2J\x07\u202egnp\x9b31m\x00\ud800"


def test_every_character_becomes_one_that_prints():
    for number in [*range(0x3000), *range(0xD700, 0x11000), 0xE0001, sys.maxunicode]:
        assert printable(chr(number)).isprintable()
    assert printable("naïve Bayes, 東京 👩") == "naïve Bayes, 東京 👩"
    assert printable("a\tb\nc\u2028d\u00a0e") == "a b c d e"
    assert printable("\x1b[31m\u202e") == r"\x1b[31m\u202e"
    assert printable_lines("a\nb\x1b") == "a\nb\\x1b"


def hostile_table():
    values = np.array([HOSTILE, HOSTILE + "!", "plain"])
    x = np.arange(60) % 3
    return pd.DataFrame({HOSTILE: values[x]}), np.where(x > 0, HOSTILE, "other")


def test_texts_of_models_with_hostile_names_and_values_print():
    X, y = hostile_table()
    tree = C45Classifier().fit(X, y)
    model = NaiveBayesClassifier().fit(X, y)
    groups = ClassDecompositionClassifier(random_state=0).fit(X, y)
    texts = [
        export_text(tree),
        repr(explain_rows(model, X[:1])[0]),
        repr(what_if(model, X[:1], {HOSTILE: "plain"})),
        repr(unnaive.compare(X, y, models=["nb"], estimators={HOSTILE: model}, cv=2)),
        str(profiles_of(groups)),
    ]
    for text in texts:
        assert all(line.isprintable() for line in text.split("\n"))
        assert r"\x1b[2J" in text


def test_commands_print_by_the_cleaner_alone():
    folder = Path(unnaive.__file__).parent / "cli"
    allowed = {"console.py": 2}  # of text and of errors
    for path in folder.glob("*.py"):
        calls = [
            node
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
        ]
        assert len(calls) == allowed.get(path.name, 0), f"{path.name}: use say of cli/console.py"
