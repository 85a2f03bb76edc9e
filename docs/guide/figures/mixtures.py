"""Two switches of one light: the gate asks for one, the experts for the other."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unnaive import EvidenceDisplay, GroupsDisplay, HierarchicalMixtureClassifier

rng = np.random.default_rng(0)
switches = pd.DataFrame(rng.choice(["up", "down"], (400, 2)), columns=["upstairs", "downstairs"])
light = np.where(switches["upstairs"] == switches["downstairs"], "off", "on")
model = HierarchicalMixtureClassifier(layers=(2,), n_sweeps=20, random_state=0)
model.fit(switches, light)

fig = plt.figure(figsize=(7.5, 4.6), layout="constrained")
upper, lower = fig.subfigures(2, 1)
GroupsDisplay.from_estimator(model, ax=upper.add_axes((0.01, 0.15, 0.98, 0.72)))
for k, ax in enumerate(lower.subplots(1, 2, sharex=True)):
    EvidenceDisplay.from_estimator(model, part=f"expert {k}", label="on", ax=ax)
