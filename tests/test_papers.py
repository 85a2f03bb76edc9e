"""The papers' models can be made by name, and wrong names are answered with the right ones."""

from __future__ import annotations

import pytest
from sklearn.base import is_classifier

from unnaive.papers import CONFIGURATIONS, configuration, configurations


@pytest.mark.parametrize("paper", CONFIGURATIONS)
def test_every_configuration_is_a_classifier_with_the_given_seed(paper):
    for name in configurations(paper):
        model = configuration(paper, name, random_state=7)
        assert is_classifier(model)
        assert model.get_params().get("random_state", 7) == 7


def test_wrong_names_are_refused_with_those_that_exist():
    with pytest.raises(ValueError, match="no paper 'kohvi'; choose one of kohavi, wang"):
        configurations("kohvi")
    with pytest.raises(ValueError, match="elkan has no configuration 'NBTree'; it has NB, boosted"):
        configuration("elkan", "NBTree")
