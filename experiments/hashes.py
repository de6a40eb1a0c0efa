"""Hashes of the packages that `make` installs: `python -m experiments.hashes` writes constraints-hashed.txt.

The versions are those of constraints.txt; the hashes are those that the package index states, for Python 3.11 and 3.12
on Linux (x86_64). pip installs from that list only files with these hashes.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from djnet.cli import job
from djnet.errors import UserError
from djnet.files import whole_file

ROOT = Path(__file__).parents[1]
EXTRAS = "train,formats,studio,dev"  # what the Makefile installs
_FITS = re.compile(
    r".*-none-any\.whl|.*-(cp31[12]-\w+|cp3\d+-abi3|(py2\.)?py3-none)-[\w.]*manylinux[\w.]*x86_64[\w.]*\.whl"
)


def needed(constraints: Path) -> dict[str, str]:
    """The version of every package that an empty environment needs."""
    words = ["--dry-run", "--ignore-installed", "--quiet", "--report=-", f"--constraint={constraints}"]
    command = [sys.executable, "-m", "pip", "install", *words, "wheel", "setuptools", f"{ROOT}[{EXTRAS}]"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    facts = [item["metadata"] for item in report["install"]]
    return {canonicalize_name(one["name"]): one["version"] for one in facts if one["name"] != "djnet"}


def hashes(versions: dict[str, str]) -> dict[str, list[str]]:
    """The hashes of the files that fit, as pip's own index states them."""
    from pip._internal.commands import create_command
    from pip._internal.index.collector import parse_links
    from pip._internal.models.link import Link

    command = create_command("download")
    options, _ = command.parse_args(["nothing"])
    listed: dict[str, list[str]] = {}
    with command.main_context():
        finder = command._build_package_finder(options, command.get_default_session(options))  # type: ignore[attr-defined]
        collector = finder._link_collector
        for name, version in versions.items():
            pages = map(collector.fetch_response, map(Link, collector.search_scope.get_index_urls_locations(name)))
            links = [link for page in pages if page is not None for link in parse_links(page)]
            of_version = re.compile(rf"[\w.]+-{re.escape(version)}(-.*\.whl|\.tar\.gz)")
            fitting = [link for link in links if of_version.fullmatch(link.filename)]
            wheels = [link for link in fitting if _FITS.fullmatch(link.filename)]
            listed[name] = sorted({link._hashes["sha256"] for link in wheels or fitting if link._hashes})
    return listed


def main(given: Any) -> None:
    """Write the list."""
    del given
    versions = needed(ROOT / "constraints.txt")
    lines = ["# Written by python -m experiments.hashes from constraints.txt."]
    for name, known in sorted(hashes(versions).items()):
        if not known:
            raise UserError(f"The index states no hash of {name} {versions[name]}.")
        lines.append(" \\\n    ".join([f"{name}=={versions[name]}", *(f"--hash=sha256:{one}" for one in known)]))
    with whole_file(ROOT / "constraints-hashed.txt") as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    job.run(main, lambda: None)
