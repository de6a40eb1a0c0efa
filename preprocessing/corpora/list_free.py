"""Write free.csv, the list of free recordings, from a survey of Debian's packages.

The survey is two tables: `packages.csv` (a row a package: name, component) and `tracks.csv` (a row an audio file:
package, path, seconds, sha1, component, kind, licence_tag, licence_basis). Only music of the component main is listed.

    python -m preprocessing.corpora.list_free --survey=FOLDER
"""

import csv
from collections.abc import Sequence
from pathlib import Path

from absl import flags

from djnet.files import whole_file
from preprocessing import job

SMALL = frozenset({
    "drascula-music", "hyperrogue-music", "pushover-data", "trackballs-data", "wizznic-data", "wordwarvi-sound",
})  # fmt: skip
MEDIUM = SMALL | {
    "adonthell-data", "ardentryst", "colobot-common-sounds", "enigma-data", "fretsonfire-songs-muldjord",
    "fretsonfire-songs-sectoid", "frozen-bubble-data", "hedgewars-data", "marsshooter-data", "nexuiz-music",
    "singularity-music", "starfighter-data", "supertux-data", "ufoai-music", "warzone2100-music",
    "wesnoth-1.16-music", "xmoto-data", "zaz-data",
}  # fmt: skip
# Loops that are no music to put in order, and legal doubt.
EXCLUDED = frozenset({"planetblupi-music-ogg", "wims-help"})

COLUMNS = ("set", "package", "path", "seconds", "sha1", "licence", "licence_basis")

_SURVEY = flags.DEFINE_string("survey", None, "Folder with packages.csv and tracks.csv.", required=True)


def rows(survey: Path) -> list[dict[str, str]]:
    """The lines of free.csv: every piece of music, with the smallest set that has it."""
    with open(survey / "packages.csv", newline="", encoding="utf-8") as file:
        main = {row["package"] for row in csv.DictReader(file) if row["component"] == "main"} - EXCLUDED
    with open(survey / "tracks.csv", newline="", encoding="utf-8") as file:
        music = [row for row in csv.DictReader(file) if row["kind"] == "music" and row["package"] in main]
    return [
        {
            "set": "small" if row["package"] in SMALL else "medium" if row["package"] in MEDIUM else "full",
            "package": row["package"],
            "path": row["path"],
            "seconds": row["seconds"],
            "sha1": row["sha1"],
            "licence": row["licence_tag"],
            "licence_basis": row["licence_basis"],
        }
        for row in sorted(music, key=lambda row: (row["package"], row["path"]))
    ]


def main(argv: Sequence[str]) -> None:
    """Write the list beside this file."""
    del argv
    target = Path(__file__).with_name("free.csv")
    with whole_file(target) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows(Path(_SURVEY.value)))


if __name__ == "__main__":
    job.run(main)
