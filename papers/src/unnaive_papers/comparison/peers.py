"""Classifiers of other libraries, made to take mixed tables with gaps, with their defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from unnaive_papers.numbers import Numbers, is_number

BINS = 10


class BinnedNaiveBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's CategoricalNB on categories and ten quantile bins of numbers."""

    def fit(self, X: Any, y: Any) -> Self:
        import pandas as pd
        from sklearn.naive_bayes import CategoricalNB

        self.known_: dict[Any, Any] = {}
        for c in X:
            if is_number(X[c]):
                values = X[c].to_numpy(float, na_value=np.nan)
                values = values[~np.isnan(values)]
                shares = np.linspace(0, 1, BINS + 1)[1:-1]
                self.known_[c] = np.unique(np.quantile(values, shares) if len(values) else [0.0])
            else:
                self.known_[c] = pd.Categorical(X[c]).categories
        sizes = [len(known) + 2 for known in self.known_.values()]
        self.model_ = CategoricalNB(min_categories=sizes).fit(self._codes(X), y)
        self.classes_ = self.model_.classes_
        return self

    def _codes(self, X: Any) -> NDArray[np.intp]:
        """0 is missing or unseen."""
        import pandas as pd

        columns = []
        for c, known in self.known_.items():
            if isinstance(known, np.ndarray):
                values = X[c].to_numpy(float, na_value=np.nan)
                columns.append(np.where(np.isnan(values), 0, np.searchsorted(known, values) + 1))
            else:
                columns.append(pd.Categorical(X[c], known).codes.astype(np.intp) + 1)
        return np.stack(columns, axis=1)

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(self._codes(X))

    def predict(self, X: Any) -> Any:
        return self.model_.predict(self._codes(X))


class WithValues(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Leaves out columns without any value, on which histogram boosting fails."""

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        self.columns_ = [c for c in X if X[c].notna().any()]
        return self

    def transform(self, X: Any) -> Any:
        return X[self.columns_]


def plain_names(X: Any) -> Any:
    """Columns that LightGBM takes whatever they are called."""
    return X.set_axis([f"f{j}" for j in range(X.shape[1])], axis=1)


def as_text(X: Any) -> Any:
    """Categories as text, which EBM takes with gaps."""
    return X.astype({c: object for c in X if not is_number(X[c])})


def few_categories(X: Any) -> Any:
    """Columns of more categories than histogram boosting takes become numbers."""
    many = [c for c in X if not is_number(X[c]) and X[c].nunique() > 255]
    return X.assign(**{c: X[c].astype("category").cat.codes for c in many})


def _numbers(model: Any) -> Any:
    from sklearn.pipeline import make_pipeline

    return make_pipeline(Numbers(), model)


def _after(function: Any, model: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    return make_pipeline(FunctionTransformer(function), model)


def _gaussian(_: Any) -> Any:
    from sklearn.naive_bayes import GaussianNB

    return _numbers(GaussianNB())


def _cart(seed: Any) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return _numbers(DecisionTreeClassifier(random_state=seed))


def _forest(seed: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return _numbers(RandomForestClassifier(random_state=seed))


def _histogram(seed: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    return make_pipeline(
        WithValues(),
        FunctionTransformer(few_categories),
        HistGradientBoostingClassifier(random_state=seed),
    )


def _lightgbm(seed: Any) -> Any:
    from lightgbm import LGBMClassifier

    return _after(plain_names, LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1))


def _ebm(seed: Any) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return _after(as_text, ExplainableBoostingClassifier(random_state=seed, n_jobs=1))


def _filled(X: Any) -> Any:
    """Categories as text with a word for gaps, which CatBoost takes."""
    texts = [c for c in X if not is_number(X[c])]
    return X.assign(**{c: X[c].astype(object).fillna("missing").astype(str) for c in texts})


class TextBoosting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """CatBoost, told which columns are categories."""

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        from catboost import CatBoostClassifier

        texts = [j for j, c in enumerate(X) if not is_number(X[c])]
        self.model_ = CatBoostClassifier(
            random_state=self.random_state, thread_count=1, verbose=False,
            allow_writing_files=False, cat_features=texts,
        )  # fmt: skip
        self.model_.fit(_filled(X), y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(_filled(X))

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class LabelBoosting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """XGBoost on categories as pandas has them; it wants classes as numbers."""

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        import pandas as pd

        self.categories_ = {c: pd.Categorical(X[c]).categories for c in X if not is_number(X[c])}
        self.classes_, groups = np.unique(y, return_inverse=True)
        self.model_ = self._model()
        self.model_.fit(self._categorical(X), groups)
        return self

    def _model(self) -> Any:
        from xgboost import XGBClassifier

        return XGBClassifier(random_state=self.random_state, n_jobs=1, enable_categorical=True)

    def _categorical(self, X: Any) -> Any:
        import pandas as pd

        known = {c: pd.Categorical(X[c], values) for c, values in self.categories_.items()}
        return plain_names(X.assign(**known))

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(self._categorical(X))

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


PEERS: dict[str, Callable[[Any], Any]] = {
    "sklearn GaussianNB": _gaussian,
    "sklearn CategoricalNB": lambda _: BinnedNaiveBayes(),
    "sklearn CART": _cart,
    "sklearn forest": _forest,
    "sklearn HistGB": _histogram,
    "LightGBM": _lightgbm,
    "XGBoost": LabelBoosting,
    "CatBoost": TextBoosting,
    "EBM": _ebm,
}
