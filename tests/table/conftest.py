"""One Dask cluster for all tests that need one."""

from __future__ import annotations

import pytest

# What workers need is imported once: they are copies of a process that has it.
WORKERS_HAVE = [
    "distributed",
    "dask.dataframe",
    "pyarrow.parquet",
    "unnaive.common.kernels",
    "unnaive.models.boosted",
    "unnaive.table.dask",
]


@pytest.fixture(scope="session")
def dask_client():
    """Two worker processes of one thread each."""
    yield from _cluster()


@pytest.fixture
def dying_client():
    """The same for one test that kills a worker, which may not come back."""
    yield from _cluster()


def _cluster():
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        distributed.utils.get_mp_context().set_forkserver_preload(WORKERS_HAVE)
        with (
            distributed.LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                memory_limit=0,
                silence_logs="CRITICAL",
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
