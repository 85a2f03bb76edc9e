"""Rounds of boosting over coded rows: count, build, judge, reweigh."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer
from unnaive.bayes.coded import coded_scores, judge, own_probabilities
from unnaive.bayes.scoring import LEAST_SHARE, add_scorers, log_probabilities, probabilities
from unnaive.counts import CountTable
from unnaive.counts.exact import exact_parts
from unnaive.encode.coding import AnyCoder
from unnaive.encode.draws import branch_seeds
from unnaive.estimator import Progress
from unnaive.models.ensemble.split import Split, SplitRows, add_pairs, learning_rows
from unnaive.models.ensemble.weighing import STEEPEST, RowState, Verdict
from unnaive.models.ensemble.weights import RowWeights
from unnaive.table.storage import Storage

LEAST_VOTE = 2.0**-20
HIDDEN = 2.0**-18  # differences of errors that rounding of weights may hide
MOST_RESTARTS = 25  # as often as Bauer and Kohavi start again


@dataclass(frozen=True, slots=True)
class Rules:
    """When rounds are taken, how they count, and when to stop; see the classifier's parameters."""

    algorithm: str
    n_rounds: int
    learning_rate: float
    patience: int
    seed: int


class Made(NamedTuple):
    """The naive Bayes of a round, and the counts that it is made of.

    ``share`` is what a row of weight 1 counts there; None where every row counts 1, whatever it
    weighs.
    """

    scorer: Scorer
    counts: CountTable
    share: float | None = None


@dataclass(slots=True)
class Boosted:
    """What rounds leave: for each what it is made of, a vote, and how it went.

    ``errors`` are weighted errors, ``losses`` held-out log losses after each round (empty without
    early stopping).
    """

    made: list[Made] = field(default_factory=list)
    votes: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    restarts: int = 0

    @property
    def scorers(self) -> list[Scorer]:
        return [made.scorer for made in self.made]

    def keep(self, made: Made, vote: float, error: float) -> None:
        self.made.append(made)
        self.votes.append(vote)
        self.errors.append(error)

    def cut(self, n: int) -> None:
        """Forget all rounds but the first n."""
        for one in (self.made, self.votes, self.errors, self.losses):
            del one[n:]


def chance(algorithm: str, n_classes: int) -> float:
    """Weighted error from which on a round is worth nothing.

    A round that repeats the last has that error, to the rounding of weights.
    """
    return (0.5 if algorithm in ("m1", "probability") else 1.0 - 1.0 / n_classes) - HIDDEN


def round_vote(error: float, n_rows: float) -> float:
    """AdaBoost's vote of a round with this weighted error, among rows of so much weight."""
    error = max(error, 0.5 / (n_rows + 1.0))  # less than half a row cannot be told from none
    return math.log((1.0 - error) / error)


def class_scores(algorithm: str, scores: NDArray[np.float64], vote: float) -> NDArray[np.float64]:
    """What one round adds to the log probability of each class, given its scores.

    ``"real"`` adds its own log probabilities; ``"probability"`` its probabilities, of which
    `joined_logs` takes the mean; otherwise the best class gets the vote. A class's votes are the
    log-odds for it, which is how AdaBoost fits an additive logistic model; with more than two
    classes SAMME's are K - 1 times as much.
    """
    if algorithm == "real":
        return vote * scores
    if algorithm == "probability":
        return vote * probabilities(scores)
    out = np.zeros_like(scores)
    share = round_share(algorithm, scores.shape[1])
    out[np.arange(len(scores)), scores.argmax(axis=1)] = vote / share
    return out


def joined_logs(
    algorithm: str, added: NDArray[np.float64], votes: Sequence[float]
) -> NDArray[np.float64]:
    """Log probabilities, given what all rounds have added."""
    if algorithm == "probability":
        return np.log(np.maximum(added / math.fsum(votes), LEAST_SHARE))
    return log_probabilities(added)


def round_share(algorithm: str, n_classes: int) -> int:
    """By how much a round's vote is divided among the classes."""
    return max(n_classes - 1, 1) if algorithm == "samme" else 1


class Booster:
    """Takes rounds.

    ``build`` makes a scorer of counts, ``progress`` counts rounds and may stop them. With
    ``leave_out``, the evidence of a round for a row that was not counted, rows are judged by that,
    and counts are those of as many equal rows as say as much. ``watch`` says which rows' weights in
    every round are kept (see `RowWeights`).
    """

    def __init__(
        self,
        split: Split,
        coders: Sequence[AnyCoder],
        n_classes: int,
        build: Callable[[CountTable], Scorer],
        rules: Rules,
        n_jobs: int | None = None,
        progress: Progress | None = None,
        leave_out: Callable[[Made], Scorer] | None = None,
        watch: Callable[[SplitRows], NDArray[np.intp]] | None = None,
    ) -> None:
        self.records, self.holds_out, self.progress = split.records, split.holds_out, progress
        self.leave_out, self.watch = leave_out, watch
        self.coders, self.n_classes, self.build, self.rules = coders, n_classes, build, rules
        self.weights = RowWeights(
            split.records, split.weight, n_jobs, learning_rows, watch, (coders, n_classes)
        )
        self.seeds = branch_seeds(rules.seed, MOST_RESTARTS)
        self.boosted = Boosted()
        self.first_error = 1.0
        self.base: NDArray[np.float64] | float = 0.0  # what rounds are added to

    def start_from(self, log_prior: NDArray[np.float64]) -> None:
        """Take the classes' shares as known: rounds begin with as much weight for each class."""
        self.base, mean = log_prior, float(log_prior.mean())
        # The rows of each class then weigh e to the mean together, in units of all rows.
        log_mean = mean + math.log(self.n_classes)
        self.weights.start_from(partial(_class_margins, log_prior - mean), log_mean)

    def run(self, first: Made) -> Boosted:
        """All rounds; ``first`` is naive Bayes on the rows as they weigh at first."""
        boosted, n_classes = self.boosted, self.n_classes
        real, limit = self.rules.algorithm == "real", chance(self.rules.algorithm, n_classes)
        made = first
        votes_for_one = self.rules.algorithm in ("m1", "samme")
        while True:
            error = self._judge(made, last=len(boosted.made) + 1 == self.rules.n_rounds)
            if made is first:
                self.first_error = error
            if error == 0.0 and votes_for_one:
                boosted.cut(0)  # a round without error decides alone
                self._forget_outlook()
            elif error >= limit and n_classes > 1:
                if not votes_for_one or boosted.restarts == MOST_RESTARTS:
                    break
                self._refresh()
                made = self.count_round()
                continue
            vote = self._vote(error, n_classes)
            boosted.keep(made, vote, error)
            self._look_ahead(made.scorer, vote)
            stopped = self._count_round()
            done = len(boosted.made) == self.rules.n_rounds or self._no_recent_gain()
            if error == 0.0 or done or stopped:
                break
            self.weights.lower(vote)
            made = self.count_round()
        if real and boosted.made and not boosted.losses:
            self._rescale_votes()
        if not boosted.made:  # no round was better than chance: naive Bayes answers
            boosted.keep(first, self._lone_vote(n_classes), self.first_error)
        if boosted.losses:
            boosted.cut(int(np.argmin(boosted.losses)) + 1)
        return boosted

    def _refresh(self) -> None:
        """Fresh weights, after a round that is no better than chance."""
        self.weights.refresh(int(self.seeds[self.boosted.restarts]))
        self.boosted.restarts += 1

    def _judge(self, made: Made, last: bool = False) -> float:
        """The error of a round on its own rows; of the last weights stay as they are."""
        without = None if self.leave_out is None else self.leave_out(made)
        say = partial(_say, self.rules.algorithm, made.scorer, without)
        known = self.rules.learning_rate if self.rules.algorithm == "real" else None
        return self.weights.judge(say, known, last)

    def _count_round(self) -> bool:
        """Report a round; whether to take no other."""
        if self.progress is not None:
            self.progress.add(1)
        return self.progress is not None and self.progress.stopped

    def _rescale_votes(self) -> None:
        """Where rounds ended early, those taken are together as sure as one naive Bayes would be,
        or as sure as all rounds would have been if that is less.
        """
        whole = min(1.0, self.rules.learning_rate * self.rules.n_rounds)
        given = math.fsum(self.boosted.votes)
        if given < whole:
            self.boosted.votes[:] = [vote * (whole / given) for vote in self.boosted.votes]

    def count_round(self) -> Made:
        """Naive Bayes on the rows as they weigh now."""
        return self._make(self._count())

    def _make(self, counts: CountTable) -> Made:
        """The naive Bayes of counts of the rows as they weigh now."""
        return Made(self.build(counts), counts, None if self.leave_out is None else self._share())

    def _count(self) -> CountTable:
        counts = self.weights.count()
        return counts.scale_groups(np.full(self.n_classes, self._share()))

    def _share(self) -> float:
        """What a row of weight 1 counts."""
        worth = self.weights.worth
        return worth if self.leave_out is None else worth * self.weights.effective_share()

    def _vote(self, error: float, n_classes: int) -> float:
        if self.rules.algorithm == "real":
            return self.rules.learning_rate
        vote = round_vote(error, self.weights.given)
        if self.rules.algorithm == "samme":
            vote += math.log(max(n_classes - 1, 1))
        return self.rules.learning_rate * vote

    def _lone_vote(self, n_classes: int) -> float:
        """A vote that makes naive Bayes, alone, as sure as it is often right."""
        if self.rules.algorithm == "real":
            return min(1.0, self.rules.learning_rate * self.rules.n_rounds)
        if self.rules.algorithm == "probability":
            return 1.0  # a mean of one
        floor = 0.5 / (self.weights.given + 1.0)
        error = min(max(self.first_error, floor), 1.0 - floor)
        return max(math.log((1.0 - error) * (n_classes - 1) / error), LEAST_VOTE)

    def _foresee(self, scorer: Scorer, vote: float, votes: Sequence[float]) -> tuple[Any, float]:
        """What all rounds say of the rows held out, with this one; with the votes of all, numbers
        that sum to their log loss, and what they weigh.
        """
        if not self.holds_out:
            return [], 0.0
        step = partial(
            _foresee, self.rules.algorithm, scorer, vote, list(votes), self.base,
            self.records.storage,
        )  # fmt: skip
        return self.records.advance(step, add_pairs, "watching")

    def _forget_outlook(self) -> None:
        if self.holds_out:
            self.records.advance(_without_outlook, operator.add, "watching")

    def _look_ahead(self, scorer: Scorer, vote: float) -> None:
        """Log loss on the held-out rows with this round."""
        if self.holds_out:
            losses, whole = self._foresee(scorer, vote, self.boosted.votes)
            self.boosted.losses.append(math.fsum(losses) / whole)

    def _no_recent_gain(self) -> bool:
        """Whether the held-out rows have not gained for a while."""
        losses = self.boosted.losses
        return len(losses) > 0 and len(losses) - 1 - int(np.argmin(losses)) >= self.rules.patience


# What passes do with a record, on whatever machine it is --------------------------------------


def _class_margins(margin: NDArray[np.float64], record: SplitRows) -> NDArray[np.float64]:
    return margin[record.learning.groups]


def _say(
    algorithm: str, scorer: Scorer, without: Scorer | None, record: SplitRows
) -> Callable[[slice], Verdict]:
    """What a round says of its own rows."""
    if algorithm != "probability":
        return judge(record.learning, scorer, without)
    own = own_probabilities(record.learning, scorer)
    return lambda part: (own(part), None)


def _foresee(
    algorithm: str,
    scorer: Scorer,
    vote: float,
    votes: list[float],
    base: NDArray[np.float64] | float,
    storage: Storage,
    record: SplitRows,
    state: RowState | None,
) -> tuple[RowState, tuple[list[float], float]]:
    rows, state = record.held_out, state or RowState()
    assert rows is not None
    added = class_scores(algorithm, coded_scores(rows, scorer), vote)
    before = base if state.outlook is None else state.outlook
    outlook = storage.copy(before + added)
    new = replace(state, outlook=outlook)
    if not votes:
        return new, ([], 0.0)
    logs = joined_logs(algorithm, outlook, votes)[np.arange(rows.n_rows), rows.groups]
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    losses = weight * np.minimum(-logs, STEEPEST)
    return new, (exact_parts(losses.tolist()), float(weight.sum()))  # exact in any order


def _without_outlook(_record: SplitRows, state: RowState) -> tuple[RowState, int]:
    return replace(state, outlook=None), 0


def add_rounds(
    scorers: Sequence[Scorer], votes: Sequence[float], prior: NDArray[np.float64]
) -> Scorer:
    """The evidence of all rounds, and the classes' shares that they begin with."""
    scorer = add_scorers(scorers, votes)
    return replace(scorer, log_prior=prior + scorer.log_prior)
