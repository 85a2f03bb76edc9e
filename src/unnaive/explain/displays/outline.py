"""Outlines of nested groups of rows: trees, clusters of classes, gates and experts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer, GatedMixture, GroupedClasses
from unnaive.common.wording import counted
from unnaive.explain.classes import GroupProfile, TypicalValue, distinguishing_values, profiles_of
from unnaive.explain.displays import drawing
from unnaive.explain.model import ModelParts, evidence_of, label_names, read_model
from unnaive.explain.trees import TreeNode, tree_of

MAX_COLOURS = 8  # classes with a colour each; of more, the most frequent is named
INDENT = 0.027


class Layout(NamedTuple):
    """Positions as shares of the width: the right end of the numbers of rows, then the left ends of
    the bars of classes, the bars of evidence and the text of the evidence.
    """

    rows: float
    classes: float
    bars: float
    text: float


WITH_EVIDENCE = Layout(0.45, 0.465, 0.62, 0.73)
WITHOUT_EVIDENCE = Layout(0.7, 0.72, 1.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One line of an outline: a group of rows.

    Attributes
    ----------
    name : str
    depth, parent : int
        Nesting, and the position of the item above in the list, -1 at the top.
    weight : float
    class_share : array of shape (classes,)
        Lengths of the bars as shares of their full length.
    remarks : tuple of TypicalValue
        Evidence drawn beside it.
    note : str
        In grey, after the name.
    """

    name: str
    depth: int
    parent: int
    weight: float
    class_share: NDArray[np.float64]
    remarks: tuple[TypicalValue, ...]
    note: str = ""


class Outline:
    """Base class of the displays of nested groups.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    items_ : list
        The lines drawn, from the top.
    class_bars_, evidence_bars_ : list of list of matplotlib Rectangle
        For each line, the bar of classes and the bars of evidence.
    """

    plot: Any

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
            Of a kind that the class shows.
        **options :
            As in `plot`.

        Returns
        -------
        display : object
            The display.
        """
        display: Self = cls(estimator).plot(**options)
        return display

    def _draw(
        self, items: list[Item], labels: Any, title: str, note: str, ax: Any, *, name_label: bool
    ) -> Self:
        """Draw items from the top; ``name_label`` tells whether remarks name their class."""
        classes = label_names(labels)
        heights = [max(1, len(item.remarks)) for item in items]
        has_evidence = any(item.remarks for item in items)
        self._layout = layout = WITH_EVIDENCE if has_evidence else WITHOUT_EVIDENCE
        height = 1.2 + 0.185 * sum(heights) + 0.06 * len(items)
        self.figure_, ax = drawing.canvas(ax, 9.5, height)
        self.items_, self.ax_ = items, ax
        letter = 0.53 * drawing.SMALL / 72.0  # mean width in inches
        self._letters = drawing.size(ax)[0] / letter  # in the whole width
        weights = [abs(remark.weight) for item in items for remark in item.remarks]
        # A few extreme weights must not make all others short.
        scale = float(np.quantile(weights, 0.9)) if weights else 1.0
        tops = np.cumsum([0.0, *(h + 0.35 for h in heights)]) + 0.5
        self.class_bars_: list[list[Any]] = []
        self.evidence_bars_: list[list[Any]] = []
        for item, y in zip(items, tops.tolist(), strict=False):
            self._draw_name(item, y)
            if item.parent >= 0:
                x = INDENT * (item.depth - 0.75)
                line = ([x, x, x + 0.5 * INDENT], [tops[item.parent] + 0.45, y, y])
                ax.plot(*line, color="#999999", lw=0.7)
            self.class_bars_.append(self._draw_classes(item, y, classes))
            self.evidence_bars_.append(self._draw_remarks(item, y, scale, name_label))
        head = {"color": drawing.NEUTRAL, "fontsize": drawing.SMALL - 1}
        drawing.write(ax, layout.rows, -0.4, "rows", ha="right", **head)
        drawing.write(ax, layout.classes, -0.4, "classes", **head)
        if has_evidence:
            drawing.write(ax, layout.bars, -0.4, "evidence (log odds)", **head)
        ax.set_xlim(0.0, 1.0)
        ax.set_ylim(float(tops[-1]) - 0.4, -1.0)
        ax.set_xticks([])
        ax.set_yticks([])
        drawing.bare(ax)
        if len(classes) <= MAX_COLOURS:
            where = {"bbox_to_anchor": (0.0, 0.0), "ncols": min(len(classes), 4)}
            drawing.legend(ax, classes, [drawing.colour(c) for c in range(len(classes))], **where)
        drawing.title(ax, title, note)
        return self

    def _room(self, share: float) -> int:
        """Return about how many letters fit into a share of the width."""
        return max(6, int(share * self._letters))

    def _draw_name(self, item: Item, y: float) -> None:
        x, layout = INDENT * item.depth, self._layout
        room = self._room(layout.rows - 0.07 - x)
        note = drawing.plain(item.note, max(room // 2, room - len(item.name) - 2))
        name = drawing.plain(item.name, max(room - len(note) - 2 * bool(note), 6))
        bold = "bold" if item.depth == 0 else "normal"
        shown = drawing.write(self.ax_, x, y, name, fontweight=bold)
        grey = {"color": drawing.NEUTRAL, "fontsize": drawing.SMALL - 1, "va": "center"}
        if note:
            beside = {"xy": (1.0, 0.5), "xycoords": shown, "parse_math": False}
            self.ax_.annotate(f"  {note}", **beside, **grey)
        rows = drawing.rows_text(item.weight)
        drawing.write(self.ax_, layout.rows, y, rows, ha="right", color=drawing.NEUTRAL)

    def _draw_classes(self, item: Item, y: float, classes: Sequence[str]) -> list[Any]:
        """Draw a stacked bar of class shares, or the most frequent of many classes."""
        ax, first = self.ax_, self._layout.classes
        width = 0.93 * (self._layout.bars - first)
        if len(classes) <= MAX_COLOURS:
            widths = width * item.class_share
            colours = [drawing.colour(c) for c in range(len(classes))]
            return list(
                ax.barh(y, widths, 0.7, left=first + np.cumsum(widths) - widths, color=colours)
            )
        best = int(item.class_share.argmax())
        frame = ax.barh(y, width, 0.7, left=first, color="#eeeeee")[0]
        bar = ax.barh(y, width * item.class_share[best], 0.7, left=first, color="#9DC3DE")[0]
        text = f"{drawing.plain(classes[best], 12)} {item.class_share[best]:.0%}"
        drawing.write(ax, first + 0.004, y, text, fontsize=drawing.SMALL - 1)
        return [bar, frame]

    def _draw_remarks(self, item: Item, y: float, scale: float, name_label: bool) -> list[Any]:
        layout, bars = self._layout, []
        width = 0.93 * (layout.text - layout.bars)
        for r, remark in enumerate(item.remarks):
            length = width * min(abs(remark.weight) / scale, 1.0)
            colour = drawing.FOR if remark.weight > 0 else drawing.AGAINST
            bars.append(self.ax_.barh(y + r, length, 0.55, left=layout.bars, color=colour)[0])
            weight = f"{remark.weight:+.2f}  "
            label = f" → {drawing.plain(remark.label, 14)}" if name_label else ""
            room = self._room(1.0 - layout.text) - len(weight) - len(label)
            value = drawing.plain(remark.value, max(room - len(remark.attribute) - 3, room // 2, 8))
            name = drawing.plain(remark.attribute, max(room - len(value) - 3, 8))
            text = f"{weight}{name} = {value}{label}"
            drawing.write(self.ax_, layout.text, y + r, text, fontsize=drawing.SMALL - 1)
        return bars


class GroupsDisplay(Outline):
    """Groups of rows inside a model, with the values that distinguish them.

    The classes of a decomposition and their clusters, or the gates and experts of a mixture.

    Parameters
    ----------
    model : fitted ClassDecompositionClassifier or HierarchicalMixtureClassifier

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
    >>> from unnaive import ClassDecompositionClassifier, GroupsDisplay
    >>> data = load_iris()
    >>> kind = ["versicolor" if k == 1 else "other" for k in data.target]
    >>> model = ClassDecompositionClassifier(clusterer=KMeans(2), random_state=0)
    >>> display = GroupsDisplay.from_estimator(model.fit(data.data, kind))
    >>> [item.name for item in display.items_]
    ['other', 'cluster 0', 'cluster 1', 'versicolor', 'cluster 0', 'cluster 1']
    """

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.groups = profiles_of(model)

    def plot(self, *, n_remarks: int = 3, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        n_remarks : int, default=3
            Most values shown beside a group.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        GroupsDisplay
        """
        answer: Answer = self.model.answer_
        decomposed = answer.find(GroupedClasses)
        groups = [replace(group, remarks=group.remarks[:n_remarks]) for group in self.groups]
        if decomposed is not None:
            items, title = _cluster_items(
                groups, decomposed.class_index, label_names(answer.classes)
            )
            note = ""
        else:
            items, title = _expert_items(groups, answer.find(GatedMixture))
            note = "rows weighted by responsibility, over all sweeps"
        return self._draw(items, answer.classes, title, note, ax, name_label=False)


def _cluster_items(
    groups: Sequence[GroupProfile], owner: NDArray[np.intp], names: Sequence[str]
) -> tuple[list[Item], str]:
    """Return a line for each class and its clusters, and the title."""
    items: list[Item] = []
    for c, name in enumerate(names):
        clusters = [group for group, k in zip(groups, owner, strict=True) if k == c]
        top, weight = len(items), sum(group.weight for group in clusters)
        note = counted(len(clusters), "cluster")
        items.append(Item(name, 0, -1, weight, clusters[0].class_share, (), note))
        if len(clusters) > 1:
            # The bar is as long as the cluster is large.
            for k, group in enumerate(clusters):
                length, note = group.share * group.class_share, f"{group.share:.0%}"
                items.append(
                    Item(f"cluster {k}", 1, top, group.weight, length, group.remarks, note)
                )
    n_classes = counted(len(names), "class", "classes")
    return items, f"{n_classes}, {counted(len(groups), 'cluster')}"


def _expert_items(
    groups: Sequence[GroupProfile], mixture: GatedMixture | None
) -> tuple[list[Item], str]:
    """Return a line for each gate and expert, depth first, and the title."""
    assert mixture is not None
    items: list[Item] = []

    def add(group: GroupProfile, depth: int, parent: int) -> None:
        position = len(items)
        note = f"{group.share:.0%} of {group.parent}" if group.parent else ""
        shares, remarks = group.class_share, group.remarks
        items.append(Item(group.name, depth, parent, group.weight, shares, remarks, note))
        for child in groups:
            if child.parent == group.name:
                add(child, depth + 1, position)

    add(groups[0], 0, -1)
    n_gates = mixture.shape.n_gates
    n_experts = len(groups) - n_gates
    return items, f"{counted(n_gates, 'gate')}, {counted(n_experts, 'expert')}"


class TreeDisplay(Outline):
    """A tree whose leaves show their evidence.

    Every node is a line: its test, its rows and their classes. Beside a leaf with a naive Bayes
    stand the values with most evidence there.

    Parameters
    ----------
    model : fitted tree classifier

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    items_ : list
        The lines drawn, from the top.
    nodes_ : list of int
        The node of each line.
    class_bars_, evidence_bars_ : list of list of matplotlib Rectangle
        For each line, the bar of classes and the bars of evidence.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import C45Classifier, TreeDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = TreeDisplay.from_estimator(C45Classifier().fit(X, y))
    >>> display.nodes_
    [0, 1, 2, 3, 4, 5, 6, 7, 8]
    """

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.nodes = tree_of(model)

    def plot(
        self,
        *,
        max_nodes: int = 30,
        max_depth: int | None = None,
        n_remarks: int = 3,
        ax: Any = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        max_nodes : int, default=30
            Most nodes; where there are more, those with most rows are opened.
        max_depth : int or None, default=None
            Deepest level that is drawn.
        n_remarks : int, default=3
            Most values shown beside a leaf.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        TreeDisplay
        """
        shown = _open_nodes(self.nodes, max_nodes, max_depth)
        self.nodes_ = [n for n in (0, *_below(self.nodes, 0)) if n in shown]
        place = {n: k for k, n in enumerate(self.nodes_)}
        model = read_model(self.model)
        items = []
        for n in self.nodes_:
            node = self.nodes[n]
            leaf = not any(child in place for child in node.children)
            note = "" if leaf or not node.attribute else f"test of {node.attribute}"
            if leaf and node.children:
                note = f"… {counted(len(_below(self.nodes, n)), 'node')} below"
            items.append(
                Item(
                    node.condition or "all rows",
                    node.depth,
                    place.get(node.parent, -1),
                    node.weight,
                    node.class_weight / max(node.weight, 1e-300),
                    _leaf_remarks(model, n, n_remarks) if leaf else (),
                    note,
                )
            )
        n_leaves = sum(not node.children for node in self.nodes)
        size = f"{counted(len(self.nodes), 'node')}, {counted(n_leaves, 'leaf', 'leaves')}"
        title = f"{type(self.model).__name__}: {size}"
        hidden = len(self.nodes) - len(items)
        note = f"{counted(hidden, 'node')} not drawn" if hidden else ""
        return self._draw(items, self.model.classes_, title, note, ax, name_label=True)


def _open_nodes(nodes: Sequence[TreeNode], most: int, max_depth: int | None) -> set[int]:
    """Return the nodes to draw: from the root on, those with most rows are opened first."""
    shown, waiting = {0}, [nodes[0]]
    while waiting:
        node = max(waiting, key=lambda n: (n.weight, -n.node))
        waiting.remove(node)
        deep = max_depth is not None and node.depth >= max_depth
        if deep or not node.children or len(shown) + len(node.children) > most:
            continue
        shown.update(node.children)
        waiting += [nodes[child] for child in node.children]
    return shown


def _below(nodes: Sequence[TreeNode], n: int) -> list[int]:
    """Return the nodes below a node, depth first."""
    found, pending = [], [n]
    while pending:
        found.append(pending.pop())
        pending += reversed(nodes[found[-1]].children)
    return found[1:]


def _leaf_remarks(model: ModelParts, node: int, n: int) -> tuple[TypicalValue, ...]:
    """Return the values with most evidence at a node; none where it has a single class."""
    part = model.parts.part(node)
    if not part.scorer.speaks or (part.counts is not None and (part.counts.totals > 0).sum() < 2):
        return ()
    return distinguishing_values(evidence_of(model, node), None, n=n)
