"""What is kept of a medley beside its sound: a receipt to render it again, a cue sheet, a table, a picture."""

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import djnet
from djnet import audio
from djnet.errors import UserError
from djnet.files import whole_file, write_json
from djnet.medley.arrange import Plan
from djnet.medley.mix import RATE_HZ, Join, Mix, Part

_RECEIPT = {"title", "bars", "peak_db", "clips", "scores"}  # what rendering reads
_CLIP = {"song", "content", "begin", "start", "end", "beats", "bpm", "key"}
_MARGIN_SECONDS = 0.3  # of music around a clip, for its edges
_STEP = RATE_HZ // 20  # samples that share a point of the picture
_ROW_SECONDS = 100.0  # of a picture
_LETTERS = 195  # that fit into a row
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def receipt(plan: Plan, title: str, bars: int, peak_db: float, scorer: str) -> dict[str, Any]:
    """Everything that the sound depends on, as JSON."""
    clips = []
    for clip in plan.clips:
        begin = max(0.0, clip.span.start - _MARGIN_SECONDS)
        part = clip.part(begin=begin)
        clips.append({
            "song": str(Path(clip.song.path).resolve()), "content": clip.song.content, "begin": begin,
            "start": clip.span.start, "end": clip.span.end, "bars": clip.span.bars, "key": clip.song.key,
            "bpm": round(clip.song.bpm, 2), "loudness": round(clip.song.loudness, 2), "beats": part.beats.tolist(),
        })  # fmt: skip
    return {
        "djnet": djnet.__version__, "title": title, "scorer": scorer, "bars": bars, "peak_db": peak_db,
        "clips": clips, "scores": plan.scores, "value": plan.choice.value, "bound": _number(plan.choice.bound),
        "second": _second(plan),
    }  # fmt: skip


def _second(plan: Plan) -> dict[str, Any] | None:
    """The second-best order, for the report; nothing if there is none, or if other songs would play in it."""
    names = {song: clip.song.name for song, clip in zip(plan.choice.order, plan.clips, strict=True)}
    if plan.other is None or not names.keys() >= set(plan.other.order):
        return None
    return {"songs": [names[song] for song in plan.other.order], "value": plan.other.value}


def read_receipt(path: Path) -> dict[str, Any]:
    """A receipt; a UserError says what is wrong with it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: is not a receipt of a medley ({error}).") from error
    clips = content.get("clips") if isinstance(content, dict) else None
    whole = isinstance(clips, list) and all(isinstance(clip, dict) and clip.keys() >= _CLIP for clip in clips)
    if not clips or not whole or not content.keys() >= _RECEIPT:
        raise UserError(f"{path}: is not a receipt of a medley; `djnet medley` writes one beside every medley.")
    return content


def parts_of(content: dict[str, Any]) -> list[Part]:
    """The clips of a receipt with their samples; songs that are missing or changed are an error."""
    parts = []
    for clip in tqdm(content["clips"], desc="read", unit="song"):
        if not Path(clip["song"]).is_file():
            raise UserError(f"{clip['song']}: is not there any more; put it back to render this medley again.")
        if audio.probe(clip["song"]).content != clip["content"]:
            raise UserError(f"{clip['song']}: has changed since the medley was made; make a new one.")
        seconds = clip["end"] + _MARGIN_SECONDS - clip["begin"]
        samples = audio.load_stereo(clip["song"], clip["begin"], seconds, RATE_HZ)
        beats = np.array(clip["beats"], np.float64).reshape(-1, 2)
        parts.append(Part(samples, beats, clip["start"] - clip["begin"], clip["end"] - clip["begin"]))
    return parts


def write_cue(path: Path, sound: Path, cuts: Sequence[float], names: Sequence[str]) -> None:
    """A cue sheet: every song begins in the middle of its join."""
    kind = {".mp3": "MP3"}.get(sound.suffix.lower(), "WAVE")
    lines = [f'TITLE "{_quoted(sound.stem)}"', f'FILE "{_quoted(sound.name)}" {kind}']
    for number, (start, name) in enumerate(zip(cuts, names, strict=False), 1):
        frames = round(start * 75)
        time = f"{frames // 4500:02d}:{frames // 75 % 60:02d}:{frames % 75:02d}"
        lines += [f"  TRACK {number:02d} AUDIO", f'    TITLE "{_quoted(name)}"', f"    INDEX 01 {time}"]
    with whole_file(path) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_csv(path: Path, made: Mix, content: dict[str, Any]) -> None:
    """A line for every song: where it plays, what of it, and how it was joined to the one before."""
    columns = (
        "start",
        "end",
        "label",
        "song_start",
        "song_end",
        "bpm",
        "key",
        "join",
        "bars",
        "stretch",
        "score",
        "why",
    )
    with whole_file(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        joins: list[Join | None] = [None, *made.joins]
        scores = [None, *content["scores"]]
        for i, (clip, join, score) in enumerate(zip(content["clips"], joins, scores, strict=True)):
            writer.writerow([
                f"{made.cuts[i]:.3f}", f"{made.cuts[i + 1]:.3f}", Path(clip["song"]).stem,
                f"{clip['start']:.3f}", f"{clip['end']:.3f}", clip["bpm"], clip["key"],
                *(("", "", "", "", "") if join is None else
                  (join.kind, join.bars, f"{join.stretch:.4f}", f"{score:.4f}", join.reason)),
            ])  # fmt: skip


def write_json_receipt(path: Path, content: dict[str, Any], made: Mix, digest: str) -> None:
    """The receipt, with where everything came to lie and a hash of the file."""
    write_json(path, content | {"sha256": digest, "joins": [asdict(join) for join in made.joins]})


def draw(path: Path, made: Mix, names: Sequence[str], scores: Sequence[float]) -> None:
    """The waveform on a time line, a colour a song, with downbeats, joins and scores."""
    from matplotlib.figure import Figure

    total = len(made.samples) / RATE_HZ
    loud = np.array([np.abs(made.samples[i : i + _STEP]).max() for i in range(0, len(made.samples), _STEP)])
    rows = max(1, round(total / _ROW_SECONDS))
    seconds = total / rows
    figure = Figure(figsize=(12, 0.6 + 1.7 * rows), layout="constrained")
    for row, axes in enumerate(np.atleast_1d(figure.subplots(rows, 1))):
        axes.set(xlim=(row * seconds, (row + 1) * seconds), ylim=(-1.25, 1.75), yticks=[])
        _draw_row(axes, made, loud, names, scores, row * seconds, (row + 1) * seconds)
        axes.spines[["left", "right", "top"]].set_visible(False)
    axes.set_xlabel("seconds; colours: songs, bands: joins with their scores, ticks: downbeats")
    with whole_file(path) as partial:
        figure.savefig(partial, format="png", dpi=80)


def _draw_row(
    axes: Any,
    made: Mix,
    loud: np.ndarray,
    names: Sequence[str],
    scores: Sequence[float],
    begin: float,
    end: float,
) -> None:
    times = (np.arange(len(loud)) + 0.5) * _STEP / RATE_HZ
    for i, name in enumerate(names):
        colour = _COLOURS[i % len(_COLOURS)]
        first, last = made.cuts[i], made.cuts[i + 1]
        own = (times >= max(first, begin)) & (times <= min(last, end))
        axes.fill_between(times[own], -loud[own], loud[own], color=colour, linewidth=0)
        if begin <= first < end:
            room = int(_LETTERS * (last - first) / (end - begin))
            axes.text(first, 1.35, f" {_shortened(name, room)}", fontsize=7, color=colour, clip_on=True)
        downbeats = made.beats[i][made.beats[i][:, 1] == 1, 0]
        inside = downbeats[(downbeats >= begin) & (downbeats < end)]
        axes.vlines(inside, -1.22, -1.07, color=colour, linewidth=1)
    for join, score in zip(made.joins, scores, strict=True):
        if join.end > begin and join.start < end:
            axes.axvspan(join.start, join.end, color="black", alpha=0.15, linewidth=0)
            axes.text(join.middle, 1.07, f"{score:.2f}", fontsize=7, ha="center", clip_on=True)


def _shortened(name: str, limit: int) -> str:
    return name if len(name) <= limit else name[: max(1, limit - 1)] + "\N{HORIZONTAL ELLIPSIS}"


def _quoted(text: str) -> str:
    return text.replace('"', "'")


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
