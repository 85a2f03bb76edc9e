"""Trees as outlines of their nodes."""

from __future__ import annotations

from typing import Any, Self

from unnaive.common.wording import counted
from unnaive.explain.classes import TypicalValue, distinguishing_values
from unnaive.explain.displays.outline import Item, Outline
from unnaive.explain.model import ModelParts, evidence_of, read_model
from unnaive.explain.trees import TreeNode, tree_of


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
        self.model = model
        self.nodes = tree_of(model)

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw a fitted tree.

        Parameters
        ----------
        estimator : fitted tree classifier
        **options :
            As in `plot`.

        Returns
        -------
        TreeDisplay
        """
        return cls(estimator).plot(**options)

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
        shown = opened(self.nodes, max_nodes, max_depth)
        self.nodes_ = sorted(shown, key=_order(self.nodes))
        place = {n: k for k, n in enumerate(self.nodes_)}
        reading = read_model(self.model)
        items = []
        for n in self.nodes_:
            node = self.nodes[n]
            leaf = not any(child in place for child in node.children)
            note = "" if leaf or not node.attribute else f"test of {node.attribute}"
            if leaf and node.children:
                note = f"… {counted(_below(self.nodes, n), 'node')} below"
            items.append(
                Item(
                    node.condition or "all rows",
                    node.depth,
                    place.get(node.parent, -1),
                    node.weight,
                    node.class_weight / max(node.weight, 1e-300),
                    _leaf_remarks(reading, n, n_remarks) if leaf else (),
                    note,
                )
            )
        n_leaves = sum(not node.children for node in self.nodes)
        size = f"{counted(len(self.nodes), 'node')}, {counted(n_leaves, 'leaf', 'leaves')}"
        title = f"{type(self.model).__name__}: {size}"
        hidden = len(self.nodes) - len(items)
        note = f"{counted(hidden, 'node')} not drawn" if hidden else ""
        return self._show(items, self.model.classes_, title, note, ax, name_label=True)


def opened(nodes: tuple[TreeNode, ...], most: int, max_depth: int | None) -> set[int]:
    """The nodes to draw: from the root on, those with most rows are opened first."""
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


def _order(nodes: tuple[TreeNode, ...]) -> Any:
    """Depth first: every node after its parent and its earlier siblings' nodes."""
    rank: dict[int, int] = {}
    pending = [0]
    while pending:
        n = pending.pop()
        rank[n] = len(rank)
        pending += reversed(nodes[n].children)
    return rank.__getitem__


def _below(nodes: tuple[TreeNode, ...], n: int) -> int:
    count, pending = 0, list(nodes[n].children)
    while pending:
        count += 1
        pending += nodes[pending.pop()].children
    return count


def _leaf_remarks(read: ModelParts, node: int, n: int) -> tuple[TypicalValue, ...]:
    """The values with most evidence at a node; none where it has a single class."""
    part = read.parts.part(node)
    if not part.scorer.speaks or (part.counts is not None and (part.counts.totals > 0).sum() < 2):
        return ()
    return distinguishing_values(evidence_of(read, node), None, n=n)
