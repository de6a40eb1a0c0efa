"""A project file: the plan of a medley with all its earlier states, on the disk after every change."""

import copy
import os
import threading
from pathlib import Path
from typing import Any

from djnet.errors import UserError
from djnet.files import read_json, require_shape, write_json
from djnet.medley.transitions import KINDS, MOST_BARS, MOST_SEMITONES

Plan = dict[str, Any]
VERSION = 1
_MOST_STATES = 50  # that can be undone
_MOST_CLIPS = 100
_CLIP = {"song": str, "start": float, "end": float, "tied": bool}  # and those of `new_clip` that may be missing
_PLAN = {"title": str, "bars": int, "first": bool, "last": bool, "clips": [_CLIP]}
_PROJECT = {"studio": int, "revision": int, "at": int, "states": [_PLAN]}


class ConflictError(Exception):
    """Somebody else, such as a second tab, has changed the project since."""


def empty() -> Plan:
    """The plan of a new project."""
    return {"title": "medley", "bars": 2, "first": False, "last": False, "clips": []}


def new_clip(song: str, start: float, end: float, transpose: int = 0) -> dict[str, Any]:
    """A part of a song that follows the one before it as the rule says; `tied`: it stays right behind it."""
    clip = {"song": song, "start": start, "end": end, "transpose": transpose}
    return clip | {"transition": None, "bars": None, "tied": False}


def checked(plan: Any, path: Path) -> Plan:
    """A plan of the right shape, and nothing else of what it holds; a UserError says what is wrong."""
    require_shape(plan, _PLAN, path)
    clips = [{name: clip.get(name, usual) for name, usual in new_clip("", 0.0, 0.0).items()} for clip in plan["clips"]]
    for clip in clips:
        if clip["transition"] not in (None, *KINDS) or clip["bars"] not in (None, *range(MOST_BARS + 1)):
            raise UserError(f"{path} is damaged (a join is {clip['transition']!r} over {clip['bars']!r} bars).")
        if clip["transpose"] not in range(-MOST_SEMITONES, MOST_SEMITONES + 1):
            raise UserError(f"{path} is damaged (a part is transposed by {clip['transpose']!r} semitones).")
        if not 0 <= clip["start"] < clip["end"]:
            raise UserError(f"{path} is damaged (a part begins at {clip['start']} s and ends at {clip['end']} s).")
    if len({clip["song"] for clip in clips}) < len(clips) or len(clips) > _MOST_CLIPS:
        raise UserError(f"{path} is damaged (a song is there twice, or there are more than {_MOST_CLIPS}).")
    if not 0 <= plan["bars"] <= MOST_BARS or not plan["title"].strip() or len(plan["title"]) > 200:
        raise UserError(f"{path} is damaged (its bars or its title).")
    return {**{name: plan[name] for name in _PLAN}, "clips": clips}


class Project:
    """The states of a plan, of which one is the present; every change is written before it counts."""

    def __init__(self, path: Path):
        self.path = path
        self.notice = ""
        self._lock = threading.Lock()
        self.revision, self._at, self._states = 0, 0, [empty()]
        if path.exists():
            try:
                self._read()
            except (UserError, UnicodeDecodeError) as error:
                kept = _free_name(path.with_suffix(".damaged.json"))
                os.replace(path, kept)
                self.notice = f"{error} It is kept as {kept.name}; this is a new project."

    def _read(self) -> None:
        content = read_json(self.path, _PROJECT)
        if content["studio"] != VERSION or not 0 <= content["at"] < len(content["states"]):
            raise UserError(f"{self.path} is damaged (or of another version).")
        self._states = [checked(plan, self.path) for plan in content["states"]]
        self.revision, self._at = content["revision"], content["at"]

    @property
    def plan(self) -> Plan:
        """The present state, a copy."""
        return copy.deepcopy(self._states[self._at])

    @property
    def can_undo(self) -> bool:
        """Whether there is an earlier state."""
        return self._at > 0

    @property
    def can_redo(self) -> bool:
        """Whether there is a later state."""
        return self._at < len(self._states) - 1

    def change(self, plan: Any, revision: int) -> None:
        """Make a plan the present state, if the project is still the one that was seen."""
        plan = checked(plan, self.path)
        with self._lock:
            if plan == self._states[self._at]:
                return
            states = [*self._states[: self._at + 1], plan][-_MOST_STATES:]
            self._move(states, len(states) - 1, revision)

    def step(self, by: int, revision: int) -> None:
        """Undo (-1) or redo (1)."""
        with self._lock:
            if 0 <= self._at + by < len(self._states):
                self._move(self._states, self._at + by, revision)

    def _move(self, states: list[Plan], at: int, revision: int) -> None:
        if revision != self.revision:
            raise ConflictError
        write_json(self.path, {"studio": VERSION, "revision": revision + 1, "at": at, "states": states})
        self._states, self._at, self.revision = states, at, revision + 1


def _free_name(path: Path) -> Path:
    """The path, or the first with a number that there is not yet."""
    names = (path.with_stem(f"{path.stem}-{number}") for number in range(2, 1000))
    return path if not path.exists() else next(name for name in names if not name.exists())
