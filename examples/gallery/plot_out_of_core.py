"""
Files larger than memory
========================

A folder of Parquet files is a table like any other: blocks are read one after the other, counts
add up, memory does not grow with the rows, and the model is that of all rows in memory, bit for
bit.
"""

# %%
# Twelve monthly files. (Small ones here; the code would be the same for billions of rows.)

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import unnaive

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
months = []
for month in range(1, 13):
    n = int(rng.integers(2_000, 6_000))
    table = pd.DataFrame(
        {
            "minutes": rng.gamma(2.0, 60.0, n),
            "plan": rng.choice(["basic", "plus", "pro"], n),
            "complaints": rng.poisson(0.4, n).astype(float),
        }
    )
    odds = table["complaints"] - (table["minutes"] - 120) / 90 - 1
    table["churned"] = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")
    table.to_parquet(folder / f"2024-{month:02}.parquet")
    months.append(table)

# %%
# Train from the files, and from memory.

scan = unnaive.scan(folder, target="churned", memory_limit="200MB")
from_files = unnaive.NBTreeClassifier(random_state=0).fit(scan)
whole = pd.concat(months)
X, y = whole.drop(columns="churned"), whole["churned"]
in_memory = unnaive.NBTreeClassifier(random_state=0).fit(X, y)
same = (from_files.predict_proba(X) == in_memory.predict_proba(X)).all()
print("equal bit for bit:", same)

# %%
# Answers go from files to a file.

out = folder / "answers.parquet"
from_files.predict_to(unnaive.scan(folder, target="churned"), out)
answers = pd.read_parquet(out)
print(answers.head())

# %%
# How the model of all months so far settles, as one file after the other arrives.

growing = unnaive.NaiveBayesClassifier()
right = []
for table in months[:-1]:
    growing.partial_fit(table.drop(columns="churned"), table["churned"])
    last = months[-1]
    right.append(100 * growing.score(last.drop(columns="churned"), last["churned"]))
fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.plot(range(1, 12), right, "o-", color="#0072b2")
ax.set(xlabel="files read", ylabel="per cent right on the last file", ylim=(50, 100))
ax.set_xticks(range(1, 12))
plt.show()
