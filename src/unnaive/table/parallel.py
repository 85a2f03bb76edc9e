"""Run small tasks in threads: kernels release the GIL, so threads are enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from joblib import effective_n_jobs

A = TypeVar("A")
B = TypeVar("B")


def thread_count(n_jobs: int | None, n_tasks: int) -> int:
    """Threads worth starting, honouring scikit-learn's meaning of ``n_jobs``."""
    if n_jobs in (None, 1) or n_tasks < 2:
        return 1
    return max(1, min(effective_n_jobs(n_jobs), n_tasks))


def in_threads(fn: Callable[[A], B], tasks: Sequence[A], n_jobs: int | None) -> Iterable[B]:
    """``map`` over tasks, in order; results never depend on ``n_jobs``."""
    threads = thread_count(n_jobs, len(tasks))
    if threads == 1:
        return [fn(task) for task in tasks]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(fn, tasks))
