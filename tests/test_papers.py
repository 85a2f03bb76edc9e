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


def test_mixtures_keep_the_settings_of_the_paper():
    for name, layers in (("1-4 HM", (4,)), ("2-2 HM", (2, 2))):
        given = configuration("wiering", name).get_params()
        settings = {
            "layers": layers, "n_sweeps": 5, "sigma": 0.1, "likelihood": "gaussian", "gamma": 0.1,
            "noise": 0.01, "training": "online", "shuffle": True, "numeric": "sigma",
            "calibration": "none",
        }  # fmt: skip
        assert {key: given[key] for key in settings} == settings


def test_wrong_names_are_refused_with_those_that_exist():
    with pytest.raises(ValueError, match="no paper 'kohvi'; choose one of kohavi, wang"):
        configurations("kohvi")
    with pytest.raises(ValueError, match="elkan has no configuration 'NBTree'; it has NB, boosted"):
        configuration("elkan", "NBTree")
