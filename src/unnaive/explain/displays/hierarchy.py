"""Decompositions and mixtures as outlines of nested groups of rows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np

from unnaive.answer import Answer, Folded, GatedMixture
from unnaive.common.wording import counted
from unnaive.explain.classes import GroupProfile, profiles_of
from unnaive.explain.displays.outline import Item, Outline
from unnaive.explain.model import label_names


class GroupsDisplay(Outline):
    """Shared by displays of groups; subclasses name the model whose groups they draw."""

    _draws: tuple[type, str]  # kind of answer, and the model that has it

    def __init__(self, model: Any) -> None:
        kind, name = self._draws
        answer = getattr(model, "answer_", None)
        if not isinstance(answer, Answer) or answer.find(kind) is None:
            raise TypeError(f"{type(self).__name__} draws a {name}; got a {type(model).__name__}.")
        self.model: Any = model
        self.groups = profiles_of(model)

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
        **options :
            As in `plot`.

        Returns
        -------
        The display, drawn.
        """
        return cls(estimator).plot(**options)

    def plot(self, *, n_remarks: int = 3, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        n_remarks : int, default=3
            Most values shown beside a group.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        The display, drawn.
        """
        items, title, note = self._lines(n_remarks)
        return self._show(items, self.model.classes_, title, note, ax, name_label=False)

    @abstractmethod
    def _lines(self, n_remarks: int) -> tuple[list[Item], str, str]:
        """The lines from the top, a title, and a note."""


class DecompositionDisplay(GroupsDisplay):
    """The classes of a decomposition and their clusters, with the values that distinguish them.

    Parameters
    ----------
    model : fitted ClassDecompositionClassifier

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    items_ : list
        The lines drawn, from the top.
    class_bars_, evidence_bars_ : list of list of matplotlib Rectangle
        For each line, the bar of classes and the bars of evidence.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import ClassDecompositionClassifier, DecompositionDisplay
    >>> data = load_iris()
    >>> kind = ["versicolor" if k == 1 else "other" for k in data.target]
    >>> model = ClassDecompositionClassifier(clusterer=KMeans(2), random_state=0)
    >>> display = DecompositionDisplay.from_estimator(model.fit(data.data, kind))
    >>> [item.name for item in display.items_]
    ['other', 'cluster 0', 'cluster 1', 'versicolor', 'cluster 0', 'cluster 1']
    """

    _draws = (Folded, "ClassDecompositionClassifier")

    def _lines(self, n_remarks: int) -> tuple[list[Item], str, str]:
        answer: Answer = self.model.answer_
        folded, names = answer.find(Folded), label_names(answer.classes)
        assert folded is not None
        owner = folded.owner
        items: list[Item] = []
        for c, name in enumerate(names):
            clusters = [self.groups[k] for k in np.flatnonzero(owner == c)]
            top = len(items)
            weight = sum(group.weight for group in clusters)
            note = counted(len(clusters), "cluster")
            items.append(Item(name, 0, -1, weight, clusters[0].class_share, (), note))
            if len(clusters) > 1:
                for k, group in enumerate(clusters):
                    item = _item(group, f"cluster {k}", 1, top, n_remarks, f"{group.share:.0%}")
                    # The bar is as long as the cluster is large.
                    items.append(replace(item, class_share=group.share * group.class_share))
        what = f"{counted(len(names), 'class', 'classes')}, {counted(len(self.groups), 'cluster')}"
        return items, what, ""


class MixtureDisplay(GroupsDisplay):
    """The gates and experts of a mixture, with the values that send rows to each.

    Parameters
    ----------
    model : fitted HierarchicalMixtureClassifier

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    items_ : list
        The lines drawn, from the top.
    class_bars_, evidence_bars_ : list of list of matplotlib Rectangle
        For each line, the bar of classes and the bars of evidence.

    Examples
    --------
    >>> import pandas as pd
    >>> from unnaive import HierarchicalMixtureClassifier, MixtureDisplay
    >>> X = pd.DataFrame({"a": list("0011") * 10, "b": list("0101") * 10})
    >>> model = HierarchicalMixtureClassifier(layers=(2,), n_sweeps=20, random_state=0)
    >>> display = MixtureDisplay.from_estimator(model.fit(X, X["a"] != X["b"]))
    >>> [item.name for item in display.items_]
    ['gate 0', 'expert 0', 'expert 1']
    """

    _draws = (GatedMixture, "HierarchicalMixtureClassifier")

    def _lines(self, n_remarks: int) -> tuple[list[Item], str, str]:
        below: dict[str, list[GroupProfile]] = {}
        for group in self.groups[1:]:
            below.setdefault(group.parent, []).append(group)
        items: list[Item] = []

        def add(group: GroupProfile, depth: int, parent: int) -> None:
            place = len(items)
            note = f"{group.share:.0%} of {group.parent}" if group.parent else ""
            items.append(_item(group, group.name, depth, parent, n_remarks, note))
            for child in below.get(group.name, []):
                add(child, depth + 1, place)

        add(self.groups[0], 0, -1)
        n_experts = sum(group.name.startswith("expert") for group in self.groups)
        n_gates = len(self.groups) - n_experts
        what = f"{counted(n_gates, 'gate')}, {counted(n_experts, 'expert')}"
        return items, what, "rows weighted by responsibility, over all sweeps"


def _item(
    group: GroupProfile, name: str, depth: int, parent: int, n_remarks: int, note: str
) -> Item:
    remarks = group.remarks[:n_remarks]
    return Item(name, depth, parent, group.weight, group.class_share, remarks, note)
