"""A callback that notes all it hears."""

from __future__ import annotations

from threading import Lock


class Record:
    """Notes facts of tasks, and may stop a fit or do anything else at any of them.

    ``at`` is called with the facts of every step and every end of a task; what it returns is the
    answer to whether to stop. A lock makes the callback something that cannot be sent to workers.
    """

    max_propagation_depth = None

    def __init__(self, at=lambda facts: False):
        self.at, self.lock = at, Lock()
        self.facts, self.began, self.ended = [], [], []
        self.set_up = self.torn_down = 0

    def setup(self, estimator, context):
        self.set_up += 1
        self.root = context

    def on_fit_task_begin(self, estimator, context, *, metadata=None):
        with self.lock:
            self.began.append(context)

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        with self.lock:
            self.ended.append(context)
            if metadata is None:
                return False
            own = context if metadata["finished"] else context.parent  # a task, or a step of it
            self.facts.append({"context": own, "estimator": context.estimator_name, **metadata})
        return self.at(self.facts[-1])

    def teardown(self, estimator, context):
        self.torn_down += 1

    def tasks(self):
        """Facts of each task that has been done, in the order of their ends."""
        going, done = {}, []
        for facts in self.facts:
            going.setdefault(facts["context"], []).append(facts)
            if facts["finished"]:
                done.append(going.pop(facts["context"]))
        return done
