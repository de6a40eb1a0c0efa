"""Free recordings out of Debian's packages: fetched by apt, checked, and unpacked without being installed.

free.csv lists every recording with its licence. apt works in folders of its own below the cache, so neither root nor
an earlier `apt-get update` is needed and the system's own lists are left alone.
"""

import csv
import hashlib
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
from djnet.files import locked, write_json

SETS = ("small", "medium", "full")
REST = "rest"  # what the full set has beyond the medium one: for networks that were trained on that one


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
    packages: dict[str, list[Recording]] = {}
    with open(Path(__file__).with_name("free.csv"), newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["set"] in wanted:
                recording = Recording(row["package"], row["path"], row["sha1"], row["licence"])
                packages.setdefault(recording.package, []).append(recording)
    return packages


def corpus(which: str, cache: Path) -> Corpus:
    """The recordings of a set, fetched into the cache where they are not there yet."""
    packages = recordings(which)
    store = cache / "free"
    missing = [package for package in packages if not (store / package / ".complete").is_file()]
    if missing and not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise UserError(
            "The free corpus comes from Debian's packages and this machine has no apt-get: use music of your own "
            "(make preprocess AUDIO=folder) or generated songs (make preprocess CORPUS=synthetic)."
        )
    store.mkdir(parents=True, exist_ok=True)
    for package in tqdm(missing, desc="fetch", unit="package", disable=not missing):
        with locked(store / f"{package}.deb", wait=True):
            if not (store / package / ".complete").is_file():  # another run may have fetched it
                _fetch(package, packages[package], store, cache / "apt")
    tracks, skipped = [], []
    for package, listed in packages.items():
        reason = f"is not in this system's version of the package {package}, or differs from the listed recording."
        for recording in listed:
            name, path = f"{package}/{recording.path}", store / package / recording.path
            if path.is_file():
                tracks.append(Track(name, str(path), package, recording.licence))
            else:
                skipped.append(Skipped(name, reason))
    return Corpus(f"free-{which}", tracks, skipped)


def _fetch(package: str, listed: list[Recording], store: Path, apt_folder: Path) -> None:
    """Put the listed recordings of a package into the store; the folder gets its name only when it is whole."""
    partial = store / f".{package}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    failure = _apt(apt_folder, partial, "download", package)
    if failure:  # no lists yet, or lists that are out of date
        failure = _apt(apt_folder, partial, "update") or _apt(apt_folder, partial, "download", package)
    deb = next(partial.glob("*.deb"), None)
    if failure or deb is None:
        raise UserError(f"apt-get could not fetch {package}: {failure or 'it gave no file'}")
    kept = unpack(deb, listed, partial)
    deb.unlink()
    write_json(partial / ".complete", {"deb": deb.name, "recordings": kept})
    shutil.rmtree(store / package, ignore_errors=True)
    partial.rename(store / package)


def _apt(own: Path, folder: Path, *words: str) -> str:
    """Run apt-get in a folder, with lists and state of its own: -> the last line of its complaint, or nothing."""
    own = own.absolute()
    for name in ("state/lists/partial", "cache/archives/partial"):
        (own / name).mkdir(parents=True, exist_ok=True)
    (own / "status").touch()
    places = {"Dir::State": "state", "Dir::State::status": "status", "Dir::Cache": "cache"}
    options = [f"-o{name}={own / place}" for name, place in places.items()]
    command = ["apt-get", "--quiet", *options, "-oAPT::Sandbox::User=", *words]
    done = subprocess.run(command, cwd=folder, env=os.environ | {"LC_ALL": "C"}, capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it failed without a word"])[-1]


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
            members = {f"{name}!/{member}": member for member in archive.namelist()}
            listed = wanted.keys() & members.keys()
            return sum(_keep(wanted[path], archive.read(members[path]), folder) for path in sorted(listed))


def _keep(recording: Recording, data: bytes, folder: Path) -> bool:
    if hashlib.sha1(data).hexdigest() != recording.sha1:
        return False
    target = folder / recording.path
    if not target.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{recording.package}: the path {recording.path!r} leads out of the folder: not unpacked.")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return True
