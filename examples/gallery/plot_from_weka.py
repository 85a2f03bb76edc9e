"""
Coming from Weka
================

Weka's classes and their counterparts here, the same task side by side. Words differ; the
algorithms are those of the same papers.

.. list-table::
   :header-rows: 1

   * - Weka
     - unnaive
   * - ``NaiveBayes``
     - ``NaiveBayesClassifier(numeric="gaussian")``
   * - ``NaiveBayes -D`` (supervised discretization)
     - ``NaiveBayesClassifier()``
   * - ``NaiveBayes -K`` (kernel estimator)
     - ``NaiveBayesClassifier(numeric="kernel")``
   * - ``NBTree``
     - ``NBTreeClassifier(discretize="global")``
   * - ``J48``
     - ``C45Classifier()``
   * - ``EM``
     - ``LatentClassClusterer()``
   * - ``Discretize`` (supervised filter)
     - ``Discretizer()``
   * - ``NaiveBayesUpdateable``
     - ``NaiveBayesClassifier().partial_fit``
"""

# %%
# An ARFF file is read by SciPy; ``?`` is a missing value. Class values arrive as bytes.

import io

import matplotlib.pyplot as plt
import pandas as pd
from scipy.io import arff

from unnaive import C45Classifier, NaiveBayesClassifier, NBTreeClassifier, export_text

weather = """@relation weather
@attribute outlook {sunny, overcast, rainy}
@attribute temperature numeric
@attribute humidity numeric
@attribute windy {yes, no}
@attribute play {yes, no}
@data
sunny,85,85,no,no
sunny,80,90,yes,no
overcast,83,86,no,yes
rainy,70,96,no,yes
rainy,68,80,no,yes
rainy,65,70,yes,no
overcast,64,65,yes,yes
sunny,72,95,no,no
sunny,69,70,no,yes
rainy,75,?,no,yes
sunny,75,70,yes,yes
overcast,72,90,yes,yes
?,81,75,no,yes
rainy,71,91,yes,no
"""
rows, _ = arff.loadarff(io.StringIO(weather))
table = pd.DataFrame(rows)
for name in table.select_dtypes("object"):
    table[name] = table[name].str.decode("utf-8").mask(table[name] == b"?")
X, y = table.drop(columns="play"), table["play"]

# %%
# J48's tree of this table, as text.

print(export_text(C45Classifier().fit(X, y)))

# %%
# Where Weka prints a table of counts, ``evidence`` gives the bars of one row.

model = NaiveBayesClassifier(numeric="gaussian").fit(X, y)
day = X.iloc[[0]]
bars = model.evidence(day).contributions[0]
lean = bars[:, 1] - bars[:, 0]
fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
names = [f"{name} = {value}" for name, value in day.iloc[0].items()]
ax.barh(names, lean, color=["#0072b2" if v > 0 else "#d55e00" for v in lean])
ax.axvline(0, color="black", lw=0.8)
ax.invert_yaxis()
ax.set(xlabel="evidence against playing  |  for playing", title="the first day")
plt.show()

# %%
# NBTree needs more rows than this to split: it is naive Bayes here, which is what Weka finds too.

print(export_text(NBTreeClassifier(random_state=0).fit(X, y)))
