"""The files beside a medley: a receipt to render it again, a cue sheet, a playlist, a table, a picture."""

import functools
import hashlib
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import djnet
from djnet import audio
from djnet.audio.sample_file import Samples
from djnet.corpora import write_csv
from djnet.errors import UserError, shown
from djnet.files import read_json, require_shape, whole_file, write_json
from djnet.medley import voices
from djnet.medley.arrange import Arrangement
from djnet.medley.mix import Mix
from djnet.medley.parts import Part
from djnet.medley.transitions import KINDS, MOST_BARS, MOST_SEMITONES, RATE_HZ, Asked, Segment

_CLIP = {
    "song": str, "content": str, "begin": float, "start": float, "end": float, "beats": [[float]], "bpm": float,
    "key": str,
}  # fmt: skip
_RECEIPT = {"title": str, "bars": int, "peak_db": float, "clips": [_CLIP], "scores": [float]}  # what rendering reads
_COLUMNS = ["start", "end", "label", "song_start", "song_end", "bpm", "key", "join", "bars", "stretch", "score", "why"]
_MOST_BARS = 64  # of a join
_VOICE_SECONDS = voices.HOP_SAMPLES / voices.RATE_HZ  # from one value of the curve to the next
_MARGIN_SECONDS = 0.3  # of music around a part, for its edges
_STEP = RATE_HZ // 20  # samples that share a point of the picture
_PIECE = 1200 * _STEP  # samples that are read at once: a minute
_ROW_SECONDS = 100.0  # of a picture
_LETTERS = 195  # that fit into a row
_SCRIPT_FONTS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "IPAGothic", "Hiragino Sans", "PingFang SC"),
    *("Apple SD Gothic Neo", "Yu Gothic", "Microsoft YaHei", "Malgun Gothic", "Arial Unicode MS"),
)
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def make_receipt(arrangement: Arrangement, title: str, bars: int, peak_db: float, network: str) -> dict[str, Any]:
    """Everything that the sound depends on, as JSON."""
    solution, second = arrangement.solution, arrangement.second
    names = {song: part.song.name for song, part in zip(solution.order, arrangement.parts, strict=True)}
    if second is not None and names.keys() >= set(second.order):  # else other songs would play in it
        other = {"songs": [names[song] for song in second.order], "value": second.value}
    else:
        other = None
    return {
        "djnet": djnet.__version__, "title": title, "scorer": network, "bars": bars, "peak_db": peak_db,
        "clips": [make_clip(part) for part in arrangement.parts], "asked": [asdict(wish) for wish in arrangement.asked],
        "scores": arrangement.scores, "terms": arrangement.terms, "value": solution.value,
        "bound": solution.bound if np.isfinite(solution.bound) else None, "second": other,
    }  # fmt: skip


def make_clip(part: Part) -> dict[str, Any]:
    """A part as a receipt has it."""
    begin = max(0.0, part.start - _MARGIN_SECONDS)
    return {
        "song": os.path.realpath(part.song.path), "content": part.song.content, "name": part.song.name,
        "artist": shown(audio.title_of(part.song.path)[1]),
        "begin": begin, "start": part.start, "end": part.end, "bars": part.bars, "key": part.key,
        "bpm": round(part.song.bpm, 2), "loudness": round(part.song.loudness, 2),
        "gain": part.song.gain, "transpose": part.transpose, "beats": (part.beats - [begin, 0.0]).tolist(),
        "voices": _voices(part, begin),
    }  # fmt: skip


def _voices(part: Part, begin: float) -> list[list[float]]:
    """How likely somebody sings in a part: seconds from `begin` on, and probability; about one a second."""
    times = np.arange(len(part.song.voices)) * voices.HOP_SAMPLES / voices.RATE_HZ
    near = (times > part.start - _VOICE_SECONDS) & (times < part.end + _VOICE_SECONDS)
    curve = np.stack([times - begin, part.song.voices], axis=1)[near]
    return curve.astype(float).round(3).tolist()


def read_receipt(path: Path) -> dict[str, Any]:
    """A receipt; a UserError says what is wrong with it."""
    try:
        receipt = read_json(path, _RECEIPT)
    except UserError as error:
        raise UserError(f"{error} It is not a receipt of a medley; `djnet medley` writes one beside each.") from error
    clips = receipt["clips"]
    require_shape([clip.get("gain", 0.0) for clip in clips], [float], path, "gain of clips")
    require_shape([clip.get("transpose", 0) for clip in clips], [int], path, "transpose of clips")
    require_shape([clip.get("voices", []) for clip in clips], [[[float]]], path, "voices of clips")
    in_order = all(0 <= clip["begin"] <= clip["start"] < clip["end"] for clip in clips)
    pairs = all(len(pair) == 2 for clip in clips for pair in (*clip["beats"], *clip.get("voices", [])))
    possible = 0 <= receipt["bars"] <= _MOST_BARS and receipt["peak_db"] <= 0
    possible = possible and not any("\0" in clip["song"] for clip in clips)
    possible = possible and all(abs(clip.get("transpose", 0)) <= MOST_SEMITONES for clip in clips)
    if not clips or len(receipt["scores"]) != len(clips) - 1 or not in_order or not pairs or not possible:
        raise UserError(f"{path} is damaged (its clips, their times, beats and scores do not fit together).")
    asked = receipt.get("asked", [{}] * len(receipt["scores"]))
    require_shape(asked, [dict], path, "asked")
    known = all(
        wish.get("transition") in (None, *KINDS) and wish.get("bars") in (None, *range(MOST_BARS + 1)) for wish in asked
    )
    if len(asked) != len(receipt["scores"]) or not known:
        raise UserError(f"{path} is damaged (asked must have a transition and bars for each join, or none).")
    return receipt


def read_segments(receipt: dict[str, Any]) -> list[Segment]:
    """The segments of a receipt, which read their samples when they are needed.

    Songs that are missing or changed are an error.
    """
    segments = []
    for clip in receipt["clips"]:
        if not os.path.isfile(clip["song"]):
            raise UserError(f"{clip['song']}: is not there any more; put it back to render this medley again.")
        if audio.probe(clip["song"]).content != clip["content"]:
            raise UserError(f"{clip['song']}: has changed since the medley was made; make a new one.")
        begin, start, end = clip["begin"], clip["start"], clip["end"]
        span = begin, end + _MARGIN_SECONDS - begin
        samples = functools.partial(audio.load_stereo, clip["song"], *span, RATE_HZ)
        beats = np.reshape(clip["beats"], (-1, 2)).astype(float)
        sung = np.reshape(clip.get("voices", []), (-1, 2)).astype(float)
        gain, transpose = clip.get("gain", 0.0), clip.get("transpose", 0)
        segments.append(Segment(samples, start - begin, end - begin, beats, gain, sung, transpose))
    return segments


def read_asked(receipt: dict[str, Any]) -> list[Asked]:
    """What was asked of each join, in `asked`: {"transition": "echo", "bars": 4} or {}; empty if there is no such list.

    To set a join by hand, change its entry and render the receipt again.
    """
    return [Asked(wish.get("transition"), wish.get("bars")) for wish in receipt.get("asked", [])]


def names_of(receipt: dict[str, Any]) -> list[str]:
    """The names of the songs, in their order, as they may be shown."""
    return [shown(str(clip.get("name") or Path(clip["song"]).stem)) for clip in receipt["clips"]]


def artists_of(receipt: dict[str, Any]) -> list[str]:
    """The artists of the songs, in their order, as they may be shown; empty where they are not known."""
    return [shown(clip["artist"]) if isinstance(clip.get("artist"), str) else "" for clip in receipt["clips"]]


def files_beside(output: Path) -> list[Path]:
    """The receipt, the cue sheet, the playlist, the table and the picture of a medley."""
    return [output.with_suffix(ending) for ending in (".json", ".cue", ".m3u8", ".csv", ".png")]


def write_beside(output: Path, mix: Mix, receipt: dict[str, Any]) -> None:
    """Write the files beside a medley, but for the picture, see `draw`."""
    json_path, cue_path, playlist_path, csv_path, _ = files_beside(output)
    with open(output, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    write_json(json_path, receipt | {"sha256": digest, "joins": [asdict(join) for join in mix.joins]})
    _write_cue(cue_path, output, mix.cuts, names_of(receipt), artists_of(receipt))
    _write_playlist(playlist_path, receipt)
    write_csv(csv_path, _COLUMNS, _rows(mix, receipt))


def _write_cue(path: Path, output: Path, cuts: Sequence[float], names: Sequence[str], artists: Sequence[str]) -> None:
    """A cue sheet: every song begins in the middle of its join."""
    file, *titles = (shown(name).replace('"', "'") for name in (output.name, *names))
    lines = [f'TITLE "{Path(file).stem}"', f'FILE "{file}" {"MP3" if output.suffix.lower() == ".mp3" else "WAVE"}']
    for number, (start, title, artist) in enumerate(zip(cuts, titles, artists, strict=False), 1):
        frames = round(start * 75)
        time = f"{frames // 4500:02d}:{frames // 75 % 60:02d}:{frames % 75:02d}"
        performer = ['    PERFORMER "' + artist.replace('"', "'") + '"'] if artist else []
        lines += [f"  TRACK {number:02d} AUDIO", f'    TITLE "{title}"', *performer, f"    INDEX 01 {time}"]
    with whole_file(path) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_playlist(path: Path, receipt: dict[str, Any]) -> None:
    """The songs in their order, whole, for any player."""
    lines = ["#EXTM3U"]
    for clip, name in zip(receipt["clips"], names_of(receipt), strict=True):
        lines += [f"#EXTINF:-1,{name}", clip["song"]]
    with whole_file(path) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")


def _rows(mix: Mix, receipt: dict[str, Any]) -> Iterator[list[str]]:
    """For every song: where it plays, what of it, and how it is joined to the one before."""
    for i, (clip, name) in enumerate(zip(receipt["clips"], names_of(receipt), strict=True)):
        times = [f"{seconds:.3f}" for seconds in (*mix.cuts[i : i + 2], clip["start"], clip["end"])]
        row = [*times[:2], name, *times[2:], str(clip["bpm"]), clip["key"]]
        if i == 0:
            yield [*row, "", "", "", "", ""]
        else:
            join, score = mix.joins[i - 1], receipt["scores"][i - 1]
            yield [*row, join.kind, str(join.bars), f"{join.stretch:.4f}", f"{score:.4f}", join.reason]


def draw(path: Path, mix: Mix, names: Sequence[str], scores: Sequence[float]) -> None:
    """The waveform on a time line, a colour a song, with downbeats, joins and scores."""
    import matplotlib

    with matplotlib.rc_context({"font.family": _fonts()}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # in scripts that no font here has, boxes are drawn
        figure = _figure(mix, names, scores)
        with whole_file(path) as partial:
            figure.savefig(partial, format="png", dpi=80)


def _fonts() -> list[str]:
    """matplotlib's own font, and for other scripts those of a usual system that are installed."""
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _SCRIPT_FONTS if name in installed)]


def _figure(mix: Mix, names: Sequence[str], scores: Sequence[float]) -> Any:
    """The picture, in rows of about a hundred seconds."""
    from matplotlib.figure import Figure

    rows = max(1, round(mix.cuts[-1] / _ROW_SECONDS))
    seconds = mix.cuts[-1] / rows
    peaks = _peaks(mix.samples)
    figure = Figure(figsize=(12, 0.6 + 1.7 * rows), layout="constrained")
    for row, axes in enumerate(np.atleast_1d(figure.subplots(rows, 1))):
        span = row * seconds, (row + 1) * seconds
        _draw_row(axes, span, mix, peaks, names, scores)
        axes.set(xlim=span, ylim=(-1.25, 1.75), yticks=[])
        axes.spines[["left", "right", "top"]].set_visible(False)
    axes.set_xlabel("seconds; colours: songs, bands: joins with their scores, ticks: downbeats")
    return figure


def _peaks(samples: Samples) -> np.ndarray:
    """The loudest sample of every 50 ms: [N, 2] -> float32 [P]."""
    peaks = [np.zeros(0, np.float32)]
    for first in range(0, len(samples), _PIECE):
        piece = np.abs(samples[first : first + _PIECE])
        piece = np.pad(piece, ((0, -len(piece) % _STEP), (0, 0)))
        peaks.append(piece.reshape(-1, 2 * _STEP).max(axis=1))
    return np.concatenate(peaks)


def _draw_row(
    axes: Any, span: tuple[float, float], mix: Mix, peaks: np.ndarray, names: Sequence[str], scores: Sequence[float]
) -> None:
    """Draw what lies between two times of the medley.

    axes: of the row
    span: of the row, in seconds
    mix: joins and beats
    peaks: heights of the waveform, every 50 ms: [P]
    names: of the songs
    scores: of the joins
    """
    begin, end = span
    letters_a_second = _LETTERS / (end - begin)
    times = (np.arange(len(peaks)) + 0.5) * _STEP / RATE_HZ
    for i, name in enumerate(names):
        colour = _COLOURS[i % len(_COLOURS)]
        first, last = mix.cuts[i : i + 2]
        if last < begin or first > end:
            continue
        own = (times >= max(first, begin)) & (times <= min(last, end))
        axes.fill_between(times[own], -peaks[own], peaks[own], color=colour, linewidth=0)
        room = max(1, int(letters_a_second * (last - first)) - 1)
        shown = name if len(name) <= room + 1 else name[:room] + "\N{HORIZONTAL ELLIPSIS}"
        axes.text(first, 1.35, f" {shown}", fontsize=7, color=colour, clip_on=True, parse_math=False)
        downbeats = mix.beats[i][mix.beats[i][:, 1] == 1, 0]
        downbeats = downbeats[(downbeats >= begin) & (downbeats <= end)]
        axes.vlines(downbeats, -1.22, -1.07, color=colour, linewidth=1)
    for join, score in zip(mix.joins, scores, strict=True):
        if join.end < begin or join.start > end:
            continue
        axes.axvspan(join.start, join.end, color="black", alpha=0.15, linewidth=0)
        axes.text(join.middle, 1.07, f"{score:.2f}", fontsize=7, ha="center", clip_on=True)
