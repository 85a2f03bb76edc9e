"""Mixed tables for models that take numbers only, without gaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin


class Numbers(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A table as numbers: a missing number is its column's mean, a missing category one of its own.

    Parameters
    ----------
    categories : {"codes", "columns"}, default="codes"
        A category as its number, or each category as a column of zeros and ones.
    scale : bool, default=False
        Numbers to mean 0 and deviation 1.
    """

    def __init__(self, categories: str = "codes", scale: bool = False) -> None:
        self.categories = categories
        self.scale = scale

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        import pandas as pd

        self.categories_ = {c: pd.Categorical(X[c]).categories for c in X if not is_number(X[c])}
        own = [c for c in X if c not in self.categories_]
        self.means_ = {c: float(np.nan_to_num(X[c].mean())) for c in own}
        self.scales_ = {c: float(np.nan_to_num(X[c].std(), nan=0.0)) or 1.0 for c in own}
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        columns = []
        for c in X:
            if c in self.categories_:
                columns += self._category(X[c], self.categories_[c])
            else:
                numbers = X[c].to_numpy(float, na_value=np.nan)
                numbers = np.where(np.isnan(numbers), self.means_[c], numbers)
                centred = (numbers - self.means_[c]) / self.scales_[c]
                columns.append(centred if self.scale else numbers)
        return np.stack(columns, axis=1) if columns else np.empty((len(X), 0))

    def _category(self, column: Any, known: Any) -> list[NDArray[np.float64]]:
        import pandas as pd

        codes = pd.Categorical(column, known).codes.astype(float)
        if self.categories == "codes":
            return [codes]
        return [(codes == k).astype(float) for k in range(len(known))]


def is_number(column: Any) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(column)) and column.dtype != bool


class Around(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn ensemble around one of our classifiers, on a mixed table.

    Parameters
    ----------
    make : callable
        Makes the classifier; it is told ``categorical_features``.
    ensemble : {"boosting", "bagging"}, default="boosting"
    n_estimators : int, default=10
    random_state : int or None, default=None
    """

    def __init__(
        self,
        make: Callable[..., Any],
        ensemble: str = "boosting",
        n_estimators: int = 10,
        random_state: int | None = None,
    ) -> None:
        self.make = make
        self.ensemble = ensemble
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier

        self.numbers_ = Numbers().fit(X)
        nominal = [j for j, c in enumerate(X) if c in self.numbers_.categories_]
        kind = AdaBoostClassifier if self.ensemble == "boosting" else BaggingClassifier
        self.model_ = kind(
            self.make(categorical_features=nominal or "from_dtype"),
            n_estimators=self.n_estimators,
            random_state=self.random_state,
        )
        self.model_.fit(self.numbers_.transform(X), y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(self.numbers_.transform(X))

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(self.numbers_.transform(X))
