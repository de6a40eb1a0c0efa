"""Packages that want to write where they may not, or are damaged, through the code that unpacks them."""

import contextlib
import hashlib
import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import numpy as np

from djnet.corpora.free import Recording, unpack
from djnet.errors import UserError
from tests.faults.fuzz import damaged

_WORDS = ("..", ".", "", "usr", "a.ogg", "x.pk3!", "~", "C:", "\\..\\", "etc")
_SOUND = b"anything"


def survives(rng: np.random.Generator, folder: Path) -> bool:
    """Whether a hostile package leaves everything outside of `folder`/store alone, with at most one clear line."""
    names = list({"/".join([*rng.choice(_WORDS, rng.integers(1, 6)), "a.ogg"]): None for _ in range(4)})
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, _SOUND)
    zipped = damaged(inner.getvalue(), rng) if rng.integers(2) else inner.getvalue()
    members = _tar({**dict.fromkeys(names, _SOUND), "x.pk3": zipped})
    package = _deb(damaged(members, rng) if rng.integers(4) == 0 else members)
    # The worst case: even our own list of recordings asks for these paths.
    sha1 = hashlib.sha1(_SOUND).hexdigest()
    wanted = [Recording("hostile", path, sha1, "") for name in names for path in (name, f"x.pk3!/{name}")]
    store, path = folder / "store", folder / "hostile.deb"
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir(parents=True)
    path.write_bytes(package)
    for recording in wanted:
        with contextlib.suppress(UserError, OSError):  # one clear line each
            unpack(path, [recording], store)
    return {found.name for found in folder.iterdir()} == {"store", "hostile.deb"} and not _escaped(folder)


def _escaped(folder: Path) -> bool:
    """Whether a file lies beside or above the folder, or at the root, where the names point to."""
    return any((place / "a.ogg").exists() for place in (*folder.parents, Path("/usr"), Path("/etc")))


def _tar(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo("usr")  # what is written below it would go elsewhere
        link.type, link.linkname = tarfile.SYMTYPE, "/"
        tar.addfile(link)
    return buffer.getvalue()


def _deb(members: bytes) -> bytes:
    """A package: an ar archive of a version, a control and a data archive."""
    package = b"!<arch>\n"
    for name, data in (("debian-binary", b"2.0\n"), ("control.tar", _tar({"./control": b""})), ("data.tar", members)):
        package += (
            f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
        )
    return package
