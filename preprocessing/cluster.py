"""Where the work of preprocessing runs: processes of this machine, a Dask cluster or a Ray cluster.

An engine calls a function with every item and yields the results as they come, in any order. It begins a new item only
when a result is taken, so that results do not pile up in memory; joblib's local and Dask backends go through all
items whether or not anybody reads. Work that is lost with a machine of a cluster is done again by another; the
machines need djnet installed and the music within reach (a shared disk, or an address such as s3://bucket/music).
"""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor

from djnet.errors import UserError
from djnet.processes import end_with

NAMES = ("local", "dask", "ray")
CONNECT_SECONDS = 10
WORKER_SECONDS = 60  # until a cluster's first worker is there
_ITEMS_PER_CORE = 2  # under way at a time
_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

Engine = Callable[[Callable[..., Any], Iterable[tuple]], Iterator[Any]]


def engine_for(name: str = "local", workers: int = 0, address: str = "") -> Engine:
    """An engine by name; `workers` is for the local one, `address` of a scheduler for the others."""
    if name not in NAMES:
        raise UserError(f"Unknown engine {name!r}; there are {', '.join(NAMES)}.")
    if name == "local":
        return _local(workers or os.cpu_count() or 1)
    try:
        return _dask(address) if name == "dask" else _ray(address)
    except ImportError as error:
        raise UserError(f"--engine={name} needs {name}: .venv/bin/pip install 'djnet[{name}]' ({error}).") from error


def _stream(submit: Callable[..., Future], cores: int, items: Iterable[tuple]) -> Iterator[Any]:
    """Submit every item and yield the results, with a few items for each core under way."""
    left = iter(items)
    under_way = {submit(*item) for item in itertools.islice(left, _ITEMS_PER_CORE * max(1, cores))}
    while under_way:
        done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()
            under_way |= {submit(*item) for item in itertools.islice(left, 1)}


def _local(workers: int) -> Engine:
    if workers == 1:
        return itertools.starmap

    def run(function: Callable[..., Any], items: Iterable[tuple]) -> Iterator[Any]:
        threads = str(max(1, (os.cpu_count() or 1) // workers))
        # Not loky's reusable pool: joblib.Parallel would take it for its own.
        pool = ProcessPoolExecutor(
            workers, env=dict.fromkeys(_THREAD_LIMITS, threads), initializer=end_with, initargs=(os.getpid(),)
        )
        try:
            yield from _stream(lambda *item: pool.submit(function, *item), workers, items)
        except BaseException:  # nobody waits for the rest
            pool.shutdown(kill_workers=True)
            raise
        pool.shutdown()

    return run


def _dask(address: str) -> Engine:
    from distributed import Client

    try:
        client = Client(address or None, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UserError(f"--scheduler={address}: no Dask scheduler answers there ({error}).") from error

    def run(function: Callable[..., Any], items: Iterable[tuple]) -> Iterator[Any]:
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError as error:
            start_some = f"start some with: .venv/bin/dask worker {address}"
            raise UserError(f"--scheduler={address}: the cluster has no worker; {start_some}") from error
        pool = client.get_executor(pure=False, retries=3)
        return _stream(lambda *item: pool.submit(function, *item), sum(client.ncores().values()), items)

    return run


def _ray(address: str) -> Engine:
    import ray

    try:
        ray.init(address=address or None, ignore_reinit_error=True, log_to_driver=False)
    except (ConnectionError, ValueError) as error:
        raise UserError(f"--scheduler={address}: no Ray cluster answers there ({error}).") from error

    def run(function: Callable[..., Any], items: Iterable[tuple]) -> Iterator[Any]:
        remote = ray.remote(num_cpus=1, max_retries=3)(function)
        cores = int(ray.cluster_resources().get("CPU", 1))
        return _stream(lambda *item: remote.remote(*item).future(), cores, items)

    return run
