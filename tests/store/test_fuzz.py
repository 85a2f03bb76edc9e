"""Wrong model files; ``make fuzz`` loads a hundred thousand of them."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.judge import Sample, awkward_rows, judge, table
from fuzz.mutate import Broken, mutated
from registry import (
    BAGGED,
    BOOSTED,
    CHOOSERS,
    CLASSIFIERS,
    CLUSTERERS,
    FORESTS,
    META,
    MIXTURES,
    TRANSFORMERS,
    TREES,
)

EACH = [
    *CLASSIFIERS[:1], *CLASSIFIERS[4:6], TREES[0], TREES[2], TREES[4], BOOSTED[1], BAGGED[0],
    MIXTURES[1], TRANSFORMERS[0], CLUSTERERS[1], META[0], FORESTS[0], CHOOSERS[1],
]  # fmt: skip
SOME = settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))


@cache
def sample(which: int) -> Sample:
    X, y = table(150, 0)
    return Sample(EACH[which], repr(EACH[which]), X, y, awkward_rows())


@SOME
@given(which=st.integers(0, len(EACH) - 1), seed=st.integers(0, 2**32))
def test_wrong_files_end_in_a_clean_error_or_a_sound_model(which, seed):
    own, other = sample(which), sample(seed % len(EACH))
    data, inside = mutated(own.data, other.data, seed)
    judge(own, data, inside, consume=inside and seed % 16 == 0)


def test_files_taken_apart_and_put_together_are_the_same_model():
    """Or else every file would be refused, and nothing tried."""
    for which in range(len(EACH)):
        data = Broken(sample(which).data).file()
        assert judge(sample(which), data, inside=True, consume=True) == "same answers"


def test_some_wrong_files_are_models():
    own = sample(0)
    found = {judge(own, *mutated(own.data, own.data, seed)) for seed in range(0, 400, 2)}
    assert {"refused", "other answers"} <= found


@SOME
@given(data=st.binary(max_size=400), magic=st.booleans())
def test_any_bytes_are_refused(data, magic):
    own = sample(0)
    start = own.data[: np.random.default_rng(len(data)).integers(4, 60)] if magic else b""
    assert judge(own, start + data, inside=False) == "refused"
