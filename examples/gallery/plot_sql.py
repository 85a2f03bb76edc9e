"""
Scoring inside the database
===========================

``to_sql`` writes a model as one SQL statement: every class's probability, computed where the rows
are, with missing and unseen values handled as the model does.
"""

# %%
# A tree of naive Bayes leaves, learned in Python.

import duckdb
import matplotlib.pyplot as plt
import numpy as np

import unnaive
from unnaive.datasets import load_german_credit

X, y = load_german_credit()
model = unnaive.NBTreeClassifier(random_state=0).fit(X, y)
statement = unnaive.to_sql(model, "loans", dialect="duckdb")
print(statement[:600], "...")

# %%
# The same probabilities, from DuckDB.

loans = X.astype(dict.fromkeys(X.select_dtypes("category"), str))
with duckdb.connect() as database:
    database.register("loans", loans)
    scored = database.sql(statement).df()
print(scored.head())
here = model.predict_proba(X)
there = scored[[name for name in scored if scored[name].dtype.kind == "f"]].to_numpy()[:, :2]
print("largest difference:", np.abs(here - there).max())

# %%
# Bad loans by the probability that the database computed.

fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
bad = list(model.classes_).index("bad")
for label, ink in (("good", "#0072b2"), ("bad", "#d55e00")):
    ax.hist(there[y == label, bad], bins=30, alpha=0.6, color=ink, label=label)
ax.set(xlabel="probability of a bad loan, from DuckDB", ylabel="loans")
ax.legend()
plt.show()
