"""Preprocessing on clusters that are really there: processes on this machine that talk over the loopback."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from djnet.corpora import folder
from djnet.errors import UserError
from djnet.records import Manifest
from preprocessing import cluster
from preprocessing.build import build
from preprocessing.clips import Settings
from preprocessing.cluster import engine_for

SETTINGS = Settings(downbeats=False)
HERE = {"PYTHONPATH": str(Path(__file__).parents[2])}  # a worker of a cluster has djnet installed; here it has this one


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"{package} is not installed")


@pytest.fixture(scope="module")
def music(tmp_path_factory, songs) -> Path:
    """A folder of a few songs."""
    copies = tmp_path_factory.mktemp("music")
    for track in songs.tracks[:6]:
        shutil.copy(track.path, copies)
    return copies


@pytest.fixture(scope="module")
def expected(music, tmp_path_factory, cache) -> str:
    """The hash of their records from this machine alone."""
    return build(folder.corpus(music), tmp_path_factory.mktemp("records"), SETTINGS, cache).manifest.hash


@pytest.fixture
def dask_cluster():
    """A Dask scheduler and two workers as processes: -> address, workers."""
    processes = []

    def start(*words: str, until: str) -> str:
        command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | HERE)
        processes.append(process)
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(until, line):
                return found[0]
        raise AssertionError(f"{words[0]} ended early")

    address = start("dask_scheduler", "--host=127.0.0.1", "--port=0", "--no-dashboard", until=r"tcp://127\S+")
    for _ in range(2):
        start("dask_worker", address, "--nthreads=1", "--no-nanny", "--no-dashboard", until="Starting established")
    yield address, processes[1:]
    for process in processes:
        process.kill()
        process.communicate()


@needs("distributed")
@pytest.mark.verify
def test_a_dask_worker_that_dies_changes_nothing(music, expected, tmp_path, cache, dask_cluster):
    address, workers = dask_cluster
    engine = engine_for("dask", address=address)
    killed = []

    def killing(function, items):
        for i, answer in enumerate(engine(function, items)):
            if function.__name__ == "_prepare" and i == 1:
                workers[0].kill()
                killed.append(workers[0].wait())
            yield answer

    found = build(folder.corpus(music), tmp_path / "dask", SETTINGS, cache, engine=killing).manifest.hash
    assert found == expected and killed


@needs("ray")
@pytest.mark.verify
def test_ray_gives_the_same_records(music, expected, tmp_path, cache):
    import ray

    try:
        engine = engine_for("ray")
        assert build(folder.corpus(music), tmp_path / "ray", SETTINGS, cache, engine=engine).manifest.hash == expected
    finally:
        ray.shutdown()


@needs("distributed")
def test_a_scheduler_that_is_not_there(monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with pytest.raises(UserError, match=r"--scheduler=tcp://127.0.0.1:9: no Dask scheduler answers"):
        engine_for("dask", address="tcp://127.0.0.1:9")


@needs("distributed")
def test_a_cluster_without_workers(monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(cluster, "WORKER_SECONDS", 0.5)
    with LocalCluster(n_workers=0, processes=False, dashboard_address=None) as empty:
        run = engine_for("dask", address=empty.scheduler_address)
        with pytest.raises(UserError, match=r"has no worker; start some with: .venv/bin/dask worker inproc://"):
            list(run(abs, [(-1,)]))


@pytest.mark.parametrize("workers", [1, 2])
def test_items_are_begun_only_as_results_are_read(workers):
    begun = []

    def items():
        for number in range(40):
            begun.append(number)
            yield (-number,)

    results = engine_for("local", workers)(abs, items())
    first = next(results)
    time.sleep(0.5)
    assert len(begun) <= 2 * workers + 1
    assert sorted([first, *results]) == list(range(40))


def test_an_engine_that_is_not_known():
    with pytest.raises(UserError, match="Unknown engine 'spark'; there are local, dask, ray"):
        engine_for("spark")


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_an_engine_that_is_not_installed_says_how_to_get_it(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed" if name == "dask" else "ray", None)
    with pytest.raises(UserError, match=rf"--engine={name} needs {name}: .*djnet\[{name}\]"):
        engine_for(name)


@pytest.fixture
def bucket(monkeypatch):
    """An S3 server of our own with one empty bucket: -> its address."""
    pytest.importorskip("s3fs")
    server_module = pytest.importorskip("moto.server")
    import fsspec

    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    fsspec.filesystem("s3", skip_instance_cache=True).makedirs("music-and-records", exist_ok=True)
    yield "s3://music-and-records"
    server.stop()


def _run(module: str, *flags: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", module, *flags], capture_output=True, text=True, timeout=300)


def test_music_and_records_in_a_bucket(music, expected, tmp_path, bucket):
    import fsspec

    from djnet.storage import fetch

    files = fsspec.filesystem("s3", skip_instance_cache=True)
    for path in music.iterdir():
        files.put_file(str(path), f"{bucket}/deep/{music.name}/{path.name}")
    flags = [f"--audio={bucket}/deep/{music.name}", f"--output={bucket}/data", "--nodownbeats"]
    done = _run("preprocessing.build", *flags, f"--cache={tmp_path / 'cache'}")
    assert done.returncode == 0, done.stderr
    fetched = Manifest.read(fetch(f"{bucket}/data", tmp_path / "fetched"))
    assert fetched.hash == expected
    for split in ("train", "valid", "test"):
        fetched.shards(split)
    again = _run("preprocessing.build", *flags, f"--cache={tmp_path / 'cache'}")
    assert again.returncode == 0 and "is up to date" in again.stderr


def test_an_address_that_cannot_be_reached_ends_with_one_line(bucket, tmp_path):
    done = _run("preprocessing.build", "--audio=s3://no-such-bucket/music", f"--output={tmp_path}", "--nodownbeats")
    assert done.returncode == 2 and "s3://no-such-bucket/music" in done.stderr and "Traceback" not in done.stderr
    done = _run("preprocessing.build", "--audio=nonsense://x/music", f"--output={tmp_path}", "--nodownbeats")
    assert done.returncode == 2 and "nonsense://x/music" in done.stderr and "Traceback" not in done.stderr
