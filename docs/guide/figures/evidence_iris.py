"""What the sizes of a flower say about its kind."""

from sklearn.datasets import load_iris

from unnaive import EvidenceDisplay, NaiveBayesClassifier

data = load_iris(as_frame=True)
flowers = NaiveBayesClassifier().fit(data.data, data.target_names[data.target])
EvidenceDisplay.from_estimator(flowers)
