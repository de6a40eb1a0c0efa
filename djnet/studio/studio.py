"""A project, its songs and their medley: everything that the page can ask for, without the web."""

import io
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from djnet import audio
from djnet.errors import UserError, shown
from djnet.files import remove_partial
from djnet.medley import mix, receipt
from djnet.medley.analysis import Song
from djnet.medley.join_score import Scorer
from djnet.medley.transitions import KINDS, MOST_BARS, RATE_HZ
from djnet.studio import arrangement
from djnet.studio.export import Export, safe_name
from djnet.studio.project import Plan, Project, new_clip
from djnet.studio.songs import Songs

_LISTEN_SECONDS = 60.0  # of a part, at most
_AROUND_SECONDS = 5.0  # before and after a join


class Studio:
    """The state of the application. `folder` is the only one that is written to.

    folder: of the project: `project.json`, uploads in `songs/`, finished medleys
    music: a folder of songs, which are only read; none for a project of uploads
    cache: where analysed songs are kept
    scorer: the network's scores; network: its name, for receipts
    """

    def __init__(self, folder: Path, music: Path | None, cache: Path, scorer: Scorer, network: str, workers: int = 1):
        self.folder, self._scorer, self._network = folder, scorer, network
        added = folder / "songs"
        added.mkdir(parents=True, exist_ok=True)
        remove_partial(added)
        self.project = Project(folder / "project.json")
        self.songs = Songs(music, added, cache, workers)
        self.export = Export(folder)
        self._computing = threading.Lock()  # arranging and rendering take memory: one at a time
        self._drawn: tuple[int, dict[str, Any]] | None = None  # of a revision

    def state(self) -> dict[str, Any]:
        """All that changes, for the page."""
        project, songs = self.project, self.songs.ready
        revision, plan = project.revision, project.plan
        waiting = [clip["song"] for clip in plan["clips"] if clip["song"] not in songs]
        return {
            "revision": revision,
            "plan": plan,
            "layout": self._layout(revision, plan, songs) if plan["clips"] and not waiting else None,
            "missing": waiting,
            "songs": self.songs.states(),
            "undo": project.can_undo,
            "redo": project.can_redo,
            "notice": shown(project.notice),
            "export": self.export.state(),
            "kinds": list(KINDS),
            "most_bars": MOST_BARS,
            "folder": shown(str(self.folder)),
        }

    def _layout(self, revision: int, plan: Plan, songs: dict[str, Song]) -> dict[str, Any]:
        with self._computing:
            if self._drawn is None or self._drawn[0] != revision:
                drawn = arrangement.described(arrangement.arranged(plan, songs, self._scorer))
                self._drawn = revision, drawn
            return self._drawn[1]

    def make(self, length: float, revision: int) -> None:
        """All songs in their best order, and the best part of each."""
        songs = self.songs.ready
        if not songs:
            raise UserError("Add a song first.")
        with self._computing:
            plan = arrangement.first_plan(self.project.plan, songs, self._scorer, length)
        self.project.change(plan, revision)

    def best_order(self, revision: int) -> list[str]:
        """Put the parts in their best order around the locks: -> why."""
        plan = self.project.plan
        songs = self._songs_of(plan)
        with self._computing:
            ordered, reasons = arrangement.best_order(plan, songs, self._scorer)
        self.project.change(ordered, revision)
        return [shown(line) for line in reasons]

    def receipt(self, suffix: str = ".wav") -> dict[str, Any]:
        """The receipt of the present plan, as `djnet medley` would write it for a file with that ending."""
        plan = self.project.plan
        songs = self._songs_of(plan)
        with self._computing:
            made = arrangement.arranged(plan, songs, self._scorer)
        peak_db = mix.LOSSY_PEAK_DB if suffix in audio.LOSSY else mix.PEAK_DB
        return receipt.make_receipt(made, plan["title"], plan["bars"], peak_db, self._network)

    def hear_join(self, number: int) -> bytes:
        """A join of the present plan, from the end of one clip to the beginning of the next, as wav."""
        plan = self.project.plan
        if not 0 <= number < len(plan["clips"]) - 1:
            raise UserError("There is no such join any more.")
        two = plan | {"clips": plan["clips"][number : number + 2]}
        songs = self._songs_of(two)
        parts = [arrangement.part_of(clip, songs[clip["song"]]) for clip in two["clips"]]
        with self._computing:
            before, after = receipt.read_segments({"clips": [receipt.make_clip(part) for part in parts]})
            (wish,) = arrangement.asked_of(two)
            samples, _ = mix.render_join(before, after, plan["bars"], wish, _AROUND_SECONDS)
        return _wav(samples)

    def hear_part(self, content: str, start: float, end: float) -> bytes:
        """A part of a song as it is, as wav."""
        song = self._songs_of({"clips": [{"song": content}]})[content]
        if not 0 <= start < end <= song.seconds + 1:
            raise UserError("That part lies outside the song.")
        return _wav(audio.load_stereo(song.path, start, min(end - start, _LISTEN_SECONDS), RATE_HZ))

    def open_receipt(self, content: bytes, revision: int) -> None:
        """Make the plan of a receipt the present one; its songs must be in the project."""
        path = self.folder / f".opened-{os.getpid()}.json"
        try:
            path.write_bytes(content)
            opened = receipt.read_receipt(path)
        except (UserError, UnicodeDecodeError) as error:
            raise UserError(f"That file is not a receipt: {str(error).replace(str(path), 'it')}") from error
        finally:
            path.unlink(missing_ok=True)
        songs = self.songs.ready
        names = receipt.names_of(opened)
        if gone := [name for name, clip in zip(names, opened["clips"], strict=True) if clip["content"] not in songs]:
            raise UserError(f"Add the songs of this receipt first: {', '.join(gone)}.")
        clips = [
            new_clip(clip["content"], clip["start"], clip["end"], clip.get("transpose", 0)) for clip in opened["clips"]
        ]
        for clip, wish in zip(clips[1:], receipt.read_asked(opened), strict=False):
            clip |= {"transition": wish.transition, "bars": wish.bars}
        title = shown(opened["title"])[:200] or "medley"
        plan = {"title": title, "bars": opened["bars"], "first": False, "last": False, "clips": clips}
        self.project.change(plan, revision)

    def upload(self, name: str) -> Path:
        """Where an uploaded song may be written: in the project's folder, under a name that is free."""
        if Path(name).suffix.lower() not in audio.READABLE:
            raise UserError(f"{name}: is no music file that can be read here ({', '.join(sorted(audio.READABLE))}).")
        return safe_name(self.songs.added, Path(name).stem, Path(name).suffix.lower())

    def start_export(self, name: str, suffix: str) -> None:
        """Begin to write the medley and the files beside it."""
        if suffix not in audio.WRITABLE:
            raise UserError(f"{suffix}: the formats are {', '.join(audio.WRITABLE)}.")
        if not self.project.plan["clips"]:
            raise UserError("There is nothing to export yet: add songs first.")
        self.export.start(self.receipt(suffix), name, suffix)

    def _songs_of(self, plan: dict[str, Any]) -> dict[str, Song]:
        """The songs of a plan; a UserError if one is not there, or not any more."""
        songs = self.songs.ready
        for clip in plan["clips"]:
            if clip["song"] not in songs:
                raise UserError("A song of the medley is not in the project: add it again, or remove it.")
            if not os.path.isfile(songs[clip["song"]].path):
                raise UserError(f"{songs[clip['song']].name}: its file is not there any more; put it back.")
        return {clip["song"]: songs[clip["song"]] for clip in plan["clips"]}


def _wav(samples: np.ndarray) -> bytes:
    """Samples [N, 2] at 44,100 Hz as a wav file."""
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, RATE_HZ, format="WAV", subtype="PCM_16")
    return buffer.getvalue()
