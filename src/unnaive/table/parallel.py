"""Run small tasks in threads: kernels release the GIL, so threads are enough."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from joblib import effective_n_jobs

A = TypeVar("A")
B = TypeVar("B")


@lru_cache(maxsize=8)
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads are kept: starting them costs as much as counting a hundred thousand rows."""
    return ThreadPoolExecutor(threads, thread_name_prefix="unnaive")


# A forked process has the pool, but not its threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def thread_count(n_jobs: int | None, n_tasks: int) -> int:
    """Threads worth using, honouring scikit-learn's meaning of ``n_jobs``."""
    if n_jobs in (None, 1) or n_tasks < 2:
        return 1
    return max(1, min(effective_n_jobs(n_jobs), n_tasks))


def in_threads(fn: Callable[[A], B], tasks: Sequence[A], n_jobs: int | None) -> Iterable[B]:
    """``map`` over tasks, in order; results never depend on ``n_jobs``.

    Tasks must not call this themselves: they would wait for the thread they run in.
    """
    threads = thread_count(n_jobs, len(tasks))
    if threads == 1:
        return [fn(task) for task in tasks]
    return list(_pool(threads).map(fn, tasks))
