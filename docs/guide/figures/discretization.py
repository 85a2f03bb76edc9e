"""Where five rules cut the same column."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from unnaive import Discretizer

data = load_iris(as_frame=True)
column, kind = data.data[["petal length (cm)"]], data.target_names[data.target]
length = column.to_numpy()[:, 0]
rules = {"mdl": 10, "bayes": 10, "width": 4, "frequency": 4, "sigma": 10}

fig, (above, below) = plt.subplots(
    2, 1, figsize=(7.5, 4), sharex=True, height_ratios=[1.2, 1.0], layout="constrained"
)
inks = ["#0072B2", "#E69F00", "#009E73"]
parts = [length[kind == name] for name in data.target_names]
above.hist(parts, bins=np.arange(1, 7.2, 0.2), stacked=True, color=inks, label=data.target_names)
above.set_ylabel("flowers")
above.legend(frameon=False)
for place, (rule, n_bins) in enumerate(rules.items()):
    cuts = Discretizer(rule, n_bins=n_bins).fit(column, kind).cuts_[0]
    below.hlines(place, length.min(), length.max(), color="#999999", lw=1)
    below.plot(cuts, np.full(len(cuts), place), "|", ms=16, mew=2, color="black")
names = [f"{rule}, n_bins={n}" if n < 10 else rule for rule, n in rules.items()]
below.set_yticks(range(len(rules)), names)
below.margins(y=0.2)
below.invert_yaxis()
below.set_xlabel("petal length (cm)")
