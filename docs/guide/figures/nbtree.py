"""A column that means the opposite elsewhere: one split, and naive Bayes on both sides."""

import numpy as np
import pandas as pd

from unnaive import NBTreeClassifier, TreeDisplay

rng = np.random.default_rng(0)
n = 3000
table = pd.DataFrame({f"answer {k}": rng.choice(["no", "partly", "yes"], n) for k in (1, 2, 3)})
table["region"] = rng.choice(["north", "south"], n)
table["visits"] = rng.integers(0, 10, n)
agreed = (table.iloc[:, :3] == "yes").sum(axis=1) - (table.iloc[:, :3] == "no").sum(axis=1)
turned = np.where(table["region"] == "north", 1.0, -1.0) * (table["visits"] - 4.5) / 2
leaves = np.where(agreed + turned + rng.logistic(size=n) > 0, "leaves", "stays")

tree = NBTreeClassifier(random_state=0).fit(table, leaves)
TreeDisplay.from_estimator(tree)
