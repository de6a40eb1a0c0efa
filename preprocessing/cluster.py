"""Where the work of preprocessing runs: processes of this machine, a Dask cluster or a Ray cluster.

An engine calls a function with every item and yields the answers as they come, in any order. It holds a few items for
each worker at a time, so that answers do not pile up. The work of a worker that dies is done again by another; the
machines need djnet installed and the music within reach (a shared disk, or an address such as s3://bucket/music).
"""

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import joblib

from djnet.errors import UserError

NAMES = ("local", "dask", "ray")
CONNECT_SECONDS = 10
WORKER_SECONDS = 60  # until a cluster's first worker is there
_HELD = 2  # items for each core that are under way at a time

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


def _local(workers: int) -> Engine:
    def run(function: Callable[..., Any], items: Iterable[tuple]) -> Iterator[Any]:
        work = (joblib.delayed(function)(*item) for item in items)
        held = _HELD * workers
        yield from joblib.Parallel(workers, return_as="generator_unordered", pre_dispatch=held, batch_size=1)(work)

    return run


def _dask(address: str) -> Engine:
    from distributed import Client, as_completed

    try:
        client = Client(address or None, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UserError(f"--scheduler={address}: no Dask scheduler answers there ({error}).") from error

    def run(function: Callable[..., Any], items: Iterable[tuple]) -> Iterator[Any]:
        left = iter(items)

        def start(item: tuple) -> Any:
            return client.submit(function, *item, pure=False, retries=3)

        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError as error:
            start_some = f"start some with: .venv/bin/dask worker {address}"
            raise UserError(f"--scheduler={address}: the cluster has no worker; {start_some}") from error
        held = _HELD * max(1, sum(client.ncores().values()))
        under_way = as_completed([start(item) for item in islice(left, held)], loop=client.loop)
        for future in under_way:
            yield future.result()
            under_way.update([start(item) for item in islice(left, 1)])

    return run


def _ray(address: str) -> Engine:
    import ray

    try:
        ray.init(address=address or None, ignore_reinit_error=True, log_to_driver=False)
    except (ConnectionError, ValueError) as error:
        raise UserError(f"--scheduler={address}: no Ray cluster answers there ({error}).") from error

    def run(function: Callable[..., Any], items: Iterable[tuple]) -> Iterator[Any]:
        left = iter(items)
        remote = ray.remote(num_cpus=1, max_retries=3)(function)
        held = _HELD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        under_way = [remote.remote(*item) for item in islice(left, held)]
        while under_way:
            (done,), under_way = ray.wait(under_way, num_returns=1)
            under_way += [remote.remote(*item) for item in islice(left, 1)]
            yield ray.get(done)

    return run
