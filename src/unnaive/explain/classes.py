"""What distinguishes classes, the clusters of a class, and the experts of a mixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from unnaive.answer import Answer, ExternalEstimator, GatedMixture, GroupedClasses
from unnaive.bayes.evidence import CERTAIN, weigh
from unnaive.common.facts import Columns, Facts, FactTuple
from unnaive.common.wording import counted
from unnaive.explain.model import (
    ModelParts,
    PartEvidence,
    evidence_of,
    find_label,
    label_names,
    read_model,
)
from unnaive.table.columns import as_objects


class TypicalValue(NamedTuple):
    """A value that is typical of a label: its weight of evidence against the label's siblings."""

    attribute: str
    value: str
    label: str
    weight: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Discrimination(Facts):
    """The values that distinguish two labels, the most important first.

    Attributes
    ----------
    label, against : str
    attributes, values : tuples of str
        A value of an attribute each, or two values of a pair of attributes.
    weights : array
        Log P(value | label) - log P(value | against): above zero it favours the label.
    counts : array of shape (values, 2)
        Weight of the training rows of the two; NaN where the model keeps none.
    shares : array of shape (values, 2)
        How frequent the value is in each; of a pair, as if its attributes were independent.
    importance : array
        Mean of the two shares times the absolute weight.
    """

    label: str
    against: str
    attributes: tuple[str, ...]
    values: tuple[str, ...]
    weights: NDArray[np.float64]
    counts: NDArray[np.float64]
    shares: NDArray[np.float64]
    importance: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.values)

    def _columns(self) -> Columns:
        return {
            "column": self.attributes,
            "value": self.values,
            "evidence": self.weights,
            f"rows of {self.label}": self.counts[:, 0],
            f"rows of {self.against}": self.counts[:, 1],
            f"share of {self.label}": self.shares[:, 0],
            f"share of {self.against}": self.shares[:, 1],
            "importance": self.importance,
        }

    def _title(self) -> str:
        return f"{self.label} against {self.against}: {counted(len(self), 'value')}"


def discriminate(
    model: Any, label: Any, against: Any, part: int | str | None = None
) -> Discrimination:
    """Return the values that distinguish two classes.

    Parameters
    ----------
    model : fitted classifier or `PartEvidence`
    label, against : Any
        Two classes, or other labels of the part.
    part : int, str or None, default=None
        Which naive Bayes of the model; see `evidence_of`.

    Returns
    -------
    Discrimination
        Values of all attributes, by `importance`. Points of a density are among them, each for its
        neighbourhood, and so are two values of a pair that has evidence of its own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NaiveBayesClassifier
    >>> from unnaive.explain import discriminate
    >>> data = load_iris(as_frame=True)
    >>> model = NaiveBayesClassifier().fit(data.data, data.target_names[data.target])
    >>> values = discriminate(model, "versicolor", "virginica")
    >>> print(values.attributes[0], values.values[0], f"{values.weights[0]:+.2f}")
    petal width (cm) above 1.75 -3.41
    """
    facts = model if isinstance(model, PartEvidence) else evidence_of(model, part)
    a, b = find_label(facts.labels, label, "label"), find_label(facts.labels, against, "against")
    if a == b:
        raise ValueError(f"label and against are both {facts.names[a]!r}: give two classes.")
    names: list[str] = []
    values: list[str] = []
    tables = []  # logs, counts and shares, values x labels
    for attribute in facts.attributes:
        at = np.flatnonzero(attribute.logs.any(axis=1))
        names += [attribute.name] * len(at)
        values += [attribute.values[v] for v in at]
        tables.append((attribute.logs[at], attribute.counts[at], attribute.distribution()[at]))
    for pair in facts.pairs:
        one, two = np.nonzero(pair.logs.any(axis=2) & pair.shares.any(axis=2))
        names += [pair.name] * len(one)
        values += [
            f"{pair.values[0][i]}, {pair.values[1][k]}" for i, k in zip(one, two, strict=True)
        ]
        logs = pair.logs[one, two]
        tables.append((logs, np.full(logs.shape, np.nan), pair.shares[one, two]))
    logs, counts, shares = (np.concatenate(each)[:, [a, b]] for each in zip(*tables, strict=True))
    weights = logs[:, 0] - logs[:, 1]
    importance = shares.mean(axis=1) * np.abs(weights)
    order = np.argsort(-importance, kind="stable")
    return Discrimination(
        facts.names[a],
        facts.names[b],
        tuple(names[k] for k in order),
        tuple(values[k] for k in order),
        weights[order],
        counts[order],
        shares[order],
        importance[order],
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupProfile(Facts):
    """A cluster of a class, an expert, a gate, or a node of a tree.

    Attributes
    ----------
    name : str
    parent : str
        The class, or the gate above; "" at the top.
    weight : float
        Weight of its training rows; of experts, by responsibility over all sweeps.
    share : float
        Its share of its parent's rows.
    classes : array
    class_share : array of shape (classes,)
        How its rows are spread over the classes.
    remarks : tuple of TypicalValue
        The values that distinguish it from its siblings, the most important first.
    """

    name: str
    parent: str
    weight: float
    share: float
    classes: NDArray[Any]
    class_share: NDArray[np.float64]
    remarks: tuple[TypicalValue, ...]

    def _columns(self) -> Columns:
        typical = self.remarks or (None,)
        return {
            "group": [self.name] * len(typical),
            "parent": [self.parent] * len(typical),
            "rows": [self.weight] * len(typical),
            "share": [self.share] * len(typical),
            "column": ["" if remark is None else remark.attribute for remark in typical],
            "value": ["" if remark is None else remark.value for remark in typical],
            "evidence": [np.nan if remark is None else remark.weight for remark in typical],
        }

    def _title(self) -> str:
        return f"{self.name}, {counted(self.weight, 'row')}"


def profiles_of(model: Any, *, n_remarks: int = 5) -> FactTuple[GroupProfile]:
    """Return profiles of the clusters of a decomposition, or of the gates and experts of a mixture.

    Parameters
    ----------
    model : fitted ClassDecompositionClassifier or HierarchicalMixtureClassifier
    n_remarks : int, default=5
        Most values to name for each.

    Returns
    -------
    tuple of GroupProfile
        Clusters class by class; the nodes of a mixture level by level, experts last.
    """
    check_is_fitted(model)
    answer = getattr(model, "answer_", None)
    if isinstance(answer, Answer):
        folded, mixture = answer.find(GroupedClasses), answer.find(GatedMixture)
        if folded is not None:
            return _clusters(model, answer, folded, n_remarks)
        if mixture is not None:
            return _experts(read_model(model), mixture, n_remarks)
    raise TypeError(
        "profiles_of needs a ClassDecompositionClassifier or a "
        f"HierarchicalMixtureClassifier; got a {type(model).__name__}."
    )


def distinguishing_values(
    facts: PartEvidence, label: int | None, siblings: NDArray[np.intp] | None = None, n: int = 5
) -> tuple[TypicalValue, ...]:
    """Return the value of each attribute with most evidence for a label, the most important first.

    Parameters
    ----------
    facts : PartEvidence
    label : int or None
        Number of the label; None for the label that each attribute has most evidence for.
    siblings : array or None, default=None
        The labels to distinguish it from, itself among them; None for all.
    n : int, default=5
        Most attributes to name.

    Returns
    -------
    tuple of TypicalValue
        Ranked by the lower end of the credible interval of the evidence times the frequency of
        the value with the label; what might be chance is left out.
    """
    among = np.arange(len(facts.labels)) if siblings is None else siblings
    least = 0.01  # evidence times frequency that is worth naming
    prior = facts.log_prior[among]
    prior_share = np.exp(prior - prior.max()) if label is None else (among == label).astype(float)
    ranked = []
    for attribute in facts.attributes:
        weights = weigh(attribute.logs[:, among], prior)
        reach = np.nan_to_num(attribute.weights - attribute.low)[:, among]
        worth = (
            attribute.distribution()[:, among] * np.minimum(weights - reach, CERTAIN) * prior_share
        )
        v, k = np.unravel_index(int(worth.argmax()), worth.shape)
        if worth[v, k] > least * prior_share.sum():
            name = facts.names[among[k]]
            typical = TypicalValue(attribute.name, attribute.values[v], name, float(weights[v, k]))
            ranked.append((float(worth[v, k]), typical))
    ranked.sort(key=lambda pair: -pair[0])
    return tuple(remark for _, remark in ranked[:n])


def _clusters(model: Any, answer: Answer, node: GroupedClasses, n: int) -> FactTuple[GroupProfile]:
    # Around an estimator of another library only the sizes are known.
    inside = Answer(answer.schema, answer.classes, node.inner)
    plain = inside.find(GroupedClasses) is None and inside.find(ExternalEstimator) is None
    facts = evidence_of(model) if plain else None
    names = label_names(as_objects(node.pairs(answer.classes)))
    weight = np.full(len(node.class_index), np.nan) if node.weight is None else node.weight
    profiles = []
    for pair, c in enumerate(node.class_index.tolist()):
        siblings = np.flatnonzero(node.class_index == c)
        size = weight[pair]
        profiles.append(
            GroupProfile(
                names[pair],
                str(answer.classes[c]),
                float(size),
                float(size / weight[siblings].sum()),
                answer.classes,
                np.eye(len(answer.classes))[c],
                distinguishing_values(facts, pair, siblings, n)
                if facts and len(siblings) > 1
                else (),
            )
        )
    return FactTuple(profiles)


def _experts(read: ModelParts, node: GatedMixture, n: int) -> FactTuple[GroupProfile]:
    shape, names = node.shape, read.parts.names
    by_class = [node.counts.totals[units] for units in shape.models()]
    for g in reversed(range(shape.n_gates)):  # children come after their gate
        below = range(shape.first[g], shape.first[g] + shape.width[g])
        by_class[g] = np.sum([by_class[k] for k in below], axis=0)

    def profile(
        k: int, parent: str, share: float, remarks: tuple[TypicalValue, ...] = ()
    ) -> GroupProfile:
        weight = float(by_class[k].sum())
        class_share = by_class[k] / weight
        return GroupProfile(names[k], parent, weight, share, read.classes, class_share, remarks)

    profiles = [profile(0, "", 1.0)]
    for g in range(shape.n_gates):
        facts = evidence_of(read, g)
        share = facts.label_weight / facts.label_weight.sum()
        for k in range(shape.width[g]):
            remarks = distinguishing_values(facts, k, None, n)
            profiles.append(profile(shape.first[g] + k, facts.part, float(share[k]), remarks))
    return FactTuple(profiles)
