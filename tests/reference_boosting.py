"""Slow, obvious twins of boosted and bagged naive Bayes, straight from the papers."""

from __future__ import annotations

import math

from reference import naive_bayes_joint

TIE = 1e-9
HIDDEN = 2.0**-18  # differences of errors that rounding of weights may hide


def best(scores):
    """The first class of the highest score; differences below rounding are ties."""
    return next(k for k, s in enumerate(scores) if s >= max(scores) - TIE)


def softmax(scores):
    shares = [math.exp(s - max(scores)) for s in scores]
    return [s / sum(shares) for s in shares]


class Boosting:
    """AdaBoost over naive Bayes on categories (None is missing).

    ``fresh`` gives the weights that Wiering takes when a round is no better than chance.
    """

    def __init__(self, algorithm, n_rounds, rate, alpha, classes, fresh=None, most_restarts=25):
        self.algorithm, self.n_rounds, self.rate = algorithm, n_rounds, rate
        self.alpha, self.classes, self.fresh = alpha, classes, fresh
        self.most_restarts = most_restarts

    def scores(self, weights, row):
        """Of the first real round: what the values say in the rows as they are, and no shares."""
        first = self.prior_alpha is None
        given, prior_alpha = (self.given, 0.0) if first else (weights, self.prior_alpha)
        known = (given, row, self.alpha, self.classes, prior_alpha)
        scores = naive_bayes_joint(self.rows, self.labels, *known)
        return [s - b for s, b in zip(scores, self.base, strict=True)] if first else scores

    def fit(self, rows, labels, given):
        self.rows, self.labels, self.given = rows, labels, given
        n, n_classes = len(rows), len(self.classes)
        chance = 0.5 if self.algorithm in ("m1", "probability") else 1 - 1 / n_classes
        chance -= HIDDEN
        votes_for_one = self.algorithm in ("m1", "samme")
        relative = [1.0] * n  # weight of each row beside its own
        weights, self.prior_alpha = list(given), 0.0
        self.base = [0.0] * n_classes
        if self.algorithm == "real":  # as after a first round that knows the classes' shares
            for c, name in enumerate(self.classes):
                own = sum(w for w, y in zip(given, labels, strict=True) if y == name)
                self.base[c] = math.log(own / sum(given))
            for i, y in enumerate(labels):
                margin = self.base[self.classes.index(y)] - sum(self.base) / n_classes
                relative[i] = math.exp(-margin)
            weights, self.prior_alpha = self.weigh(relative, given), None
        self.rounds, restarts = [], 0
        first_weights, first_alpha = weights, self.prior_alpha
        while True:
            prior_alpha = self.prior_alpha
            scores = [self.scores(weights, row) for row in rows]
            found = [self.classes[best(s)] for s in scores]
            missed = sum(w for w, f, y in zip(weights, found, labels, strict=True) if f != y)
            error = missed / sum(weights)
            own = [softmax(s)[self.classes.index(y)] for s, y in zip(scores, labels, strict=True)]
            if self.algorithm == "probability":
                error = sum(w * (1 - p) for w, p in zip(weights, own, strict=True)) / sum(weights)
            if not restarts and not self.rounds:
                self.first_error = error
            if error == 0 and votes_for_one:
                self.rounds = []
            elif error >= chance:
                if not votes_for_one or restarts == self.most_restarts:
                    break
                relative = list(self.fresh(restarts))
                restarts += 1
                weights, self.prior_alpha = self.weigh(relative, given), 0.5
                continue
            vote = self.vote(error, sum(given))
            self.rounds.append((vote, weights, prior_alpha, error))
            if error == 0 or len(self.rounds) == self.n_rounds:
                break
            for i, (s, f, y) in enumerate(zip(scores, found, labels, strict=True)):
                if self.algorithm == "real":
                    margin = s[self.classes.index(y)] - sum(s) / n_classes
                    relative[i] *= math.exp(-vote * max(min(margin, 36.0), -36.0))
                elif self.algorithm == "probability":
                    relative[i] *= math.exp(-vote * own[i])
                elif f == y:
                    relative[i] *= math.exp(-vote)
            weights, self.prior_alpha = self.weigh(relative, given), 0.5
        if self.algorithm == "real" and self.rounds:
            whole = min(1.0, self.rate * self.n_rounds)
            given_votes = sum(vote for vote, *_ in self.rounds)
            if given_votes < whole:
                share = whole / given_votes
                self.rounds = [(vote * share, *rest) for vote, *rest in self.rounds]
        if not self.rounds:
            n = sum(given)
            first = min(max(self.first_error, 0.5 / (n + 1)), 1 - 0.5 / (n + 1))
            vote = max(math.log((1 - first) * (n_classes - 1) / first), 2.0**-20)
            vote = min(1.0, self.rate * self.n_rounds) if self.algorithm == "real" else vote
            vote = 1.0 if self.algorithm == "probability" else vote
            self.rounds = [(vote, first_weights, first_alpha, self.first_error)]
        self.restarts = restarts
        return self

    def weigh(self, relative, given):
        scale = sum(given) / sum(r * g for r, g in zip(relative, given, strict=True))
        rounded = [round(r * scale * 2**20) * 2.0**-20 for r in relative]
        return [r * g for r, g in zip(rounded, given, strict=True)]

    def vote(self, error, n):
        if self.algorithm == "real":
            return self.rate
        error = max(error, 0.5 / (n + 1))
        vote = math.log((1 - error) / error)
        if self.algorithm == "samme":
            vote += math.log(len(self.classes) - 1)
        return self.rate * vote

    def probabilities(self, row):
        total = list(self.base)
        for vote, weights, prior_alpha, _ in self.rounds:
            self.prior_alpha = prior_alpha
            scores = self.scores(weights, row)
            if self.algorithm == "real":
                total = [t + vote * s for t, s in zip(total, scores, strict=True)]
            elif self.algorithm == "probability":
                total = [t + vote * p for t, p in zip(total, softmax(scores), strict=True)]
            else:
                share = len(self.classes) - 1 if self.algorithm == "samme" else 1
                total[best(scores)] += vote / share
        if self.algorithm == "probability":
            return [t / sum(total) for t in total]
        return softmax(total)


def bagging(rows, labels, given, draws, row, alpha, classes, voting):
    """Mean answer of naive Bayes on each bag; ``draws`` says how often a bag holds each row."""
    total = [0.0] * len(classes)
    for bag in draws:
        weights = [d * g for d, g in zip(bag, given, strict=True)]
        scores = naive_bayes_joint(rows, labels, weights, row, alpha, classes)
        own = softmax(scores)
        if voting == "hard":
            own = [float(k == scores.index(max(scores))) for k in range(len(classes))]
        total = [t + p / len(draws) for t, p in zip(total, own, strict=True)]
    return total
