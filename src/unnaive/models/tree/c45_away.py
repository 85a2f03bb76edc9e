"""C4.5 where the rows are: trees level by level, from tables that are summed on workers.

A pass sums the tables (node x column x code x class) of all nodes of a level, in all trees at once.
The rows of nodes that are small by then move to one place each, where kernels for rows in memory
finish the trees below. What is left is to prune the nodes above: whether a branch should stand in
the place of its parent is asked of all nodes that do not depend on each other in one pass.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.class_tree import ClassTree
from unnaive.encode import Categories, Grid, Labels
from unnaive.models._halves import n_half_models
from unnaive.models.tree import prune_kernels
from unnaive.models.tree.c45 import C45Rules, Pruned, column_table, number_nodes, report_growing
from unnaive.models.tree.c45_away_kernels import best_counted_test
from unnaive.models.tree.c45_kernels import Nodes, may_ask, ready_bits, shares
from unnaive.models.tree.c45_workers import (
    Beneath,
    C45Rows,
    Paths,
    Sums,
    Tally,
    blank_nodes,
    code_rows,
    count_children,
    finish_nodes,
    join_nodes,
    place_rows,
    portions,
    rows_of_nodes,
    select_nodes,
    sum_nodes,
)
from unnaive.table import Source
from unnaive.table.passes import Hook
from unnaive.table.records import Records, as_they_are
from unnaive.table.storage import refuse_change

# Weight of nodes that are finished in one place: this; or a share of all, so that there are never
# more than some hundreds of others; or so many times the rows that take as many bytes as a table:
# rows that move cost less than tables of fine numbers from every partition.
FEW = (1 << 18, 1 / 256, 4.0)
# Rows of small nodes that move at a time: this part of all, so that they take little room beside
# those that stay, but those of a few nodes, which workers grow side by side.
PORTIONS, LEAST_PORTION = 8, 4
MOST_BYTES = 1 << 26  # of tables in one pass
# Sums of so much weight are exact in units of 2**-20, of which fractions of rows are multiples.
HEAVIEST = 2.0**32


def grow_away(
    source: Source,
    coders: list[Grid | Categories | None],
    labels: Labels,
    class_weight: NDArray[np.float64],
    n_rows: int,
    rules: C45Rules,
    hook: Hook | None,
) -> list[ClassTree] | None:
    """The trees of all rows and, for calibration, of halves; None if rows are to come here.

    They are if the source says so, and where weights are no whole numbers: then the last bits of
    sums depend on their order.
    """
    away = source.keep_away(partial(code_rows, coders, labels, class_weight), operator.add)
    if away is None:
        return None
    records, tally = away
    with records:
        refuse_change(n_rows, tally.n_rows)
        halves = rules.for_shares and 0 < tally.n_second < n_rows
        n_roots = 1 + n_half_models(n_rows) if halves else 1
        if tally.n_broken or tally.weight[0] >= HEAVIEST:
            return None
        with report_growing(n_rows, hook):
            return AwayTrees(records, tally, coders, len(labels), rules, n_roots).learn()


class AwayTrees:
    """Trees that grow, side by side; the first nodes are their roots.

    Attributes
    ----------
    nodes : Nodes
        See there; lists of rows are empty.
    parent, tree : arrays of shape (nodes,)
        Parent of each node, and the root of its tree.
    share : array of shape (nodes,)
        What each node gets of a row whose value its parent does not know; NaN if not known yet.
    small : dict
        Nodes that are finished in one place, and their weight at most.
    """

    def __init__(
        self,
        records: Records[C45Rows],
        tally: Tally,
        coders: list[Grid | Categories | None],
        n_classes: int,
        rules: C45Rules,
        n_roots: int,
    ) -> None:
        self.records, self.rules, self.n_classes, self.n_roots = records, rules, n_classes, n_roots
        self.coders, self.limits = coders, rules.limits
        n_rows = [tally.n_rows, tally.n_rows - tally.n_second, tally.n_second][:n_roots]
        self.columns = [column_table(coders, n) for n in n_rows]
        self.weight = tally.weight[:n_roots]
        self.ready = [ready_bits(weight) for weight in self.weight]
        self.offsets = np.concatenate(([0], np.cumsum(self.columns[0].sizes + 1)))
        self.table_bytes = max(1, 8 * int(self.offsets[-1]) * n_classes)
        row_bytes = 2 * len(coders) + 1
        self.few = max(FEW[0], FEW[1] * self.weight[0], FEW[2] * self.table_bytes / row_bytes)
        self.missing = np.zeros(len(coders), bool)  # columns with values that rows do not have
        self.nodes = blank_nodes(n_roots, n_classes, 0)
        self.parent, self.tree = np.full(n_roots, -1), np.arange(n_roots)
        self.share = np.zeros(n_roots)
        self.small: dict[int, float] = {}

    def learn(self) -> list[ClassTree]:
        """The pruned trees, with the tests that are kept."""
        self.grow()
        self.finish_small()
        if self.rules.prune:
            self.prune()
        trees = []
        for root in range(self.n_roots):
            prune_kernels.restore(self.nodes, self.grown, self.keep, root)
            trees.append(number_nodes(self.nodes, root, self.coders, self.rules.alpha))
        return trees

    # Growing --------------------------------------------------------------------------------

    def grow(self) -> None:
        """Give all nodes tests but those that are small."""
        level = self._large(np.arange(self.n_roots), self.weight)
        portion = max(1, MOST_BYTES // self.table_bytes)
        while level:
            below: list[int] = []
            for start in range(0, len(level), portion):
                below += self._test_nodes(level[start : start + portion])
            level = below

    def _large(self, nodes: Iterable[int], weight: Iterable[float]) -> list[int]:
        """Those of nodes that are not small; the others are noted."""
        every = dict(zip(map(int, nodes), map(float, weight), strict=True))
        self.small |= {node: weight for node, weight in every.items() if weight <= self.few}
        return [node for node in every if node not in self.small]

    def _test_nodes(self, some: list[int]) -> list[int]:
        """Give some nodes tests, in one pass; their children that are not yet finished."""
        sums = self._sum(self.nodes, self.share, some, self.offsets)
        by_column = np.split(sums.tables, self.offsets[1:-1], axis=1)
        if some[0] == 0:
            self.missing = np.array([tables[0, 0].any() for tables in by_column], dtype=bool)
        parts, open_nodes = [self.nodes], []
        n_nodes, n_routes = len(self.parent), len(self.nodes.route)
        rules, nodes = self.rules, self.nodes
        for i, node in enumerate(some):
            by_class = nodes.class_weight[node] = sums.class_weight[i]
            r, depth = self.tree[node], int(nodes.depth[node])
            if not may_ask(by_class, rules.min_rows, depth == rules.deepest):
                continue
            j, worth, cut = best_counted_test(
                self.columns[r], sums.tables[i], self.offsets, by_class.sum(), rules.min_rows,
                rules.penalty, rules.by_ratio, rules.ratio, self.ready[r],
            )  # fmt: skip
            if j < 0:
                continue
            known, route = count_children(by_column[j][i], cut, bool(self.columns[r].numeric[j]))
            nodes.attribute[node], nodes.cut[node], nodes.worth[node] = j, cut, worth
            nodes.first[node], nodes.n_children[node] = n_nodes, len(known)
            nodes.route_start[node] = n_routes
            children = np.arange(n_nodes, n_nodes + len(known))
            parts.append(blank_nodes(len(known), self.n_classes, depth + 1)._replace(route=route))
            parts[-1].class_weight[:] = known
            self.parent = np.append(self.parent, np.full(len(known), node))
            self.tree = np.append(self.tree, np.full(len(known), r))
            self.share = np.append(self.share, shares(known.sum(axis=1)))
            unknown = by_column[j][i, 0]
            most, last = known + unknown, depth + 1 == rules.deepest
            asks = np.array([unknown.any() or may_ask(m, rules.min_rows, last) for m in most])
            open_nodes += self._large(children[asks], most.sum(axis=1)[asks])
            n_nodes, n_routes = n_nodes + len(known), n_routes + len(route)
        self.nodes = join_nodes(parts)
        return open_nodes

    def _paths(self, nodes: Nodes, share: NDArray[np.float64], some: Iterable[int]) -> Paths:
        """Trees through which rows come to some nodes."""
        live = np.zeros(len(nodes.attribute), bool)
        for node in some:
            at = node
            while at >= 0 and not live[at]:
                live[at] = True
                at = self.parent[at] if at < len(self.parent) else -1  # a copy, whose parent is one
        columns = self.columns[0]._replace(low=np.empty(0), high=np.empty(0))
        nodes = nodes._replace(class_weight=nodes.class_weight[:0])
        return Paths(columns, nodes, share, live, self.n_roots)

    def _sum(
        self,
        nodes: Nodes,
        share: NDArray[np.float64],
        some: list[int],
        offsets: NDArray[np.int64] | None = None,
    ) -> Sums:
        paths = self._paths(nodes, share, some)
        visit = partial(sum_nodes, paths, np.array(some), offsets)
        name = "pruning" if offsets is None else f"{len(some)} nodes of a level"
        return self.records.reduce(visit, operator.add, name)

    # Small nodes ----------------------------------------------------------------------------

    def finish_small(self) -> None:
        """Grow and prune what is below small nodes, each in one place."""
        n = len(self.parent)
        trees = self._grow_below() if self.small else {}
        errors, description, keep = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, bool)
        for node, tree in trees.items():
            self.nodes.class_weight[node] = tree.nodes.class_weight[0]
            errors[node], description[node], keep[node] = (
                tree.errors[0], tree.description[0], tree.keep[0],
            )  # fmt: skip
        self.grown = Nodes._make(array.copy() for array in self.nodes)
        prune_kernels.collapse(self.nodes, errors)
        if self.rules.for_shares:
            prune_kernels.worth_keeping(self.columns[0], self.grown, description, keep)
        self.keep = np.concatenate((keep, *(tree.keep[1:] for tree in trees.values())))
        self._attach(trees)

    def _grow_below(self) -> dict[int, Pruned]:
        """Trees below small nodes; rows move a portion at a time, beside those that stay."""
        most = max(self.weight[0] / PORTIONS, LEAST_PORTION * self.few)
        return functools.reduce(operator.or_, map(self._grow_portion, portions(self.small, most)))

    def _grow_portion(self, small: NDArray[np.int64]) -> dict[int, Pruned]:
        weight = np.array([self.small[node] for node in small.tolist()])
        before = (np.cumsum(weight) - weight) / weight.sum()  # places share the rows evenly
        place = (before * 2.0**32).astype(np.uint64) << np.uint64(32)
        ordinary = np.stack([columns.ordinary for columns in self.columns])[self.tree[small]]
        beneath = Beneath(small, self.nodes.depth[small], ordinary, self.weight[self.tree[small]])
        select = partial(rows_of_nodes, self._paths(self.nodes, self.share, small.tolist()), small)
        finish = partial(finish_nodes, self.columns[0], beneath, self.n_classes, self.rules)
        with self.records.regroup(
            partial(place_rows, small, place), as_they_are, select
        ) as together:
            return together.reduce(finish, operator.or_, "growing below small nodes")

    def _attach(self, trees: dict[int, Pruned]) -> None:
        """Put pruned trees below the nodes that are their roots; the others are not settled yet."""
        n, n_routes = len(self.parent), len(self.nodes.route)
        more = [(self.nodes, self.grown)]
        by_node = [(self.parent, np.zeros(n), np.zeros(n), np.ones(n, bool))]
        for node, tree in trees.items():
            both = []
            for mine, below in zip(more[0], tree[:2], strict=True):
                first = np.where(below.first > 0, below.first + n - 1, below.first)
                moved = below._replace(first=first, route_start=below.route_start + n_routes)
                prune_kernels.take_test(mine, node, moved, 0)
                both.append(select_nodes(moved, slice(1, None)))
            more.append((both[0], both[1]))
            _, estimate, staying, dirty = by_node[0]
            estimate[node], staying[node], dirty[node] = tree.estimate[0], tree.staying[0], False
            n_below = len(tree.keep) - 1
            parent = np.full(n_below, -1)  # nobody is led there
            by_node.append((parent, tree.estimate[1:], tree.staying[1:], np.zeros(n_below, bool)))
            n, n_routes = n + n_below, n_routes + len(tree.nodes.route)
        self.nodes, self.grown = (join_nodes(parts) for parts in zip(*more, strict=True))
        joined = (np.concatenate(parts) for parts in zip(*by_node, strict=True))
        self.parent, self.estimate, self.staying, self.dirty = joined
        self.share = np.concatenate((self.share, np.full(n - len(self.share), np.nan)))

    # Pruning --------------------------------------------------------------------------------

    def prune(self) -> None:
        """Replace subtrees by a leaf or a branch, children before their parents."""
        while trials := self._settle_all():
            self._try_branches(trials)

    def _settle_all(self) -> list[int]:
        """Decide all that can be; nodes with branches that only the rows can judge."""
        trials: list[int] = []
        waiting: set[int] = set()
        roots = range(self.n_roots)
        nodes = [*roots, *(node for r in roots for node in prune_kernels.below(self.nodes, r))]
        for node in sorted(map(int, nodes), reverse=True):
            if not waiting.isdisjoint(_children(self.nodes, node)):
                waiting.add(node)
            elif self.dirty[node] and not self._settle(node):
                trials.append(node)
                waiting.add(node)
        return trials[::-1]

    def _settle(self, node: int, branch: float | None = None) -> bool:
        """Make a node a leaf or leave it as it is; False if a branch is better, or not judged."""
        nodes = self.nodes
        leaf = prune_kernels.as_leaf(nodes.class_weight[node], *self.limits)
        best, tree = 0, leaf
        if nodes.attribute[node] >= 0:
            largest, tree = prune_kernels.largest_child(nodes, node, self.staying, self.estimate)
            if branch is None and self.rules.raising and nodes.attribute[largest] >= 0:
                return False
            best = prune_kernels.simplest(leaf, np.inf if branch is None else branch, tree)
        if best == 1:
            return False
        if best == 0:
            nodes.attribute[node] = -1
        self.estimate[node], self.dirty[node] = leaf if best == 0 else tree, False
        return True

    def _try_branches(self, trials: list[int]) -> None:
        """Put the largest branches of nodes in their places, where they err no more there."""
        before, n = self.nodes, len(self.parent)
        nodes, copies = self._raise(trials)
        n_new = len(nodes.attribute) - n
        sums, share = self._spread(nodes, [*trials, *range(n, n + n_new)])
        nodes.class_weight[n:] = sums.class_weight[len(trials) :]
        staying = np.concatenate((self.staying, np.zeros(n_new)))
        parent = np.concatenate((self.parent, np.zeros(n_new, np.int64)))
        for i, node in enumerate([*trials, *range(n, n + n_new)]):
            by_class = nodes.class_weight[node]
            stay = prune_kernels.errors_of_staying(sums.stay[i], by_class, *self.limits)
            staying[node] = stay
            parent[_slice(_children(nodes, node))] = node
        keep = np.ones(n + n_new, bool)
        for node, part in zip(trials, copies, strict=True):
            given = nodes.class_weight, staying, *self.limits
            if self._settle(node, prune_kernels.branch_errors(nodes, node, *given)):
                prune_kernels.take_test(nodes, node, before, node)
                staying[node], keep[part] = self.staying[node], False
        place = np.cumsum(keep) - 1
        self.nodes = select_nodes(nodes, keep)._replace(first=place[nodes.first[keep]])
        self.parent, self.share, self.staying = place[parent[keep]], share[keep], staying[keep]
        self.parent[: self.n_roots] = -1
        self.estimate = np.concatenate((self.estimate, np.zeros(n_new)))[keep]
        self.dirty = np.concatenate((self.dirty, np.ones(n_new, bool)))[keep]

    def _raise(self, trials: list[int]) -> tuple[Nodes, list[slice]]:
        """The trees with the largest branches of nodes in their places; nodes below are copies, one
        stretch of them for each branch.
        """
        parts, copies, raised, end = [self.nodes], [], [], len(self.parent)
        for node in trials:
            branch = prune_kernels.largest_child(self.nodes, node, self.staying, self.estimate)[0]
            below = prune_kernels.below(self.nodes, branch)
            place = np.zeros(end, np.int64)
            place[below] = np.arange(end, end + len(below))
            part = select_nodes(self.nodes, below)._replace(route=self.nodes.route[:0])
            parts.append(part._replace(first=place[part.first]))
            copies.append(slice(end, end + len(below)))
            end += len(below)
            raised.append((node, branch))
        nodes = join_nodes(parts)
        for (node, branch), stretch in zip(raised, copies, strict=True):
            prune_kernels.take_test(nodes, node, self.nodes, branch)
            nodes.first[node] = stretch.start  # children come first among the copies
        return nodes, copies

    def _spread(self, nodes: Nodes, some: list[int]) -> tuple[Sums, NDArray[np.float64]]:
        """Sums of nodes when branches are in new places, and all shares.

        Where a column has missing values, one pass says how rows without a value are shared out,
        and the next leads them on.
        """
        share = np.concatenate((self.share, np.zeros(len(nodes.attribute) - len(self.share))))
        for node in some:
            if self.missing[nodes.attribute[node]]:
                share[_slice(_children(nodes, node))] = np.nan
        while True:
            sums, not_reached, again = self._sum(nodes, share, some), set[int](), False
            for node in some:
                children = _children(nodes, node)
                if node not in not_reached and children and np.isnan(share[children.start]):
                    share[_slice(children)] = shares(sums.known[_slice(children)])
                    again = True
                elif node not in not_reached:
                    continue
                not_reached.update(children)
            if not again:
                return sums, share


def _children(nodes: Nodes, node: int) -> range:
    first = int(nodes.first[node])
    return range(first, first + int(nodes.n_children[node]) * int(nodes.attribute[node] >= 0))


def _slice(children: range) -> slice:
    return slice(children.start, children.stop)
