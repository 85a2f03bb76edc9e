"""What each bag has learned about one column."""

import matplotlib.pyplot as plt
import numpy as np

from unnaive import BaggedNaiveBayesClassifier, evidence_of
from unnaive.datasets import load_german_credit

X, y = load_german_credit()
model = BaggedNaiveBayesClassifier(random_state=0).fit(X, y)
facts = evidence_of(model)
column, bad = facts["checking_account"], facts.names.index("bad")
shown = [v for v, state in enumerate(column.states) if state == "value"]

fig, ax = plt.subplots(figsize=(7.5, 2.6), layout="constrained")
for k in range(len(model.bag_weights_)):
    own = evidence_of(model, f"bag {k}")["checking_account"]
    ax.plot(own.weights[shown, bad], range(len(shown)), "o", color="#0072B2", alpha=0.35, mew=0)
ax.plot(column.weights[shown, bad], range(len(shown)), "|", ms=14, color="black", label="mean")
ax.axvline(0, color="black", lw=0.8)
ax.set_yticks(np.arange(len(shown)), [column.values[v] for v in shown])
ax.margins(y=0.2)
ax.invert_yaxis()
ax.set_title("checking_account: evidence for bad, in each of ten bags", loc="left")
ax.set_xlabel("weight of evidence (log odds)")
ax.legend(frameon=False)
