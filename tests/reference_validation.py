"""Cross-validation of naive Bayes, fitted anew for every fold of every part."""

from __future__ import annotations

import numpy as np

import reference


def right_rows(slots, part, n_values, groups, weight, folds, alpha, missing_is_value, before):
    """Which rows are right; those without a part keep what they were before."""
    right = before.copy()
    for p in range(len(n_values)):
        for f in np.unique(folds):
            train = np.flatnonzero((part == p) & (folds != f))
            test = np.flatnonzero((part == p) & (folds == f))
            domains = [list(range(1, n + 1)) for n in n_values[p]]
            for j, domain in enumerate(domains):
                if missing_is_value and (slots[train, j] == 0).any():
                    domain.insert(0, 0)
            rows = [
                [v if v in domain else None for v, domain in zip(row, domains, strict=True)]
                for row in slots.tolist()
            ]
            classes = list(range(int(groups.max()) + 1))
            kinds = ["nominal"] * len(domains)
            twin = reference.NBTree(kinds, domains, classes, 0, alpha)
            model = twin.fit(
                [(rows[i], groups[i], weight[i], 0) for i in train], [None] * len(kinds)
            )
            for i in test:
                right[i] = model is not None and twin.predict(model, rows[i]) == groups[i]
    return right
