"""One kind of iris against the other two: a class that lies in two places."""

import numpy as np
from sklearn.datasets import load_iris

from unnaive import ClassDecompositionClassifier, GroupsDisplay, LatentClassClusterer

data = load_iris(as_frame=True)
kind = np.where(data.target == 1, "versicolor", "other")
two = LatentClassClusterer(2, random_state=0)
model = ClassDecompositionClassifier(clusterer=two, random_state=0).fit(data.data, kind)
GroupsDisplay.from_estimator(model)
