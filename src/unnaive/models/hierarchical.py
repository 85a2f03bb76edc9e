"""Hierarchical mixtures of naive Bayes classifiers (Wiering, 2003)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from unnaive.answer import Answer, GatedMixture
from unnaive.answer.mixture import MixtureStructure, check_layers
from unnaive.answer.nodes import Node
from unnaive.bayes import Smoothing
from unnaive.bayes.estimate import log_prior
from unnaive.bayes.scoring import build_scorer
from unnaive.common.checks import HEAVIEST, check_number, check_values, check_word, expect
from unnaive.common.threads import in_order, in_threads
from unnaive.counts import CountTable
from unnaive.counts.encoded_rows import GRAIN, check_same_counts, count_slots
from unnaive.counts.summary import refuse_new
from unnaive.counts.table import EXTRA_SLOTS
from unnaive.discretize import CoarseCoder, RuledEstimator
from unnaive.encode import GRID_LIMIT, Labels
from unnaive.encode.coders import AnyCoder, check_coders, coder_sizes
from unnaive.encode.hashing import assign_folds, branch_seed, branch_seeds, draw_order
from unnaive.encode.labels import label_groups, read_target
from unnaive.estimator import Progress, reports_progress
from unnaive.models import _hierarchical_kernels as kernels
from unnaive.models._hierarchical_kernels import BERNOULLI, Counters
from unnaive.models.base import FirstPass, TableClassifier, check_calibration
from unnaive.models.coded import CodedTable, code_block
from unnaive.models.held_out import CalibrationRows
from unnaive.table import Block, Source
from unnaive.table.records import MemoryRecords, Records, join_records, keep_records, whole_record

Layers: TypeAlias = tuple[int, ...]
Growth: TypeAlias = list[tuple[Layers, float]]  # architectures tried, with their accuracy

MIN_GAMMA = 1e-6
INITIAL_LAYERS: tuple[Layers, ...] = ((1,), (2,), (4,), (2, 2))
TASK_ROWS = 1 << 14  # rows of one task of a batch sweep
KERNEL_ROWS = 1 << 12  # rows whose codes are copied row by row at a time


def _has_layers(model: HierarchicalMixtureClassifier) -> bool:
    if isinstance(model.layers, str):
        raise AttributeError(
            "layers='grow' judges architectures on all rows: call fit, or give the layers."
        )
    return True


class HierarchicalMixtureClassifier(TableClassifier, RuledEstimator):
    """A hierarchical mixture of naive Bayes experts, weighted by naive Bayes gates.

    A gate is a naive Bayes whose classes are its children; its probabilities say how much each
    child is to be trusted with a row. Unlike naive Bayes, and unlike boosting or bagging it,
    mixtures can learn what no column tells alone, such as exclusive or.

    Training is Wiering's online generalized EM: experts learn a row as much as they are likely to
    have produced its class, and gates in favour of the child that is most likely to have.

    Parameters
    ----------
    layers : sequence of int or "grow", default=(12,)
        Children of every gate, by layer: ``(4,)`` (the paper's) is one gate over four experts,
        ``(2, 2)`` a root over two gates. ``"grow"`` grows while cross-validated accuracy improves.
    n_sweeps : int, default=5
        How often all rows are visited.
    sigma : float, default=0.1
        An expert that gives the true class the probability p is taken to be as likely as
        exp(-sigma (1 - p)): small values make experts part slowly.
    likelihood : {"gaussian", "bernoulli"}, default="gaussian"
        The paper's, as ``sigma`` says; or p itself, which it names too: experts part at once.
    gamma : float, default=0.5
        Pseudo-count of every counter, at least 1e-6; 0.1 in the paper.
    noise : float, default=0.01
        Counters start with a random number from 0 to this, so that experts differ.
    training : {"online", "batch"}, default="online"
        Learn after every row, as the paper does; or from all rows of a sweep together, which does
        not depend on their order: rows on a cluster then stay there, unless the layers grow.
    shuffle : bool, default=True
        Whether online sweeps visit the rows in random orders, or as they come.
    numeric : <rules> or dict, default="best"
        How numeric columns are cut (``"sigma"`` in the paper); see `NaiveBayesClassifier`.
    n_bins, bandwidth, class_weight, categorical_features, max_categories, grid_limit :
        As in `NaiveBayesClassifier`. Missing and unseen values are skipped.
    calibration : {"slope", "none"}, default="slope"
        Whether `fit` calibrates the probabilities by held-out rows of inner folds, with one factor
        and an intercept for each class. ``"none"`` is the paper's.
    cv : int, splitter or iterable, default=5
        Folds that compare architectures: a number, a splitter, or (train, test) positions.
    max_experts : int, default=16
        Largest architecture that ``layers="grow"`` tries.
    random_state : int, RandomState instance or None, default=None
        Seed of the noise, the order of the rows and the folds.
    n_jobs : int or None, default=None
        Threads, for reading, growing, batch training and answering; the model never depends on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        How the model answers, as plain data; see the guide on answers.
    layers_ : tuple of int
        The architecture.
    growth_ : list
        For ``layers="grow"``: each architecture tried and its cross-validated accuracy.
    table_ : CountTable
        Counters of all gates and experts, without pseudo-counts.
    mixture_ : Mixture
        Gates and experts, ready to answer.
    coders_ : tuple
        How each column is numbered, as in `NaiveBayesClassifier`.
    n_sweeps_ : int
        Sweeps made so far.
    seed_ : int
        What random choices depend on, also in :meth:`partial_fit`.
    factor_ : array of shape (n_classes,)
        What the weights of each class's rows are multiplied by.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    References
    ----------
    M. Wiering. Hierarchical Mixtures of Naive Bayesian Classifiers. UU-CS-2003-003.

    Examples
    --------
    >>> import pandas as pd
    >>> from unnaive import HierarchicalMixtureClassifier
    >>> X = pd.DataFrame({"a": list("0011") * 10, "b": list("0101") * 10})
    >>> y = X["a"] != X["b"]
    >>> model = HierarchicalMixtureClassifier(n_sweeps=50, random_state=0).fit(X, y)
    >>> model.score(X, y)
    1.0
    """

    _adds_up = False
    coders_: tuple[CoarseCoder, ...]
    factor_: NDArray[np.float64]
    layers_: tuple[int, ...]
    growth_: Growth
    n_sweeps_: int
    seed_: int

    def __init__(
        self,
        *,
        layers: Sequence[int] | str = (12,),
        n_sweeps: int = 5,
        sigma: float = 0.1,
        likelihood: str = "gaussian",
        gamma: float = 0.5,
        noise: float = 0.01,
        training: str = "online",
        shuffle: bool = True,
        numeric: str | Mapping[Any, str] = "best",
        n_bins: int = 10,
        bandwidth: str | float = "conditional",
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        grid_limit: int = GRID_LIMIT,
        calibration: str = "slope",
        cv: Any = 5,
        max_experts: int = 16,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.layers = layers
        self.n_sweeps = n_sweeps
        self.sigma = sigma
        self.likelihood = likelihood
        self.gamma = gamma
        self.noise = noise
        self.training = training
        self.shuffle = shuffle
        self.numeric = numeric
        self.n_bins = n_bins
        self.bandwidth = bandwidth
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.grid_limit = grid_limit
        self.calibration = calibration
        self.cv = cv
        self.max_experts = max_experts
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Learning -------------------------------------------------------------------------------

    def _fit_node(self, first: FirstPass) -> Node:
        counts = self._set_first_pass(first)
        with self._read_rows(first.source, first.summary.labels, counts) as rows:
            self.layers_, self.growth_ = self._choose_layers(rows)
            shape = MixtureStructure(self.layers_, len(self.classes_))
            progress = Progress(
                "training", self.n_sweeps, "sweeps", n_rows=first.summary.n_rows, step="sweep",
                steps=self.n_sweeps, hook=self._hook,
            )  # fmt: skip
            counters, self.n_sweeps_ = self._train(rows, shape, progress)
            progress.finish()
        return self._node(shape, counters)

    def _set_first_pass(self, first: FirstPass) -> CountTable:
        """Store what later calls need of the first pass; return its counts."""
        coarse = self._coarsen(first.summary, first.class_factor)
        self.coders_, self.factor_ = coarse.coders, coarse.factor
        self.seed_, self.classes_ = first.seed, first.summary.labels.classes
        self._remember(first.summary.schema)
        return coarse.counts

    @available_if(_has_layers)  # type: ignore[untyped-decorator]
    @reports_progress
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Take one sweep over more rows.

        The first call fixes the classes, the intervals and the categories: values that only later
        calls bring are skipped.

        Parameters
        ----------
        X, y :
            As in :meth:`fit`.
        classes : array-like or None, default=None
            All labels that will ever come; without it, those of the first call.
        sample_weight :
            As in :meth:`fit`.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._check_parameters()
        layers = check_layers(self.layers)
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all rows: call fit, or give a dict.")
        if not hasattr(self, "answer_"):
            source, summary = self._read(X, y, sample_weight)
            if classes is not None:
                summary = summary.announce(label_groups(read_target(classes))[0])
            counts: CountTable | None = self._set_first_pass(self._first_pass(source, summary))
            self.layers_, self.growth_, self.n_sweeps_ = layers, [], 0
            shape = MixtureStructure(layers, len(self.classes_))
            table = initial_table(shape, self.coders_, self.noise, self.seed_)
        else:
            shape, table = self.mixture_.shape, self.table_
            if layers != shape.layers:
                raise ValueError(
                    f"layers is now {layers}, but the model was begun with {shape.layers}; set it "
                    "back, or fit again."
                )
            source, counts = self._rows_to_learn(X, y, sample_weight, self.schema_), None
        seed = branch_seed(self.seed_, self.n_sweeps_)
        with self._read_rows(source, Labels(self.classes_), counts) as rows:
            counters = self._sweep(rows, shape, counters_of(table), seed)
        self.n_sweeps_ += 1
        self._set_answer(Answer(self.schema_, self.classes_, self._node(shape, counters)))
        return self

    @contextmanager
    def _read_rows(
        self, source: Source, labels: Labels, counts: CountTable | None
    ) -> Iterator[_Rows]:
        """Code the rows, whose counts are known from the first pass, and keep them meanwhile.

        They are one record where training visits one after another, or parts of them.
        """
        coders, factor = self.coders_, self.factor_

        def read(block: Block) -> tuple[CodedTable, CountTable]:
            assert block.target is not None
            refuse_new(labels, label_groups(block.target)[0])
            table = code_block(block, coders, labels, factor)
            sizes, n_classes = coder_sizes(coders), len(labels)
            return table, count_slots(table.codes, table.y, table.weight, sizes, n_classes)

        records, found = keep_records(source, read, operator.add)
        with records:
            if counts is not None:
                check_same_counts(self.schema_.names, counts, found)
            weight = float(found.totals.sum())
            if self.training == "batch" and self.layers != "grow":
                yield _Rows(records, weight)
                return
            table = join_records(list(records.each(whole_record)), source.storage)
        yield _Rows(MemoryRecords([table], source.storage), weight)

    def _train(
        self, rows: _Rows, shape: MixtureStructure, progress: Progress | None = None
    ) -> tuple[Counters, int]:
        """Take all sweeps, unless progress stops them; also return their number."""
        counters = counters_of(initial_table(shape, self.coders_, self.noise, self.seed_))
        n_sweeps = 0
        for seed in branch_seeds(self.seed_, self.n_sweeps):
            counters = self._sweep(rows, shape, counters, int(seed))
            n_sweeps += 1
            if progress is not None:
                progress.add(1)
                if progress.stopped:
                    break
        return counters, n_sweeps

    def _sweep(
        self, rows: _Rows, shape: MixtureStructure, counters: Counters, seed: int
    ) -> Counters:
        """Return the counters after one pass over the rows."""
        sigma = BERNOULLI if self.likelihood == "bernoulli" else float(self.sigma)
        every = _rescale_every(counters, rows.weight, self.gamma)
        learn = partial(_learn, shape, sigma, float(self.gamma), every)
        if self.training == "batch":
            visit = partial(_learn_together, learn, counters, self.n_jobs)
            return _add_counters(counters, rows.records.reduce(visit, _add_counters, "sweeping"))
        visit = partial(_learn_one_by_one, learn, counters, seed, self.shuffle)
        return rows.records.reduce(visit, _add_counters, "sweeping")

    def _choose_layers(self, rows: _Rows) -> tuple[Layers, Growth]:
        """Return the architecture, and the accuracies of those that were tried."""
        if self.layers != "grow":
            return check_layers(self.layers), []
        (table,) = rows.records.each(lambda record, _state: record)
        folds, n_folds = assign_folds(self.cv, self.seed_, table.row_ids, table.y)
        progress = Progress(
            "choosing layers", unit="architectures", step="architecture", steps=None,
            n_rows=len(table) * self.n_sweeps * n_folds, hook=self._hook,
        )  # fmt: skip

        def accuracy(layers: Layers) -> float:
            if progress.stopped:
                return -math.inf
            right = in_threads(
                lambda k: self._right(table, folds == k, layers), range(n_folds), self.n_jobs
            )
            progress.add(1)
            return math.fsum(right) / rows.weight

        best, tried = grow_layers(accuracy, self.max_experts)
        progress.finish()
        return best, [pair for pair in tried if pair[1] != -math.inf]

    def _right(self, table: CodedTable, held_out: NDArray[np.bool_], layers: Layers) -> float:
        """Return the weight of the held-out rows that a model of the others classifies rightly."""
        if held_out.all():
            return 0.0
        train, test = table.take(np.flatnonzero(~held_out)), table.take(np.flatnonzero(held_out))
        shape = MixtureStructure(layers, len(self.classes_))
        rows = _Rows(MemoryRecords([train]), float(train.weight.sum()))
        counters, _ = self._train(rows, shape)
        every = _rescale_every(counters, rows.weight, self.gamma)
        predicted = np.empty(len(test), np.intp)
        for part, slots in _slots_by_row(test, np.arange(len(test))):
            kernels.predict(slots, shape.net, self.gamma, every, counters, predicted[part])
        return float(test.weight @ (predicted == test.y))

    def _node(self, shape: MixtureStructure, counters: Counters) -> GatedMixture:
        """Return counters as a mixture that answers."""
        table, prior = _table_of(counters), np.empty(shape.n_units)
        for units in shape.models():
            prior[units] = log_prior(table.totals[units], self.gamma, None)
        smoothing = Smoothing(self.gamma, "skip")
        scorer = build_scorer(self.schema_, self.coders_, table, prior, smoothing)
        return GatedMixture(shape, scorer, table)

    def _fit_rows(self, first: FirstPass, rows: CalibrationRows) -> Node:
        fold = self._unfitted().set_params(layers=self.layers_, n_sweeps=self.n_sweeps_)
        return TableClassifier._fit_rows(fold, first, rows)

    @property
    def _n_passes(self) -> int:  # type: ignore[override]
        return 2 if self.calibration == "none" else 3

    def _n_tasks(self) -> int | None:
        return 2 if isinstance(self.layers, str) else 1

    def _check_parameters(self) -> None:
        for name in ("n_sweeps", "max_experts"):
            check_number(self, name, 1, whole=True)
        check_number(self, "sigma", 0, 100)
        check_number(self, "gamma", MIN_GAMMA)
        check_number(self, "noise", 0)
        check_word(self, "likelihood", "gaussian", "bernoulli")
        check_word(self, "training", "online", "batch")
        check_calibration(self)
        self._check_options()
        if self.layers != "grow":
            check_layers(self.layers)

    def _check_learned(self) -> None:
        super()._check_learned()
        expect(isinstance(self.answer_.core, GatedMixture), "the answer is no mixture.")
        shape, n = self.mixture_.shape, len(self.classes_)
        expect(shape.layers == self.layers_, "layers_ do not match answer_.")
        check_coders(self.coders_, self.schema_)
        self.table_.check_coders(self.coders_, shape.n_units)
        check_values("factor_", self.factor_, (n,), 0.0, HEAVIEST)
        for name in ("seed_", "n_sweeps_"):
            expect(0 <= getattr(self, name) < 2**31, f"{name} is {getattr(self, name)}.")

    @property
    def mixture_(self) -> GatedMixture:
        """Gates and experts, and how rows are shared among them."""
        mixture = self.answer_.core
        assert isinstance(mixture, GatedMixture)
        return mixture

    @property
    def table_(self) -> CountTable:
        """Counters of all gates and experts, without pseudo-counts."""
        return self.mixture_.counts

    # Answering ------------------------------------------------------------------------------

    def responsibilities(self, X: Any) -> Any:
        """Return the weight of each expert for each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_experts)
            Weights that sum to one; experts in the order of the leaves.
        """
        mixture, n_jobs = self.mixture_, self.n_jobs
        return self._open(X).map(lambda block: np.exp(mixture.responsibilities(block, n_jobs)[0]))


def grow_layers(accuracy: Callable[[Layers], float], max_experts: int) -> tuple[Layers, Growth]:
    """Return the best architecture on a path of improvements, and all that were tried.

    Small architectures are all tried: two experts may be too few to gain where four are enough.
    From the best on, either the last layer doubles or a layer of pairs is added, as long as the
    better of the two is more accurate than what is there. Ties go to the smaller one.
    """

    def is_allowed(layers: Layers) -> bool:
        return math.prod(layers) <= max_experts and not (layers[0] == 1 and len(layers) > 1)

    tried = [(layers, accuracy(layers)) for layers in INITIAL_LAYERS if is_allowed(layers)]
    best = max(tried, key=operator.itemgetter(1))
    while True:
        larger = [
            (layers, accuracy(layers))
            for layers in ((*best[0][:-1], 2 * best[0][-1]), (*best[0], 2))
            if is_allowed(layers) and layers not in dict(tried)
        ]
        tried += larger
        challenger = max(larger, key=operator.itemgetter(1), default=best)
        if challenger[1] <= best[1]:
            return best[0], tried
        best = challenger


# Rows and counters ------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """All rows, where they are, and their weight."""

    records: Records[CodedTable]
    weight: float


def _slots_by_row(
    table: CodedTable, rows: NDArray[np.intp]
) -> Iterator[tuple[slice, NDArray[np.uint16]]]:
    """Yield the codes of some rows as kernels take them: rows x features."""
    for start in range(0, len(rows), KERNEL_ROWS):
        part = slice(start, min(start + KERNEL_ROWS, len(rows)))
        yield part, np.take(table.codes, rows[part], axis=1).T.astype(np.uint16, order="C")


def _learn(
    shape: MixtureStructure,
    sigma: float,
    gamma: float,
    rescale_every: int,
    grain: float,
    table: CodedTable,
    rows: NDArray[np.intp],
    counters: Counters,
    new: Counters,
) -> None:
    """Score rows by counters, and add them to new ones (OUT), which may be the same."""
    for part, slots in _slots_by_row(table, rows):
        kernels.sweep(
            slots, table.y[rows[part]], table.weight[rows[part]], shape.net, sigma, gamma,
            rescale_every, grain, counters, new,
        )  # fmt: skip


def _learn_together(
    learn: Callable[..., None],
    counters: Counters,
    n_jobs: int | None,
    table: CodedTable,
    _state: Any,
) -> Counters:
    """Return what the rows of a record add to the counters, which score all of them."""

    def task(start: int) -> Counters:
        new = _zero_counters(counters)
        rows = np.arange(start, min(start + TASK_ROWS, len(table)))
        learn(GRAIN, table, rows, counters, new)
        return new

    total = _zero_counters(counters)
    for new in in_order(task, range(0, len(table), TASK_ROWS), n_jobs):
        total = _add_counters(total, new)
    return total


def _learn_one_by_one(
    learn: Callable[..., None],
    counters: Counters,
    seed: int,
    shuffle: bool,
    table: CodedTable,
    _state: Any,
) -> Counters:
    """Return the counters after learning one row after another."""
    order = draw_order(seed, table.row_ids) if shuffle else np.argsort(table.row_ids)
    moved = _add_counters(counters, _zero_counters(counters))
    learn(0.0, table, order, moved, moved)
    return moved


def initial_table(
    shape: MixtureStructure, coders: Sequence[AnyCoder], noise: float, seed: int
) -> CountTable:
    """Return the counters before the first row: a little noise, so that experts come to differ."""
    table = CountTable.empty(shape.n_units, coder_sizes(coders))
    rng = np.random.default_rng(seed)
    table.totals[:] = noise * rng.random(shape.n_units)
    for j in range(table.n_attributes):
        table.values(j)[:] = noise * rng.random(table.values(j).shape)
    return table


def counters_of(table: CountTable) -> Counters:
    """Return the counters of a table, as kernels need them."""
    n = table.n_attributes
    totals = np.array([table.values(j).sum(axis=1) for j in range(n)]).reshape(n, len(table.totals))
    sizes = np.diff(table.offsets) - EXTRA_SLOTS
    counts = np.ascontiguousarray(table.counts.T)
    return Counters(table.offsets, sizes.astype(np.float64), counts, totals, table.totals.copy())


def _table_of(counters: Counters) -> CountTable:
    return CountTable(
        np.ascontiguousarray(counters.counts.T), counters.offsets, counters.totals.copy()
    )


def _zero_counters(like: Counters) -> Counters:
    return Counters(like.offsets, like.sizes, *(np.zeros_like(part) for part in like[2:]))


def _add_counters(a: Counters, b: Counters) -> Counters:
    sums = (one + other for one, other in zip(a[2:], b[2:], strict=True))
    return Counters(a.offsets, a.sizes, *sums)


def _rescale_every(counters: Counters, weight: float, gamma: float) -> int:
    """Return how many counters can be multiplied before floats overflow or underflow."""
    largest = float(counters.totals.sum() + weight) + gamma * counters.sizes.max(initial=1.0)
    digits = max(np.log10(largest + 10.0), -np.log10(min(gamma, 0.1)))
    return max(1, int(140 / digits))
