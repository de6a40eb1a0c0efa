"""The songs of a project: where they may lie, their analysis in a child process, and what the page is told of them."""

import base64
import contextlib
import json
import os
import queue
import select
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from djnet.constants import SAMPLE_RATE_HZ
from djnet.corpora import folder
from djnet.errors import UserError, shown
from djnet.medley import analysis
from djnet.medley.analysis import Song
from djnet.medley.parts import candidates, edges

MOST_SONGS = 100
SECONDS = 900.0  # that the analysis of a song may take
_POINTS_A_SECOND = 10
_SUGGESTIONS = 3


@dataclass
class Entry:
    """A file, and how far its analysis is: waiting, analysed, ready, or left out for a reason."""

    path: str
    state: str = "waiting"
    reason: str = ""
    song: Song | None = None


class Songs:
    """Songs by the hash of their content. Files of `music` are only read; what is uploaded lies in `added`."""

    def __init__(self, music: Path | None, added: Path, cache: Path, workers: int = 1, seconds: float = SECONDS):
        self.added = added
        self._roots = [Path(os.path.realpath(root)) for root in (music, added) if root is not None]
        self._cache, self._seconds = cache, seconds
        self._entries: dict[str, Entry] = {}
        self._waiting: queue.Queue[Entry | None] = queue.Queue()
        self._lock = threading.Lock()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(workers)]
        for path in self._files():
            self.add(path)
        for thread in self._threads:
            thread.start()

    def _files(self) -> list[str]:
        """The music files of the project, without its finished medleys."""
        tracks = [Path(track.path) for root in dict.fromkeys(self._roots) for track in folder.corpus(root).tracks]
        medleys = self._roots[-1].parent
        return list(dict.fromkeys(str(path) for path in tracks if path.parent != medleys))

    def add(self, path: str) -> None:
        """Queue a file; a link that leads out of the folders is left out."""
        entry = Entry(path)
        inside = any(root in Path(os.path.realpath(path)).parents for root in self._roots)
        with self._lock:
            if len(self._entries) >= MOST_SONGS:
                raise UserError(f"{MOST_SONGS} songs are the most for one project.")
            self._entries[path] = entry
        if not inside:
            entry.state, entry.reason = "left out", "leads out of the folder of the project."
        else:
            self._waiting.put(entry)

    def close(self) -> None:
        """End the analysis."""
        self._closed = True
        for _ in self._threads:
            self._waiting.put(None)

    @property
    def ready(self) -> dict[str, Song]:
        """The analysed songs by their content, in the order of their files."""
        with self._lock:
            return {entry.song.content: entry.song for entry in self._entries.values() if entry.song is not None}

    def states(self) -> list[dict[str, Any]]:
        """Every file with its state."""
        with self._lock:
            entries = list(self._entries.values())
        return [
            {
                "file": shown(os.path.basename(entry.path)),
                "state": entry.state,
                "reason": shown(entry.reason),
                "id": entry.song.content if entry.song else None,
            }
            for entry in entries
        ]

    def describe(self, content: str) -> dict[str, Any]:
        """What the page draws of a song."""
        song = self.ready.get(content)
        if song is None:
            raise UserError("That song is not in the project.")
        step = SAMPLE_RATE_HZ // _POINTS_A_SECOND
        loud = np.abs(song.samples[: len(song.samples) // step * step].astype(np.int32)).reshape(-1, step).max(axis=1)
        points = (255 * (loud / max(1, loud.max(initial=1)))).astype(np.uint8)
        parts = candidates(song, 16.0, _SUGGESTIONS)
        return {
            "id": content,
            "name": song.name,
            "seconds": round(song.seconds, 2),
            "bpm": round(song.bpm),
            "key": song.key,
            "edges": edges(song).round(4).tolist(),
            "wave": base64.b64encode(points.tobytes()).decode("ascii"),
            "points": _POINTS_A_SECOND,
            "suggestions": [[round(part.start, 4), round(part.end, 4)] for part in parts],
        }

    def _work(self) -> None:
        """Analyse what waits; runs in a thread, with a child that is started anew whenever it had to be ended."""
        child: subprocess.Popen[str] | None = None
        while (entry := self._waiting.get()) is not None and not self._closed:
            entry.state = "analysed"
            child = child if child is not None and child.poll() is None else self._start()
            try:
                reason = self._ask(child, entry.path)
                if not reason:
                    songs, skipped = analysis.analyse([entry.path], self._cache, workers=1)  # from the cache
                    reason = self._settle(entry, songs[0]) if songs else skipped[0].reason
            except Exception as error:  # whatever is wrong with one song, the others go on
                reason = f"cannot be analysed ({type(error).__name__}: {error})."
            if reason:
                self._leave_out(entry, reason)
        if child is not None:
            child.kill()
            child.wait()

    def _start(self) -> "subprocess.Popen[str]":
        words = [sys.executable, "-m", "djnet.studio.child", str(self._cache)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(words, text=True, encoding="utf-8", bufsize=1, **pipes)  # type: ignore[call-overload]

    def _ask(self, child: "subprocess.Popen[str]", path: str) -> str:
        """Have a child analyse a file: -> why it cannot be a song, or nothing."""
        assert child.stdin is not None and child.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(json.dumps(path) + "\n")
            child.stdin.flush()
        answered, _, _ = select.select([child.stdout], [], [], self._seconds)
        line = child.stdout.readline() if answered else ""
        if line:
            return str(json.loads(line))
        child.kill()
        child.wait()
        return "takes too much memory, or ends its decoder." if answered else f"takes longer than {self._seconds:g} s."

    def _settle(self, entry: Entry, song: Song) -> str:
        """Take an analysed song in: -> why not, if the same music is there already."""
        with self._lock:
            for other in self._entries.values():
                if other.song and other is not entry and {song.content, song.sound} & {
                    other.song.content, other.song.sound
                }:  # fmt: skip
                    return f"is the same audio as {os.path.basename(other.path)!r}; one copy is enough."
            entry.song, entry.state = song, "ready"
        return ""

    def _leave_out(self, entry: Entry, reason: str) -> None:
        """Say why; an upload that nobody can use does not stay on the disk."""
        entry.state, entry.reason = "left out", reason
        if self.added in Path(entry.path).parents:
            Path(entry.path).unlink(missing_ok=True)
