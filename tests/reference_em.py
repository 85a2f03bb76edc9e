"""Slow, obvious twins of latent-class clustering: EM and drawing centres."""

from __future__ import annotations

import math
import struct

WORD = 2**64 - 1


def splitmix(seed: int, number: int) -> int:
    """64 bits at one place of the splitmix64 sequence of a seed."""
    z = (number + 1) * 0x9E3779B97F4A7C15 + (seed & WORD) * 0xD1342543DE82EF95 & WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & WORD
    return z ^ (z >> 31)


def value_key(row) -> int:
    """A number for a row from its values: slots (int) or floats, in this order."""
    key = 0
    for j, value in enumerate(row):
        bits = value if isinstance(value, int) else _float_bits(value)
        key = splitmix(j, key ^ bits)
    return key


def _float_bits(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", math.nan if value != value else value + 0.0))[0]


def centres(rows, seed: int, start: int, n: int):
    """Distinct rows chosen one by one, likelier the farther from those chosen; numbers in standard
    deviations, missing ones at the mean.
    """
    chosen = []
    for step in range(n):
        stage = splitmix(seed, (start << 32) + step)
        best, found = math.inf, None
        for row in rows:
            away = min((_distance(row, c) for c in chosen), default=1e300)
            draw = -math.log(((splitmix(stage, row["key"]) >> 11) + 0.5) * 2.0**-53)
            if away > 0 and draw / away < best:
                best, found = draw / away, row
        chosen.append(found)
    return chosen


def _distance(a, b) -> float:
    numbers = sum((x - z) ** 2 for x, z in zip(a["filled"], b["filled"], strict=True))
    return numbers + 2.0 * sum(s != t for s, t in zip(a["slots"], b["slots"], strict=True))


def random_shares(rows, seed: int, start: int, n: int):
    """The weight of each row in each component: even draws over their sum, by the row's values."""
    stages = [splitmix(seed, (start << 32) + k) for k in range(n)]
    parts = []
    for row in rows:
        draws = [((splitmix(stage, row["key"]) >> 11) + 0.5) * 2.0**-53 for stage in stages]
        parts.append([row["weight"] * round(d / sum(draws) * 2**20) / 2**20 for d in draws])
    return parts


class Mixture:
    """EM from given centres. Rows are dicts with standardized ``numbers`` (NaN missing) and
    ``slots`` (0 missing), and weigh ``weight``.
    """

    def __init__(self, rows, first, shares, alpha, prior_alpha, min_variance):
        self.rows = rows
        self.alpha, self.prior_alpha, self.floor = alpha, prior_alpha, min_variance
        k = len(first)
        self.share = [1 / k] * k
        self.mean = [list(c["filled"]) for c in first]
        self.variance = [[1.0] * len(c["filled"]) for c in first]
        self.chance = [
            [
                [
                    v if c["slots"][j] == 0 else 0.5 * v + 0.5 * (s + 1 == c["slots"][j])
                    for s, v in enumerate(column)
                ]
                for j, column in enumerate(shares)
            ]
            for c in first
        ]

    def joint(self, row):
        """P(component, row) of each component, as logs."""
        found = []
        for k, share in enumerate(self.share):
            total = math.log(share)
            for j, x in enumerate(row["numbers"]):
                if not math.isnan(x):
                    v = self.variance[k][j]
                    total -= 0.5 * math.log(2 * math.pi * v) + (x - self.mean[k][j]) ** 2 / (2 * v)
            for j, slot in enumerate(row["slots"]):
                if slot:
                    total += math.log(self.chance[k][j][slot - 1])
            found.append(total)
        return found

    def likelihood(self, row) -> float:
        logs = self.joint(row)
        return max(logs) + math.log(sum(math.exp(x - max(logs)) for x in logs))

    def objective(self) -> float:
        """Penalized log-likelihood per unit of weight."""
        total = sum(row["weight"] * self.likelihood(row) for row in self.rows)
        for k, share in enumerate(self.share):
            total += self.prior_alpha * math.log(share)
            total += self.alpha * sum(math.log(p) for column in self.chance[k] for p in column)
        return total / sum(row["weight"] for row in self.rows)

    def step(self) -> None:
        parts = []
        for row in self.rows:
            logs = self.joint(row)
            top = [math.exp(x - max(logs)) for x in logs]
            parts.append([row["weight"] * round(t / sum(top) * 2**20) / 2**20 for t in top])
        self.estimate(parts)

    def estimate(self, parts) -> None:
        """Parameters from the weight of each row in each component."""
        k_all = range(len(self.share))
        sums = [sum(p[k] for p in parts) for k in k_all]
        whole = sum(sums) + self.prior_alpha * len(sums)
        self.share = [(s + self.prior_alpha) / whole for s in sums]
        for k in k_all:
            for j in range(len(self.mean[k])):
                own = [
                    (p[k], row["numbers"][j])
                    for p, row in zip(parts, self.rows, strict=True)
                    if not math.isnan(row["numbers"][j])
                ]
                weight = sum(w for w, _ in own)
                self.mean[k][j] = mean = sum(w * x for w, x in own) / weight
                spread = sum(w * (x - mean) ** 2 for w, x in own) / weight
                self.variance[k][j] = max(spread, self.floor)
            for j, column in enumerate(self.chance[k]):
                counts = [self.alpha] * len(column)
                for p, row in zip(parts, self.rows, strict=True):
                    if row["slots"][j]:
                        counts[row["slots"][j] - 1] += p[k]
                self.chance[k][j] = [c / sum(counts) for c in counts]
