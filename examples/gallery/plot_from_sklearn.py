"""
Coming from scikit-learn's naive Bayes
======================================

scikit-learn has a naive Bayes for numbers and one for categories, and neither takes gaps. The
same task with a pipeline of encoder, imputer and binning, and with one estimator that takes the
table as it is.
"""

# %%
# German credit with gaps: 13 categorical and 7 numeric columns, one value in ten missing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

from unnaive import NaiveBayesClassifier, NBTreeClassifier
from unnaive.datasets import load_german_credit

X, y = load_german_credit()
X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)

# %%
# The pipeline.

text = make_column_selector(dtype_include="category")
numbers = make_column_selector(dtype_exclude="category")
pipeline = make_pipeline(
    make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OrdinalEncoder()), text),
        (
            make_pipeline(
                SimpleImputer(strategy="median"),
                KBinsDiscretizer(5, encode="ordinal", strategy="uniform"),
            ),
            numbers,
        ),
    ),
    CategoricalNB(min_categories=12),
)

# %%
# And without it.

models = {
    "encoder, imputer, bins,\nCategoricalNB": pipeline,
    "NaiveBayesClassifier": NaiveBayesClassifier(),
    "NBTreeClassifier": NBTreeClassifier(random_state=0),
}
folds = StratifiedKFold(10, shuffle=True, random_state=0)
losses = []
for model in models.values():
    share = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    losses.append(log_loss(y, share))

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.barh(list(models), losses, color=["#999999", "#0072b2", "#0072b2"])
for k, loss in enumerate(losses):
    ax.text(loss, k, f" {loss:.3f}", va="center")
ax.invert_yaxis()
ax.set(xlabel="log loss, ten folds (less is better)", xlim=(0, 0.65))
plt.show()
