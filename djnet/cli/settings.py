"""The settings file of a medley: what single songs and joins shall be like, in TOML."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from djnet import audio
from djnet.errors import UserError
from djnet.medley.transitions import KINDS, MOST_BARS, MOST_SEMITONES, Asked

# Of a song: the values that a number may have, and what it is.
_NUMBERS = {
    "start": (0.0, 1e5, "seconds"),
    "length": (0.0, 1e5, "seconds"),
    "bpm": (30.0, 300.0, "beats a minute from 30 to 300"),
    "meter": (2, 7, "a whole number of beats in a bar, from 2 to 7"),
    "gain": (-12.0, 12.0, "decibels from -12 to 12"),
    "transpose": (-MOST_SEMITONES, MOST_SEMITONES, f"a whole number of semitones, up to {MOST_SEMITONES} down or up"),
}
_WHOLE = ("meter", "transpose")
_NEVER = "spans in seconds such as [[0, 12.5], [60, 75]]"


@dataclass(frozen=True)
class Settings:
    """Values for songs by their numbers, and what is asked of the join from one song to another."""

    songs: dict[int, dict[str, Any]] = field(default_factory=dict)
    joins: dict[tuple[int, int], Asked] = field(default_factory=dict)

    def renumbered(self, numbers: Mapping[int, int]) -> "Settings":
        """The same with other numbers: old -> new; songs without a new one are left out."""
        songs = {numbers[i]: values for i, values in self.songs.items() if i in numbers}
        joins = {(numbers[a], numbers[b]): wish for (a, b), wish in self.joins.items() if {a, b} <= numbers.keys()}
        return Settings(songs, joins)


def read_settings(path: Path, songs: Sequence[str]) -> Settings:
    """Read a TOML file: a table with a song's name, or [[join]] with from, to, transition and bars."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also of numbers with thousands of digits
        raise UserError(f"{path}: is not TOML: {error}") from error
    joins = content.pop("join", []) if isinstance(content.get("join"), list) else []
    settings = Settings()
    for name, values in content.items():
        number = number_of(name, songs, str(path))
        if number in settings.songs:
            raise UserError(f"{path}: {name!r} is a song that has settings already; put them together.")
        settings.songs[number] = _song(path, name, values)
    for values in joins:
        pair, wish = _join(path, values, songs)
        settings.joins[pair] = wish
    return settings


def _song(path: Path, name: str, values: Any) -> dict[str, Any]:
    """The values of one song, checked; `never` as pairs of seconds."""
    if not isinstance(values, dict):
        raise UserError(f'{path}: write ["{name}"], and below it start = ... or length = ..., nothing else.')
    if unknown := values.keys() - {*_NUMBERS, "never"}:
        raise UserError(f"{path}: {name!r} has {min(unknown)}; a song has {', '.join(_NUMBERS)}, never, nothing else.")
    for key, value in values.items():
        lowest, highest, kind = _NUMBERS.get(key, (0.0, 0.0, _NEVER))
        wrong = type(value) not in (int, float) or not lowest <= value <= highest or (key == "length" and value == 0)
        wrong = _is_no_list_of_spans(value) if key == "never" else wrong or (key in _WHOLE and type(value) is not int)
        if wrong:
            raise UserError(f"{path}: {key} of {name!r} must be {kind}, not {str(value)[:20]}.")
    never = tuple((float(first), float(last)) for first, last in values.get("never", ()))
    if any(first <= values.get("start", -1.0) < last for first, last in never):
        raise UserError(f"{path}: start of {name!r} lies in what must never play.")
    return values | {"never": never} if never else {key: value for key, value in values.items() if key != "never"}


def _is_no_list_of_spans(value: Any) -> bool:
    """Whether a value is anything else than [[from, to], ...] with 0 <= from < to."""
    return not isinstance(value, list) or not all(
        isinstance(span, list)
        and len(span) == 2
        and all(type(time) in (int, float) for time in span)
        and 0 <= span[0] < span[1] <= 1e5
        for span in value
    )


def _join(path: Path, values: Any, songs: Sequence[str]) -> tuple[tuple[int, int], Asked]:
    """One [[join]]: the numbers of its songs, and what is asked."""
    keys = {"from", "to", "transition", "bars"}
    if not isinstance(values, dict) or not {"from", "to"} <= values.keys() <= keys:
        raise UserError(f"{path}: below [[join]] write from = ..., to = ..., and transition = ... or bars = ...")
    names = [values["from"], values["to"]]
    if not all(isinstance(name, str) for name in names):
        raise UserError(f"{path}: from and to of a [[join]] must be names of songs in quotes.")
    first, second = (number_of(name, songs, str(path)) for name in names)
    if first == second:
        raise UserError(f"{path}: a [[join]] leads from one song to another, not from {names[0]!r} to itself.")
    transition, bars = values.get("transition"), values.get("bars")
    if transition not in (None, *KINDS):
        raise UserError(f"{path}: there is no transition {transition!r}; there are {', '.join(KINDS)}.")
    if bars is not None and (type(bars) is not int or not 0 <= bars <= MOST_BARS):
        raise UserError(f"{path}: bars of a [[join]] must be a whole number up to {MOST_BARS}, not {bars!r}.")
    return (first, second), Asked(transition, bars)


def number_of(name: str, paths: Sequence[str], where: str) -> int:
    """The number of the file of that path or name, with or without its ending, or the only one that contains it.

    Where no file is called so, artist and title count.
    """
    files = [Path(path).name.lower() for path in paths]
    wanted = Path(name).name.lower()
    numbers = [i for i, path in enumerate(paths) if name == path]
    numbers = numbers or [i for i, file in enumerate(files) if wanted in (file, Path(file).stem)]
    numbers = numbers or [i for i, file in enumerate(files) if wanted in file]
    numbers = numbers or [i for i, path in enumerate(paths) if name.lower() in audio.name_of(path).lower()]
    if len(numbers) == 1:
        return numbers[0]
    problem = f"that may be {files[numbers[0]]} or {files[numbers[1]]}" if numbers else "no song has that in its name"
    raise UserError(f"{where} {name!r}: {problem}.")
