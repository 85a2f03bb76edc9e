"""EM for mixtures of naive Bayes: rows, starts, and many mixtures advancing together."""
