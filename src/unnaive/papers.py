"""The models of the five papers with their exact settings.

Their experiments are a project of its own, the folder ``papers`` of the repository.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unnaive.models import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
)
from unnaive.models.decomposition import SMALL_VARIANCE

__all__ = ["configuration", "configurations"]

Make = Callable[[Any], Any]  # a seed to an unfitted model

# Wiering cuts numbers at whole standard deviations from the mean; counters start at 0.1.
_WIERING: dict[str, Any] = {"numeric": "sigma", "alpha": 0.1, "prior_alpha": 0.1}
MIXTURE: dict[str, Any] = {"numeric": "sigma", "gamma": 0.1}
# Elkan's ten bins of equal width; Laplace's pseudo-count keeps every logarithm finite.
_ELKAN: dict[str, Any] = {"numeric": "width", "n_bins": 10, "alpha": 1}


def _release_7(_: Any) -> C45Classifier:
    """C4.5 before 1996: thresholds by gain ratio, which do not pay for being chosen."""
    return C45Classifier(
        threshold_penalty=False, thresholds="gain_ratio", alpha=0, calibration="none"
    )


def _release_8(_: Any) -> C45Classifier:
    return C45Classifier(alpha=0, calibration="none")


def _nbtree(seed: Any) -> NBTreeClassifier:
    """Kohavi counts raw frequencies, and splits wherever the error falls by 5 per cent."""
    return NBTreeClassifier(alpha=0, significance=None, calibration="none", random_state=seed)


CONFIGURATIONS: dict[str, dict[str, Make]] = {
    "kohavi": {
        "C4.5": _release_7,
        "NB": lambda _: NaiveBayesClassifier(alpha=0),
        "NBTree": _nbtree,
    },
    "wang": {
        "C4.5": _release_8,
        "NBTree": _nbtree,
        # Maximum likelihood (equation 7), as in NBTree: the same alpha for both.
        "Flexible NBTree": lambda seed: FlexibleNBTreeClassifier(
            bandwidth="cv", alpha=0, significance=None, calibration="none", random_state=seed
        ),
    },
    "vilalta": {
        "NB": lambda _: NaiveBayesClassifier(numeric="gaussian", var_smoothing=SMALL_VARIANCE),
        # The paper's name of the decomposed naive Bayes: the class of the best pair.
        "NB'": lambda seed: ClassDecompositionClassifier(
            fold="max", calibration="none", random_state=seed
        ),
    },
    "wiering": {
        "NB": lambda _: NaiveBayesClassifier(**_WIERING),
        "1-4 HM": lambda seed: HierarchicalMixtureClassifier(
            layers=(4,), calibration="none", random_state=seed, **MIXTURE
        ),
        "2-2 HM": lambda seed: HierarchicalMixtureClassifier(
            layers=(2, 2), calibration="none", random_state=seed, **MIXTURE
        ),
        "bagging": lambda seed: BaggedNaiveBayesClassifier(
            voting="hard", calibration="none", random_state=seed, **_WIERING
        ),
        "boosting": lambda seed: BoostedNaiveBayesClassifier(
            algorithm="m1", calibration="none", random_state=seed, **_WIERING
        ),
    },
    "elkan": {
        "NB": lambda _: NaiveBayesClassifier(**_ELKAN),
        # Freund and Schapire's general form: hypotheses are probabilities.
        "boosted NB": lambda seed: BoostedNaiveBayesClassifier(
            algorithm="probability", calibration="none", random_state=seed, **_ELKAN
        ),
        "C4.5": _release_8,
    },
}


def configuration(paper: str, name: str, random_state: int | None = None) -> Any:
    """An unfitted model with the exact settings of a paper.

    Parameters
    ----------
    paper : str
        ``"kohavi"``, ``"wang"``, ``"vilalta"``, ``"wiering"`` or ``"elkan"``.
    name : str
        A name that ``configurations(paper)`` lists.
    random_state : int or None, default=None

    Returns
    -------
    estimator

    Examples
    --------
    >>> from unnaive.papers import configuration, configurations
    >>> configurations("kohavi")
    ['C4.5', 'NB', 'NBTree']
    >>> configuration("kohavi", "NBTree", random_state=0)
    NBTreeClassifier(alpha=0, calibration='none', random_state=0, significance=None)
    """
    if name not in configurations(paper):
        raise ValueError(
            f"{paper} has no configuration {name!r}; it has {', '.join(configurations(paper))}."
        )
    return CONFIGURATIONS[paper][name](random_state)


def configurations(paper: str) -> list[str]:
    """Names of the models of one paper, for `configuration`.

    Parameters
    ----------
    paper : str
        Such as ``"kohavi"``.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from unnaive.papers import configurations
    >>> configurations("elkan")
    ['NB', 'boosted NB', 'C4.5']
    """
    if paper not in CONFIGURATIONS:
        raise ValueError(f"there is no paper {paper!r}; choose one of {', '.join(CONFIGURATIONS)}.")
    return list(CONFIGURATIONS[paper])
