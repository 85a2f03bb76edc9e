"""
On a Dask cluster
=================

The workers count where the rows are and send counts, not rows. The model does not depend on the
number of workers or partitions: it is the one of all rows in memory, bit for bit.
"""

# %%
# A Dask DataFrame in partitions of any size, on whatever scheduler Dask uses: here threads of this
# process; ``dask.distributed.Client("scheduler:8786")`` would make it a cluster.

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import unnaive

rng = np.random.default_rng(0)
n = 60_000
table = pd.DataFrame(
    {
        "amount": rng.lognormal(3.0, 1.0, n),
        "country": rng.choice(["AT", "IT", "NO", "PT"], n),
        "hour": rng.integers(0, 24, n).astype(float),
    }
)
odds = (np.log(table["amount"]) - 4.5) * 2 + np.where(table["hour"] < 6, 1.5, 0) - 1
table["fraud"] = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")
frame = dd.from_pandas(table, npartitions=7)

# %%
# ``y`` is the name of the target column.

on_dask = unnaive.NaiveBayesClassifier().fit(frame, "fraud")
in_memory = unnaive.NaiveBayesClassifier().fit(table.drop(columns="fraud"), table["fraud"])
answers = on_dask.predict_proba(frame)  # a Dask DataFrame, not yet computed
computed = answers.compute()
print(type(answers).__name__, computed.columns.tolist())
print(
    "equal bit for bit:",
    (computed == in_memory.predict_proba(table.drop(columns="fraud"))).all().all(),
)

# %%
# The probability of fraud by the hour.

share = pd.Series(computed.iloc[:, 1].to_numpy()).groupby(table["hour"].to_numpy()).mean()
fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.bar(share.index, 100 * share, color="#0072b2")
ax.set(xlabel="hour", ylabel="mean probability of fraud, per cent")
plt.show()
