"""Run small tasks in threads: kernels release the GIL, so threads are enough."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from multiprocessing import current_process
from typing import TypeVar

from joblib import effective_n_jobs

A = TypeVar("A")
B = TypeVar("B")
_NAME = "unnaive"


@lru_cache(maxsize=8)
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return a pool of threads; starting them costs as much as counting 100,000 rows."""
    return ThreadPoolExecutor(threads, thread_name_prefix=_NAME)


# A forked process has the pool, but not its threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def thread_count(n_jobs: int | None, n_tasks: int) -> int:
    """Return the threads worth using, honouring scikit-learn's meaning of ``n_jobs``."""
    return 1 if n_tasks < 2 else max(1, min(_allowed(n_jobs), n_tasks))


def _allowed(n_jobs: int | None) -> int:
    """Return the threads that may be used; one in a daemon, such as a worker of Dask, whose tasks
    have the cores (joblib says one as well, and warns).
    """
    return 1 if n_jobs in (None, 1) or current_process().daemon else effective_n_jobs(n_jobs)


def in_threads(fn: Callable[[A], B], tasks: Sequence[A], n_jobs: int | None) -> Iterable[B]:
    """Map a function over tasks, in order; results never depend on ``n_jobs``.

    Tasks that call this themselves do all the work in the thread they run in.
    """
    threads = thread_count(n_jobs, len(tasks))
    if threads == 1 or _inside():
        return [fn(task) for task in tasks]
    return list(_pool(threads).map(fn, tasks))


def in_order(fn: Callable[[A], B], items: Iterable[A], n_jobs: int | None) -> Iterator[B]:
    """Map a function over items that come one by one: the next are fetched while threads work."""
    if _inside():
        yield from map(fn, items)
        return
    threads = max(1, _allowed(n_jobs))
    waiting: deque[Future[B]] = deque()
    try:
        for item in items:
            waiting.append(_pool(threads).submit(fn, item))
            if len(waiting) > threads:  # one more than can be worked on
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def _inside() -> bool:
    """Return whether this is one of the threads: it must not wait for the others."""
    return threading.current_thread().name.startswith(_NAME)
