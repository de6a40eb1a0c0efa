"""Free recordings out of Debian's packages: fetched by apt, checked, and unpacked without being installed.

free.csv lists every recording with its licence; list_free.py wrote it. apt works in folders of its own below the
cache, so neither root nor an earlier `apt-get update` is needed and the system's own lists are left alone.
"""

import csv
import hashlib
import itertools
import os
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tqdm import tqdm

from djnet.corpora import Corpus, Skipped, Track
from djnet.errors import UserError
from djnet.files import write_json

SETS = ("small", "medium", "full")
REST = "rest"  # what the full set has beyond the medium one: packages that a network trained on that has never heard


@dataclass(frozen=True)
class Recording:
    """A line of free.csv; a path like `x.pk3!/y.ogg` lies inside a zip."""

    package: str
    path: str
    sha1: str
    licence: str


def recordings(which: str) -> dict[str, list[Recording]]:
    """The recordings of a set, by package; each set but the rest contains the smaller ones."""
    if which not in (*SETS, REST):
        raise UserError(f"Unknown set {which!r}; there are {', '.join(SETS)} and {REST}.")
    wanted = SETS[-1:] if which == REST else SETS[: SETS.index(which) + 1]
    with open(Path(__file__).with_name("free.csv"), newline="", encoding="utf-8") as file:
        listed = [
            Recording(row["package"], row["path"], row["sha1"], row["licence"])
            for row in csv.DictReader(file)
            if row["set"] in wanted
        ]
    return {package: list(group) for package, group in itertools.groupby(listed, lambda recording: recording.package)}


def corpus(which: str, cache: Path) -> Corpus:
    """The recordings of a set, fetched into the cache where they are not there yet."""
    packages = recordings(which)
    store = cache / "free"
    missing = [package for package in packages if not (store / package / ".complete").is_file()]
    if missing:
        apt = Apt(cache / "apt")
        for package in tqdm(missing, desc="fetch", unit="package"):
            _fetch(apt, package, packages[package], store)
    tracks, skipped = [], []
    for package, listed in packages.items():
        for recording in listed:
            path = store / package / recording.path
            if path.is_file():
                tracks.append(Track(f"{package}/{recording.path}", str(path), package, recording.licence))
            else:
                reason = (
                    f"is not in this system's version of the package {package}, or differs from the listed recording."
                )
                skipped.append(Skipped(f"{package}/{recording.path}", reason))
    return Corpus(f"free-{which}", tracks, skipped)


class Apt:
    """`apt-get download` in folders of its own."""

    def __init__(self, folder: Path):
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise UserError(
                "The free corpus comes from Debian's packages and this machine has no apt-get: use music of your own "
                "(make preprocess AUDIO=folder) or generated songs (make preprocess CORPUS=synthetic)."
            )
        self._folder = folder.absolute()
        for name in ("state/lists/partial", "cache/archives/partial"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        (self._folder / "status").touch()
        self._fresh = False

    def download(self, package: str, into: Path) -> Path:
        """Fetch a package into an empty folder: -> its .deb file."""
        failure = self._run("download", package, folder=into)
        if failure and not self._fresh:  # no lists yet, or lists that are out of date
            self._fresh = True
            failure = self._run("update", folder=into) or self._run("download", package, folder=into)
        found = sorted(into.glob("*.deb"))
        if failure or not found:
            raise UserError(f"apt-get could not fetch {package}: {failure or 'it gave no file'}")
        return found[0]

    def _run(self, *words: str, folder: Path) -> str:
        """Run apt-get; -> the last line of its complaint, or nothing if it went well."""
        options = {
            "Dir::State": self._folder / "state",
            "Dir::State::status": self._folder / "status",
            "Dir::Cache": self._folder / "cache",
            "APT::Sandbox::User": "",
        }
        command = ["apt-get", "--quiet", *(f"-o{name}={value}" for name, value in options.items()), *words]
        done = subprocess.run(command, cwd=folder, env=os.environ | {"LC_ALL": "C"}, capture_output=True, text=True)
        return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it failed without a word"])[-1]


def _fetch(apt: Apt, package: str, listed: list[Recording], store: Path) -> None:
    """Put the listed recordings of a package into the store; the folder gets its name only when it is whole."""
    partial = store / f".{package}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    deb = apt.download(package, partial)
    kept = unpack(deb, listed, partial)
    deb.unlink()
    write_json(partial / ".complete", {"deb": deb.name, "recordings": kept})
    shutil.rmtree(store / package, ignore_errors=True)
    partial.rename(store / package)


def unpack(deb: Path, listed: list[Recording], folder: Path) -> int:
    """Write the listed recordings of a .deb below a folder, each checked by its hash: -> how many.

    Nothing else is taken from the archive, so names in it cannot lead out of the folder.
    """
    wanted = {recording.path: recording for recording in listed}
    archives = {path.split("!/")[0] for path in wanted if "!/" in path}
    kept = 0
    folder.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
                for member in tar:
                    name = member.name.removeprefix("./")
                    if not member.isfile() or (name not in wanted and name not in archives):
                        continue
                    file = tar.extractfile(member)
                    assert file is not None
                    if name in wanted:
                        kept += _keep(wanted[name], file.read(), folder)
                    else:
                        kept += _unzip(file, name, wanted, folder)
        except (UserError, OSError):
            raise
        except Exception as error:  # a damaged archive can make tarfile, zipfile and zlib say almost anything
            raise UserError(f"{deb.name} is damaged ({error}): run the same command again to fetch it anew.") from error
    return kept


def _unzip(file: IO[bytes], name: str, wanted: dict[str, Recording], folder: Path) -> int:
    """Write the listed recordings of a zip, which may be larger than the memory: -> how many."""
    with tempfile.TemporaryFile(dir=folder) as copy:
        shutil.copyfileobj(file, copy)
        with zipfile.ZipFile(copy) as archive:
            inside = {f"{name}!/{inner}": inner for inner in archive.namelist()}
            found = [(wanted[path], inner) for path, inner in inside.items() if path in wanted]
            return sum(_keep(recording, archive.read(inner), folder) for recording, inner in found)


def _keep(recording: Recording, data: bytes, folder: Path) -> bool:
    if hashlib.sha1(data).hexdigest() != recording.sha1:
        return False
    target = folder / recording.path
    if not target.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{recording.package}: the path {recording.path!r} leads out of the folder: not unpacked.")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return True
